package order_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/order"
	"github.com/restride/restride/tensor"
)

func keep(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Release()) })
		return x
	}
}

func parse(t *testing.T, text string) order.Order {
	t.Helper()
	o, err := order.Parse(text)
	require.NoError(t, err)
	require.Equal(t, text, o.String())
	return o
}

// numbered is a tensor of 1, 2, 3 ...
func numbered(t *testing.T, dims ...int64) *tensor.Tensor {
	n, err := layout.Shape(dims).Count()
	require.NoError(t, err)
	values := make([]int32, n)
	for i := range values {
		values[i] = int32(i) + 1
	}
	return keep(t)(tensor.FromHost(values, dims...))
}

// word is a digit of the tests' own reading of orders.
type word struct {
	axis      byte
	div, size int64 // 0: the rest
	reverse   bool
}

func (w word) String() string {
	s := fmt.Sprintf("%c/%d", w.axis, w.div)
	if w.size > 0 {
		s += fmt.Sprintf("%%%d", w.size)
	}
	if w.reverse {
		s += "~"
	}
	return s
}

// position is where an element lies, from the digits one by one.
func position(words []word, ext order.Extents, index map[byte]int64) (at int64) {
	for _, w := range words {
		n, v := w.size, index[w.axis]/w.div
		if n > 0 {
			v %= n
		} else {
			n = (ext[w.axis] + w.div - 1) / w.div
		}
		if w.reverse {
			v = n - 1 - v
		}
		at = at*n + v
	}
	return at
}

// random is an order of the axes, which are cut at some of the given numbers.
func random(rng *rand.Rand, cuts map[byte][]int64) (words []word, text string) {
	for axis, at := range cuts {
		mine := []int64{1}
		for _, c := range at {
			if rng.IntN(2) == 0 {
				mine = append(mine, c)
			}
		}
		for i, c := range mine {
			w := word{axis: axis, div: c, reverse: rng.IntN(4) == 0}
			if i+1 < len(mine) {
				w.size = mine[i+1] / c
			}
			words = append(words, w)
		}
	}
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	for i, w := range words {
		if i > 0 {
			text += []string{" ", ", "}[rng.IntN(2)]
		}
		text += w.String()
	}
	return words, text
}

// TestConvert compares conversions between random orders, of tensors with any strides, with a
// walk over the indices.
func TestConvert(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ext, cuts := order.Extents{}, map[byte][]int64{}
		for _, axis := range []byte("nkE")[:rng.IntN(4)] {
			ext[axis] = rng.Int64N(15)
			cuts[axis] = [][]int64{{2, 4, 8}, {3, 6, 12}, {5}, {}}[rng.IntN(4)]
		}
		fromWords, fromText := random(rng, cuts)
		toWords, toText := random(rng, cuts)
		message := fmt.Sprintf("seed %d: %q to %q of %v", seed, fromText, toText, ext)
		from, to := parse(t, fromText), parse(t, toText)
		shape, err := from.Shape(ext)
		require.NoError(t, err, message)
		x := numbered(t, shape...)
		if rng.IntN(2) == 0 { // the same numbers with other strides
			x = keep(t)(keep(t)(keep(t)(x.Transpose()).Contiguous()).Transpose())
		}
		y, err := order.Convert(x, from, to, ext)
		require.NoError(t, err, message)
		got, err := tensor.Values[int32](keep(t)(y, err))
		require.NoError(t, err, message)
		want := make([]int32, len(got))
		walk(ext, []byte("nkE")[:len(ext)], map[byte]int64{}, func(index map[byte]int64) {
			want[position(toWords, ext, index)] = int32(position(fromWords, ext, index)) + 1
		})
		require.Equal(t, want, got, message)
	}
}

func walk(ext order.Extents, axes []byte, index map[byte]int64, do func(map[byte]int64)) {
	if len(axes) == 0 {
		do(index)
		return
	}
	for v := range ext[axes[0]] {
		index[axes[0]] = v
		walk(ext, axes[1:], index, do)
	}
}

// Conversions that strides express are views; others copy each element once.
func TestConvertVerdict(t *testing.T) {
	x := numbered(t, 16, 24)
	for to, kind := range map[string]tensor.Kind{
		"n, k": tensor.View, "k, n": tensor.View, "n/4, n%4, k/8, k%8": tensor.View, "n~, k": tensor.View,
		"n/4, k/8, n%4, k%8": tensor.View, "k/8, n k%8": tensor.Copy, "n k": tensor.View, "n/4, k/8, n%4 k%8": tensor.Copy,
	} {
		y := keep(t)(order.Convert(x, parse(t, "n, k"), parse(t, to), nil))
		require.Equal(t, kind, y.Verdict().Kind, to)
		if kind == tensor.Copy {
			require.Equal(t, int64(16*24*4), y.Verdict().Bytes, to)
		}
		again := keep(t)(order.Convert(y, parse(t, to), parse(t, "n, k"), order.Extents{'n': 16, 'k': 24}))
		requireSame(t, x, again)
	}
}

