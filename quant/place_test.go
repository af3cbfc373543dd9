package quant

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/digits"
	"github.com/restride/restride/layout"
)

// bitAt is where a bit of an element lies, reckoned from the digits one by one.
func (p place) bitAt(index map[byte]int64, bit int64) (at int64, has bool) {
	if bit < p.lo || bit >= p.lo+p.bits {
		return 0, false
	}
	at = p.offset + bit - p.lo
	for _, d := range p.digits {
		v := index[d.Axis] / d.Div
		if d.Size > 0 {
			v %= d.Size
		}
		switch {
		case d.Axis == digits.NoAxis:
		case d.Only >= 0 && (v < d.Only || v >= d.Only+max(1, d.Several)):
			return 0, false
		default:
			at += (v - max(0, d.Only)) * d.Stride
		}
	}
	return at, true
}

// each calls do with every index below the extents.
func each(ext extents, do func(index map[byte]int64)) {
	index := map[byte]int64{}
	names := digits.Axes(ext)
	var walk func(i int)
	walk = func(i int) {
		if i == len(names) {
			do(index)
			return
		}
		for v := range ext[names[i]] {
			index[names[i]] = v
			walk(i + 1)
		}
	}
	walk(0)
}

// where has the position of every bit of every element, by tensor; it fails if one is
// nowhere or twice, or two are at one position.
func where(t *testing.T, places []place, ext extents, bits int64) map[string]string {
	at, taken := map[string]string{}, map[string]string{}
	each(ext, func(index map[byte]int64) {
		for bit := range bits {
			name := fmt.Sprint(index, bit)
			for _, p := range places {
				if pos, has := p.bitAt(index, bit); has {
					require.GreaterOrEqual(t, pos, int64(0))
					key := fmt.Sprint(p.tensor, " ", pos)
					require.Empty(t, at[name], "%s is at %s, too", name, key)
					require.Empty(t, taken[key], "%s and %s are both at %s", name, taken[key], key)
					at[name], taken[key] = key, name
				}
			}
			require.NotEmpty(t, at[name], "%s is nowhere", name)
		}
	})
	return at
}

// carry has, for each bit of dst that moves write, the bit of src that it comes from.
func carry(t *testing.T, all []move) map[string]string {
	from := map[string]string{}
	for _, m := range all {
		index := make([]int64, m.dstLayout.Rank())
		for range m.dstLayout.Count() {
			d, s := m.dstLayout.At(index...), m.srcLayout.At(index...)
			for bit := range m.width {
				key := fmt.Sprint(m.dst, " ", d*m.width+bit)
				require.Empty(t, from[key], "%s is written twice", key)
				from[key] = fmt.Sprint(m.src, " ", s*m.width+bit)
			}
			for i := len(index) - 1; i >= 0; i-- {
				if index[i]++; index[i] < m.dstLayout.Dim(i) {
					break
				}
				index[i] = 0
			}
		}
	}
	return from
}

// check compares moves with where the bits lie on both sides.
func check(t *testing.T, dst, src []place, ext extents, bits int64) []move {
	all, err := moves(dst, src, ext)
	require.NoError(t, err)
	from := carry(t, all)
	to, at := where(t, dst, ext, bits), where(t, src, ext, bits)
	want := map[string]string{}
	for name, key := range to {
		want[key] = at[name]
	}
	require.Equal(t, want, from)
	return all
}

func TestDigits(t *testing.T) {
	for _, order := range []string{"k/8 n k%8", "k n/8 n%2 n/2%4", "k/2 k%2~", "g/4=1 g%4"} {
		var shown []string
		for _, d := range digitsOf(order) {
			shown = append(shown, d.String())
		}
		assert.Equal(t, order, strings.Join(shown, " "))
	}
	for _, bad := range []string{"kk", "k%x", "k/8/2", "k=-1"} {
		assert.Panics(t, func() { digitsOf(bad) }, bad)
	}
}

// TestMoves compares random orders with the digits one by one.
func TestMoves(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		ext := extents{'n': 1 + rng.Int64N(20), 'k': 1 + rng.Int64N(40)}
		bits := 1 + rng.Int64N(6)
		cuts := map[byte][]int64{}
		for a := range ext { // cuts that both sides draw from: each is a multiple of the one before
			cuts[a] = []int64{1, 2, 4, 8}
			if rng.IntN(2) == 0 {
				cuts[a] = []int64{1, 3, 6, 12}
			}
		}
		side := func() []place {
			var order []string
			for a, at := range cuts {
				mine := []int64{1}
				for _, c := range at[1:] {
					if rng.IntN(2) == 0 {
						mine = append(mine, c)
					}
				}
				for i, c := range mine {
					word := fmt.Sprintf("%c/%d", a, c)
					if i+1 < len(mine) {
						word += fmt.Sprintf("%%%d", mine[i+1]/c)
						if rng.IntN(4) == 0 {
							word += "~"
						}
					}
					order = append(order, word)
				}
			}
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			var out []place
			for lo := int64(0); lo < bits; {
				n := 1 + rng.Int64N(bits-lo)
				s := slot{order: strings.Join(order, " "), pitch: n + rng.Int64N(2), at: rng.Int64N(3), lo: lo, bits: n}
				out = append(out, s.place(fmt.Sprint("t", lo), ext))
				lo += n
			}
			return out
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { check(t, side(), side(), ext, bits) })
	}
}

// TestMovesOfParts: digits that are in another place for each value, as in blocks of scales.
func TestMovesOfParts(t *testing.T) {
	ext := extents{'n': 3, 'g': 16}
	parts := []slot{
		{rows: "n g/8", block: 96, order: "g/4%2=0 g%4", pitch: 8, bits: 6},
		{rows: "n g/8", block: 96, at: 6, order: "g/4%2=1 g%4", pitch: 8, lo: 4, bits: 2},
		{rows: "n g/8", block: 96, at: 64, order: "g/4%2=1 g%4", pitch: 8, bits: 4},
	}
	var places []place
	for _, s := range parts {
		places = append(places, s.place("x", ext))
	}
	for _, order := range []string{"n g", "g n", "g%2 n g/2", "g/8 n g%8"} {
		plain := []place{slot{order: order, pitch: 8, bits: 6}.place("y", ext)}
		check(t, plain, places, ext, 6)
		check(t, places, plain, ext, 6)
	}
}

func TestMovesRefused(t *testing.T) {
	ext := extents{'k': 24}
	_, err := moves([]place{slot{order: "k/4 k%4", pitch: 1, bits: 1}.place("", ext)}, []place{slot{order: "k/6 k%6", pitch: 1, bits: 1}.place("", ext)}, ext)
	require.ErrorIs(t, err, layout.ErrUnsupported)
	assert.ErrorContains(t, err, "axis k is cut at 4 and at 6")
}

// name is a bit of a tensor, as carry names it.
func name(tensor string, bit int64) string { return fmt.Sprint(tensor, " ", bit) }
