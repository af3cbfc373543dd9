package devicetest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// where chooses between elements of every type: by conditions for each of them, for
// rows and for columns, between tensors and scalars, in place and not; and runs random
// ones.
func (r runner) where(t *testing.T) {
	shared := r.rig(t)
	seed := uint64(0)
	types, columns, n, lanes, limits := layout.DTypes(), []int64{1, 2, 3, 8, 33, 64, 1000}, 6000, 4, oracle.Limits{Ops: []oracle.Op{oracle.OpWhere}}
	if r.few() {
		n, columns = 500, []int64{1, 3, 8, 33, 64}
	}
	if r.Small {
		types, n, lanes, columns, limits.MaxBytes = widths[1:], 60, 1, []int64{1, 8, 33}, 1<<10
	}
	for _, dtype := range types {
		for _, width := range columns {
			seed++
			shape, off := []int64{5, width}, int64(seed%9)
			every := oracle.Case{
				Op: oracle.OpWhere, DstType: dtype, SrcType: dtype, Dst: dense(off, 5, width), Src: dense(off*7%5, 5, width), B: dense(off*3%7, 5, width), Cond: dense(off, 5, width),
			}
			byRow, byColumn, scalars, turned := every, every, every, every
			byRow.Cond = strided(shape, []int64{1, 0}, off)
			byColumn.Cond = strided(shape, []int64{0, 1}, off)
			byColumn.Dst = strided(shape, []int64{width + 3, 1}, 2) // elements between rows do not change
			scalars.Src, scalars.B = strided(shape, []int64{0, 0}, 3), strided(shape, []int64{0, 1}, 2)
			turned.B, turned.Cond = strided(shape, []int64{1, 5}, 0), strided(shape, []int64{-width, -1}, 5*width-1)
			cases := []oracle.Case{every, byRow, byColumn, scalars, turned}
			if !r.Lone {
				a, b, both := scalars, scalars, every
				a.Src, a.Shared = a.Dst, true
				b.B, b.SharedB = b.Dst, true
				both.Src, both.B, both.Shared, both.SharedB = both.Dst, both.Dst, true, true
				cases = append(cases, a, b, both)
			}
			for _, c := range cases {
				shared.check(c, seed)
			}
		}
	}
	// Many elements, so that devices share the work.
	if !r.Small {
		for _, dtype := range []layout.DType{layout.Uint4, layout.Uint8, layout.Int16, layout.Float32, layout.Int64, layout.String} {
			l := dense(1, 300001)
			shared.check(oracle.Case{Op: oracle.OpWhere, DstType: dtype, SrcType: dtype, Dst: l, Src: dense(2, 300001), B: strided([]int64{300001}, []int64{0}, 0), Cond: l}, 1)
		}
	}
	r.randomCases(t, shared, limits, n, lanes)
}