func requireSame(t *testing.T, want, got *tensor.Tensor) {
	t.Helper()
	a, err := tensor.Values[int32](want)
	require.NoError(t, err)
	b, err := tensor.Values[int32](got)
	require.NoError(t, err)
	require.Equal(t, want.Shape(), got.Shape())
	require.Equal(t, a, b)
}

// Nibbles and strings are moved like other elements.
func TestConvertTypes(t *testing.T) {
	rows, tiles := parse(t, "n, k"), parse(t, "k/2, n k%2")
	x := keep(t)(numbered(t, 3, 4).Cast(layout.Uint4, device.Rounding{}))
	y := keep(t)(keep(t)(order.Convert(x, rows, tiles, nil)).Cast(layout.Int32, device.Rounding{}))
	got, err := tensor.Values[int32](y)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12}, got)
	words := keep(t)(tensor.FromHost([]string{"a", "b", "c", "d"}, 2, 2))
	turned, err := tensor.Values[string](keep(t)(order.Convert(words, rows, parse(t, "k n"), nil)))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "b", "d"}, turned)
}

func TestParseErrors(t *testing.T) {
	for text, says := range map[string]string{
		"n, 8":                   `digit 1, 8: it must begin with the letter of an axis`,
		"n, k 2":                 `digit 2, 2: it must begin`,
		"nk":                     `"k" after the letter`,
		"n%0":                    `"0" after % is not an integer from 1 on`,
		"n/x":                    `"x" after /`,
		"n/4%2%2":                `"2%2" after %`,
		"n~~":                    `after ~`,
		"n%4":                    "n/4 is missing",
		"n/4":                    "no digit has n%4",
		"n n":                    "n has all of n above it",
		"n n/4":                  "n has all of n above it, and n/4 has a part of that again: write n%4",
		"n/8 n%4":                "n%4 ends at 4, and the next digit of n, n/8, begins at 8",
		"n/4 n/2%4 n%2":          "n/2%4 ends at 8",
		"n/4 n%4=2":              "the digit n%4=2 leaves elements out",
		"n:4":                    "leaves elements out",
		"n #1%3":                 "leaves elements out",
		"n/-2":                   "not an integer",
		"n%99999999999999999999": "not an integer",
	} {
		_, err := order.Parse(text)
		assert.ErrorIs(t, err, device.ErrInvalid, text)
		assert.ErrorContains(t, err, says)
	}
}

func TestConvertErrors(t *testing.T) {
	x := numbered(t, 4, 6)
	for _, c := range []struct {
		from, to string
		ext      order.Extents
		says     string
	}{
		{"n", "n", nil, "1 axes in memory, and the shape [4,6] has 2"},
		{"n, k", "n", nil, "no digit has k, whose extent is 6"},
		{"n, k", "n, k, e", nil, "the extent of e is not known"},
		{"n k, e", "n, k, e", nil, "the extents of n and k do not follow"},
		{"n, k", "n, k", order.Extents{'n': 4, 'k': 5}, "and the tensor [4,6]"},
		{"n, k", "n, k", order.Extents{'n': 4, 'k': 6, 'e': 2}, "no digit has e"},
		{"n, k/5 k%5", "n, k", nil, "not a multiple of k%5"},
		{"n, k", "n/3 n%3, k", order.Extents{'n': -4, 'k': 6}, "not known"},
		{"n/2 n%2, k/4 k%4", "n/3 n%3, k", order.Extents{'n': 4, 'k': 6}, "and the tensor"},
		{"n/2 n%2, k", "n/3 n%3, k", nil, "n is cut at 2 and at 3"},
	} {
		_, err := order.Convert(x, parse(t, c.from), parse(t, c.to), c.ext)
		require.Error(t, err, c.says)
		assert.ErrorContains(t, err, c.says)
		assert.ErrorContains(t, err, "order.Convert")
	}
	_, err := order.Convert(nil, parse(t, "n"), parse(t, "n"), nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = parse(t, "n/4611686018427387904 n%4611686018427387904").Shape(order.Extents{'n': 1})
	require.ErrorContains(t, err, "more than")
}

// Orders never panic.
func FuzzOrder(f *testing.F) {
	for _, s := range []string{"n, k", "k/8, n k%8", "n/64 n%8 k/2%4 n/16%4 k%2 n/8%2 k/8%2", "n~ ", "#1%3", "n=2+3:96", ",", "n%9223372036854775807 n/9223372036854775807"} {
		f.Add(s, "n, k", int64(16), int64(8))
	}
	f.Fuzz(func(t *testing.T, from, to string, n, k int64) {
		a, err := order.Parse(from)
		if err != nil {
			require.ErrorIs(t, err, device.ErrInvalid)
			return
		}
		ext := order.Extents{'n': n, 'k': k}
		shape, err := a.Shape(ext)
		if count, _ := shape.Count(); err != nil || count > 1<<12 || len(shape) > 20 || strings.Count(to, "%") > 20 {
			return
		}
		b, err := order.Parse(to)
		if err != nil {
			return
		}
		if have, err := b.Shape(ext); err == nil {
			if count, _ := have.Count(); count > 1<<12 {
				return
			}
		}
		y, err := order.Convert(numbered(t, shape...), a, b, ext)
		if err == nil {
			require.NoError(t, y.Release())
		}
	})
}
