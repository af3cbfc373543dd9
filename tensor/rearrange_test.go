package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestRearrange compares random patterns with the indices of their names.
func TestRearrange(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		names := strings.Fields("b s h1 d_ e F")[:rng.IntN(7)]
		extents := map[string]int64{}
		for _, n := range names {
			extents[n] = rng.Int64N(4)
			extents[n] += 1 - min(1, extents[n])*rng.Int64N(2)
		}
		side := func() (axes [][]string, text string) {
			mixed := append([]string{}, names...)
			rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			for len(mixed) > 0 || rng.IntN(4) == 0 {
				n := min(len(mixed), []int{0, 1, 1, 1, 2, 3}[rng.IntN(6)])
				axes, mixed = append(axes, mixed[:n]), mixed[n:]
				switch {
				case n == 0:
					text += []string{" 1", " () "}[rng.IntN(2)]
				case n == 1 && rng.IntN(3) > 0:
					text += " " + axes[len(axes)-1][0]
				default:
					text += "(" + strings.Join(axes[len(axes)-1], " ") + ")"
				}
			}
			return axes, text
		}
		from, left := side()
		to, right := side()
		sizes := map[string]int64{}
		for _, axis := range from {
			for i, name := range axis {
				if i > 0 || rng.IntN(2) == 0 {
					sizes[name] = extents[name]
				}
			}
		}
		product := func(axes [][]string) (dims []int64) {
			for _, axis := range axes {
				n := int64(1)
				for _, name := range axis {
					n *= extents[name]
				}
				dims = append(dims, n)
			}
			return dims
		}
		x, a := fill(t, openCPU(t), layout.Uint4, seed, product(from)...)
		want := a.From(product(to), func(index, of []int64) {
			values := map[string]int64{}
			for i, axis := range to {
				rest := index[i]
				for j := len(axis) - 1; j >= 0; j-- {
					values[axis[j]] = rest % extents[axis[j]]
					rest /= extents[axis[j]]
				}
			}
			for i, axis := range from {
				of[i] = 0
				for _, name := range axis {
					of[i] = of[i]*extents[name] + values[name]
				}
			}
		})
		pattern := left + "->" + right
		requireIs(t, want, keep(t)(x.Rearrange(pattern, sizes)), fmt.Sprint("seed ", seed, ": ", pattern))
	}
}

// Ellipses stand for axes on the outside and within parentheses.
func TestRearrangeOthers(t *testing.T) {
	x, a := fill(t, openCPU(t), layout.Int16, 1, 2, 3, 4, 6)
	turned := a.From([]int64{6, 3, 4, 2}, func(i, of []int64) { copy(of, []int64{i[3], i[1], i[2], i[0]}) })
	requireIs(t, turned, keep(t)(x.Rearrange("b ... c -> c ... b", nil)))
	requireIs(t, turned.Reshape(6, 24), keep(t)(x.Rearrange("b...c->c(... b)", nil)))
	requireIs(t, a.Reshape(2, 3, 4, 3, 2), keep(t)(x.Rearrange("... (u v) -> ... u v", map[string]int64{"v": 2})))
	requireIs(t, a, keep(t)(x.Rearrange("a ... b c d -> a b c ... d", nil)))
	requireIs(t, a.Reshape(2, 72), keep(t)(x.Rearrange("b ... -> b (...)", nil)))
	requireIs(t, a.Reshape(24, 6), keep(t)(x.Rearrange("... c -> (...) c", nil)))
	requireIs(t, a.Reshape(144), keep(t)(x.Rearrange("... -> (...)", nil)))
	requireIs(t, a.Reshape(2, 3, 4, 6, 1), keep(t)(x.Rearrange("a b c d ... -> a b c d (...)", nil)))
}

// Patterns that strides express are views; others are one copy.
func TestRearrangeVerdict(t *testing.T) {
	x, _ := fill(t, openCPU(t), layout.Float32, 1, 2, 5, 12)
	heads := keep(t)(x.Rearrange("b s (h d) -> b h s d", map[string]int64{"h": 3}))
	require.Equal(t, tensor.View, heads.Verdict().Kind)
	require.Equal(t, tensor.View, keep(t)(heads.Rearrange("b h s d -> b s (h d)", nil)).Verdict().Kind)
	merged := keep(t)(heads.Rearrange("b h s d -> (b h) (s d)", nil)).Verdict()
	require.Equal(t, tensor.Copy, merged.Kind)
	require.Equal(t, int64(2*5*12*4), merged.Bytes)
	heads.Stream().ForbidCopies(true)
	_, err := heads.Rearrange("b h s d -> (b h) (s d)", nil)
	require.ErrorIs(t, err, tensor.ErrCopy)
}

func TestRearrangeErrors(t *testing.T) {
	x, _ := fill(t, openCPU(t), layout.Float32, 1, 2, 6)
	empty, _ := fill(t, openCPU(t), layout.Float32, 1, 0)
	huge := map[string]int64{"a": 1 << 62, "c": 4}
	for _, c := range []struct {
		of      *tensor.Tensor
		pattern string
		sizes   map[string]int64
		says    string
	}{
		{x, "a b", nil, "no ->"},
		{x, "a b -> b", nil, "a is on the left only"},
		{x, "a b -> a b c", nil, "c is on the right only"},
		{x, "a ... -> a", nil, "... is on the left only"},
		{x, "a a -> a", nil, "twice"},
		{x, "(a b -> a b", nil, "parentheses"},
		{x, "a) b -> a b", nil, "parentheses"},
		{x, "((a) b) -> a b", nil, "parentheses"},
		{x, "a 2 -> a 2", nil, "2 is not a name"},
		{x, "a b -> b a -> a", nil, "-> is not a name"},
		{x, "(a ...) -> a ...", nil, "cannot be in parentheses"},
		{x, "a (...) -> a ...", nil, "cannot be in parentheses"},
		{x, "a b c -> c b a", nil, "3 axes, and the tensor 2"},
		{x, "a b c ... -> c b a ...", nil, "axes, and the tensor 2"},
		{x, "a (b c) -> a b c", nil, "b and c: one of them needs a size"},
		{x, "a (b c) -> a b c", map[string]int64{"c": 4}, "axis 1 has 6 elements"},
		{x, "a (b c) -> a b c", map[string]int64{"b": 4, "c": 2}, "axis 1 has 6 elements"},
		{x, "a (b c) -> a b c", map[string]int64{"b": -3, "c": -2}, "the size of b is -3"},
		{x, "a (b c) -> a b c", map[string]int64{"c": 2, "d": 2}, "a size of d"},
		{x, "a (b c) -> a b c", map[string]int64{"b": 2, "c": 0}, "axis 1 has 6 elements"},
		{x, "b (a c) -> a b c", huge, "axis 1 has 6 elements"},
		{x, "1 a -> a", nil, "axis 0 has 2 elements"},
		{empty, "(h w z) -> (h w) z", map[string]int64{"h": 1 << 62, "w": 4, "z": 0}, "too many elements"},
		{empty, "(a b) -> a b", map[string]int64{"a": 0}, "b needs a size"},
	} {
		_, err := c.of.Rearrange(c.pattern, c.sizes)
		require.ErrorIs(t, err, device.ErrInvalid, c.pattern)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "Rearrange")
	}
	_, err := (*tensor.Tensor)(nil).Rearrange("a -> a", nil)
	require.ErrorIs(t, err, device.ErrInvalid)
}