// whereRules makes choices that a device must refuse immediately.
func whereRules(rig, other rig) {
	data := noise(64, 1)
	x, y, z, yes := rig.buffer(data), rig.buffer(data), rig.buffer(data), rig.buffer(data)
	foreign := other.buffer(data)
	of := func(b device.Buffer, t layout.DType, off int64, dims ...int64) device.Operand {
		return operand(b, t, dense(off, dims...))
	}
	dst, a, b, cond := of(x, layout.Int16, 0, 9), of(y, layout.Float16, 0, 9), of(z, layout.Int16, 1, 9), of(yes, layout.Bool, 0, 9)
	rig.refusesAll([]call{
		{"the shape of cond", func() error { return rig.q.Where(dst, of(yes, layout.Bool, 0, 8), a, b) }},
		{"the shape of a", func() error { return rig.q.Where(dst, cond, of(y, layout.Int16, 0, 1), b) }},
		{"the shape of b", func() error { return rig.q.Where(dst, cond, a, of(z, layout.Int16, 0, 3, 3)) }},
		{"the shape of dst", func() error { return rig.q.Where(of(x, layout.Int16, 0, 10), cond, a, b) }},
		{"bytes as conditions", func() error { return rig.q.Where(dst, of(yes, layout.Uint8, 0, 9), a, b) }},
		{"the width of a", func() error { return rig.q.Where(dst, cond, of(y, layout.Int8, 0, 9), b) }},
		{"the width of b", func() error { return rig.q.Where(dst, cond, a, of(z, layout.Int32, 0, 9)) }},
		{"the width of dst", func() error { return rig.q.Where(of(x, layout.Int32, 0, 9), cond, a, b) }},
		{"cond beyond its buffer", func() error { return rig.q.Where(dst, of(yes, layout.Bool, 56, 9), a, b) }},
		{"a beyond its buffer", func() error { return rig.q.Where(dst, cond, of(y, layout.Int16, 24, 9), b) }},
		{"b beyond its buffer", func() error { return rig.q.Where(dst, cond, a, of(z, layout.Int16, 24, 9)) }},
		{"dst repeats an element", func() error {
			return rig.q.Where(operand(x, layout.Int16, strided([]int64{9}, []int64{0}, 0)), cond, a, b)
		}},
		{"dst one behind a", func() error { return rig.q.Where(of(y, layout.Int16, 1, 9), cond, a, b) }},
		{"dst turns b round", func() error {
			return rig.q.Where(operand(z, layout.Int16, strided([]int64{9}, []int64{-1}, 9)), cond, a, b)
		}},
		{"dst is cond", func() error {
			return rig.q.Where(of(yes, layout.Bool, 0, 9), cond, of(y, layout.Bool, 0, 9), of(z, layout.Bool, 0, 9))
		}},
		{"dst between conditions", func() error {
			cond := operand(yes, layout.Bool, strided([]int64{9}, []int64{2}, 0))
			return rig.q.Where(operand(yes, layout.Int8, strided([]int64{9}, []int64{2}, 1)), cond, of(y, layout.Int8, 0, 9), of(z, layout.Int8, 0, 9))
		}},
		{"no condition", func() error { return rig.q.Where(dst, of(nil, layout.Bool, 0, 9), a, b) }},
		{"b of another device", func() error { return rig.q.Where(dst, cond, a, of(foreign, layout.Int16, 0, 9)) }},
	}, x, y, z, yes)

	before := rig.dev.Stats()
	rig.ok(rig.q.Where(of(x, layout.Int16, 0, 0), of(yes, layout.Bool, 0, 0), of(y, layout.Int16, 0, 0), of(z, layout.Int16, 0, 0)))
	if after := rig.dev.Stats(); after.Launches != before.Launches {
		rig.Error("an empty choice was launched")
	}
	// All in one buffer: every second element, between those of a.
	even, odd := strided([]int64{4}, []int64{2}, 0), strided([]int64{4}, []int64{2}, 1)
	rig.ok(rig.q.Write(x, 32, []byte{0, 1, 0, 128}))
	rig.ok(rig.q.Where(operand(x, layout.Int8, even), of(x, layout.Bool, 32, 4), operand(x, layout.Int8, odd), of(x, layout.Int8, 16, 4)))
	if after := rig.dev.Stats(); after.Launches != before.Launches+1 || after.DeviceToDevice != before.DeviceToDevice+4 {
		rig.Errorf("a choice of 4 bytes took the stats from %+v to %+v", before, after)
	}
	want := bytes.Clone(data)
	copy(want[32:], []byte{0, 1, 0, 128})
	want[0], want[2], want[4], want[6] = data[16], data[3], data[18], data[7]
	if got := rig.bytes(x); !bytes.Equal(got, want) {
		rig.Errorf("within one buffer: got %v, want %v", got, want)
	}
	rig.ok(errors.Join(x.Free(), y.Free(), z.Free(), yes.Free(), foreign.Free()))
	rig.is(rig.q.Where(dst, cond, a, b), device.ErrClosed, "freed buffers")
}
