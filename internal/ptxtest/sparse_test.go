package ptxtest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
	"github.com/restride/restride/layout"
)

// wide is a case of few elements that lie far apart: many gigabytes, for kernels with
// Spec.Wide.
func wide(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	extents := []int64{1, 2, 3, 5, 8, 9, 16, 31, 32, 33, 64, 100}
	shape, elements := make([]int64, 1+rng.IntN(4)), int64(1)
	for i := range shape {
		shape[i] = extents[rng.IntN(len(extents))]
		if elements*shape[i] > 1<<12 {
			shape[i] = 1
		}
		elements *= shape[i]
	}
	side := func(repeats bool) layout.Layout {
		strides, step, offset := make([]int64, len(shape)), int64(1), rng.Int64N(40)
		far := rng.IntN(len(shape))
		for i, axis := range rng.Perm(len(shape)) {
			if repeats && rng.IntN(4) == 0 {
				continue
			}
			if i == far {
				step = max(step, 1<<31/max(shape[axis]-1, 1)+rng.Int64N(1<<rng.IntN(31)))
			}
			if strides[axis] = step; rng.IntN(8) == 0 {
				strides[axis], offset = -step, offset+(shape[axis]-1)*step
			}
			step = (step + rng.Int64N(3)) * shape[axis]
		}
		l, err := layout.Strided(shape, strides, offset)
		if err != nil {
			panic(err)
		}
		return l
	}
	if c.Dst = side(false); c.Op != oracle.OpFill {
		c.Src = side(true)
	}
	return c
}

const page = 1 << 12

// image is the pages of a buffer in which a layout has elements.
type image struct {
	device.Buffer
	pages map[int64][]byte
}

// at is the bytes of an element.
func (m image) at(position int64, bytes int64) []byte {
	at := position * bytes
	return m.pages[at/page][at%page:][:bytes]
}

// checkSparse is oracle.Check for buffers much too large for it: of elements of whole bytes, in
// copies and fills.
func checkSparse(t *testing.T, d *ptxtest.Driver, dev device.Device, c oracle.Case, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	q, err := dev.NewQueue()
	require.NoError(t, err)
	defer func() { require.NoError(t, q.Close()) }()
	bytes := int64(c.DstType.Bits() / 8)
	load := func(l layout.Layout, size int64) image {
		b, err := dev.Alloc(max(size, 1))
		require.NoError(t, err)
		m := image{b, map[int64][]byte{}}
		each(l, func(index []int64) {
			n := l.At(index...) * bytes / page
			if m.pages[n] == nil {
				m.pages[n] = oracle.RandomBytes(rng, min(page, size-n*page))
				require.NoError(t, q.Write(b, n*page, m.pages[n]))
			}
		})
		return m
	}
	dstSize, srcSize, _ := c.Sizes()
	dst := load(c.Dst, dstSize)
	to := device.Operand{Buffer: dst.Buffer, Layout: c.Dst, Type: c.DstType}
	defer func() { require.NoError(t, dst.Free()) }()
	var before int
	if c.Op == oracle.OpFill {
		pattern := oracle.RandomBytes(rng, bytes)
		each(c.Dst, func(index []int64) { copy(dst.at(c.Dst.At(index...), bytes), pattern) })
		before = d.Pages()
		require.NoError(t, q.Fill(to, pattern))
	} else {
		src := load(c.Src, srcSize)
		defer func() { require.NoError(t, src.Free()) }()
		each(c.Dst, func(index []int64) {
			copy(dst.at(c.Dst.At(index...), bytes), src.at(c.Src.At(index...), bytes))
		})
		before = d.Pages()
		require.NoError(t, q.Copy(to, device.Operand{Buffer: src.Buffer, Layout: c.Src, Type: c.SrcType}))
	}
	require.Equal(t, before, d.Pages(), "%v: other pages are accessed", c)
	for n, want := range dst.pages {
		got := make([]byte, len(want))
		require.NoError(t, q.Read(got, dst.Buffer, n*page))
		require.Equal(t, want, got, "%v with seed %d: page %d", c, seed, n)
	}
}

// each calls visit with every index of a layout.
func each(l layout.Layout, visit func(index []int64)) {
	index := make([]int64, l.Rank())
	for range l.Count() {
		visit(index)
		for axis := l.Rank() - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < l.Dim(axis) {
				break
			}
			index[axis] = 0
		}
	}
}
