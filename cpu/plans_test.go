package cpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/plankey"
	"github.com/restride/restride/layout"
)

// pairOf is a transpose of n by n, from and to other offsets.
func pairOf(t *testing.T, n, dOff, sOff int64) (dst, src layout.Layout) {
	t.Helper()
	dst, err := layout.Strided(layout.Shape{n, n}, []int64{n, 1}, dOff)
	require.NoError(t, err)
	src, err = layout.Strided(layout.Shape{n, n}, []int64{1, n}, sOff)
	require.NoError(t, err)
	return dst, src
}

// get does what queue.planned does, without checks.
func (c *plans) get(f form, dst, src layout.Layout) (p *plan, known bool) {
	if p = c.again(&f, &dst, &src); p != nil {
		return p, true
	}
	if p = c.find(&f, &dst, &src); p != nil {
		return p, true
	}
	return c.add(&f, &dst, &src), false
}

func TestPlansAreFoundAgain(t *testing.T) {
	var c plans
	f := form{op: opCopy, align: 16, dst: layout.Float32, src: layout.Float32}
	dst, src := pairOf(t, 7, 3, 5)
	first, known := c.get(f, dst, src)
	require.False(t, known)
	for _, k := range []int64{0, 1, 5, 1 << 40} {
		d, s := pairOf(t, 7, 3+k*plankey.Period, 5+2*k*plankey.Period)
		p, known := c.get(f, d, s)
		require.True(t, known)
		require.Same(t, first, p, "an offset that differs by a multiple of the period")
	}
	others := map[string]func() (*plan, bool){
		"offset of dst": func() (*plan, bool) { d, s := pairOf(t, 7, 4, 5); return c.get(f, d, s) },
		"offset of src": func() (*plan, bool) { d, s := pairOf(t, 7, 3, 4); return c.get(f, d, s) },
		"extents":       func() (*plan, bool) { d, s := pairOf(t, 8, 3, 5); return c.get(f, d, s) },
		"src's extents": func() (*plan, bool) {
			d, _ := pairOf(t, 7, 3, 5)
			s, err := layout.Strided(layout.Shape{7, 6}, []int64{1, 7}, 5)
			require.NoError(t, err)
			if p := c.again(&f, &d, &s); p != nil {
				return p, true
			}
			p := c.find(&f, &d, &s)
			return p, p != nil
		},
		"strides":   func() (*plan, bool) { return c.get(f, dst, dst) },
		"operation": func() (*plan, bool) { g := f; g.op = opFill; return c.get(g, dst, src) },
		"type":      func() (*plan, bool) { g := f; g.dst, g.src = layout.Int4, layout.Int4; return c.get(g, dst, src) },
		"alignment": func() (*plan, bool) { g := f; g.align = 4; return c.get(g, dst, src) },
		"rounding": func() (*plan, bool) {
			g := form{op: opConvert, align: 16, dst: layout.BFloat16, src: layout.Float32}
			p, known := c.get(g, dst, src)
			require.False(t, known)
			g.how.Legacy = true
			q, known := c.get(g, dst, src)
			require.NotSame(t, p, q)
			return q, known
		},
	}
	for what, other := range others {
		p, known := other()
		require.False(t, known, what)
		require.NotSame(t, first, p, what)
	}
}

// A set has room for a few: the least recently used plan makes place, and its memory
// is used again.
func TestPlansAreBounded(t *testing.T) {
	var c plans
	f := form{op: opCopy, align: 16, dst: layout.Float32, src: layout.Float32}
	var rivals []int64 // extents whose plans fall in one set
	var set *[planWays]*plan
	for n := int64(3); len(rivals) < planWays+2; n++ {
		d, s := pairOf(t, n, 0, 0)
		if mine := c.set(&f, &d, &s); set == nil || mine == set {
			set = mine
			rivals = append(rivals, n)
		}
	}
	get := func(n int64) bool {
		d, s := pairOf(t, n, 0, 0)
		p, known := c.get(f, d, s)
		require.Equal(t, n*n*4, p.job.bytes)
		require.True(t, p.layouts.Is(nil, &d, &s))
		return known
	}
	for _, n := range rivals[:planWays] {
		require.False(t, get(n))
	}
	was := slices.Clone(set[:])
	require.True(t, get(rivals[0])) // the second is the oldest now
	require.False(t, get(rivals[planWays]))
	require.False(t, get(rivals[1]))
	require.True(t, get(rivals[0]))
	require.True(t, get(rivals[planWays]))
	require.ElementsMatch(t, was, set[:], "plans are made where others were")
}

func TestPlansThatAreNotKept(t *testing.T) {
	var c plans
	f := form{op: opCopy, align: 16, dst: layout.Uint8, src: layout.Uint8}
	dst, src := pairOf(t, 512, 0, 0)
	p, _ := c.get(f, dst, src)
	require.Nil(t, p, "large enough for several workers")
	require.Equal(t, plans{kernels: kernels}, c)
}

// What depends on buffers is checked for each call, known or not.
func TestPlansDoNotCheckBuffers(t *testing.T) {
	dev, err := Open()
	require.NoError(t, err)
	defer dev.Close()
	opened, err := dev.NewQueue()
	require.NoError(t, err)
	q := opened.(*queue)
	dst, src := pairOf(t, 7, 0, 0)
	buffer := func(bytes int64) device.Buffer {
		b, err := dev.Alloc(bytes)
		require.NoError(t, err)
		return b
	}
	words, err := dev.(*processor).AllocStrings(200)
	require.NoError(t, err)
	a, b, short := buffer(4*49), buffer(4*49), buffer(4*49-1)
	freed := buffer(4 * 49)
	require.NoError(t, freed.Free())
	both := buffer(4 * 100)
	behind, _ := pairOf(t, 7, 64, 0)
	near, _ := pairOf(t, 7, 32, 0)
	at := func(b device.Buffer, l layout.Layout) device.Operand {
		return device.Operand{Buffer: b, Layout: l, Type: layout.Float32}
	}
	for range 2 { // the second time, all forms are known
		require.NoError(t, q.Copy(at(a, dst), at(b, src)))
		require.ErrorIs(t, q.Copy(at(short, dst), at(b, src)), device.ErrInvalid)
		require.ErrorIs(t, q.Copy(at(a, dst), at(short, src)), device.ErrInvalid)
		require.ErrorIs(t, q.Copy(at(a, dst), at(words, src)), device.ErrInvalid)
		require.ErrorIs(t, q.Copy(at(nil, dst), at(b, src)), device.ErrInvalid)
		require.ErrorIs(t, q.Copy(at(a, dst), at(freed, src)), device.ErrClosed)
		require.ErrorIs(t, q.Copy(at(a, dst), at(a, src)), device.ErrInvalid)
		require.ErrorIs(t, q.Copy(at(both, behind), at(both, src)), device.ErrInvalid, "it reaches beyond")
		require.ErrorIs(t, q.Copy(at(both, near), at(both, src)), device.ErrInvalid, "they share elements")
		require.NoError(t, q.Fill(at(a, src), []byte{1, 2, 3, 4}))
		require.ErrorIs(t, q.Fill(at(a, src), []byte{1, 2, 3}), device.ErrInvalid)
		require.ErrorIs(t, q.Fill(at(short, src), []byte{1, 2, 3, 4}), device.ErrInvalid)
		half := device.Operand{Buffer: both, Layout: dst, Type: layout.Float16}
		require.NoError(t, q.Convert(at(a, dst), half, device.Rounding{}))
		require.ErrorIs(t, q.Convert(at(both, dst), half, device.Rounding{}), device.ErrInvalid, "they share bytes")
	}
}
