package devicetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// take runs takes of every type as gathers of rows, of columns and of single
// elements, and then random ones.
func (r runner) take(t *testing.T) {
	shared := r.rig(t)
	seed := uint64(0)
	types, rows := layout.DTypes(), []int64{1, 2, 3, 8, 33, 64, 1000}
	n, lanes, limits := 4000, 4, oracle.Limits{Ops: []oracle.Op{oracle.OpTake}}
	if r.few() {
		n, rows = 400, []int64{1, 3, 8, 33, 64}
	}
	if r.Small {
		types, n, lanes, rows, limits = widths[1:], 60, 1, []int64{1, 8, 33}, oracle.Limits{MaxBytes: 1 << 10, Ops: []oracle.Op{oracle.OpTake}}
	}
	for _, dtype := range types {
		for _, at := range []layout.DType{layout.Int32, layout.Int64} {
			for _, width := range rows {
				seed++
				for _, c := range gathers(dtype, at, width, int64(seed)) {
					shared.check(c, seed)
				}
			}
		}
	}
	if !r.Small {
		longTakes(shared)
	}
	skipsAndErrors(shared, r.Once)
	r.randomCases(t, shared, limits, n, lanes)
}

// gathers returns takes of five rows and columns of seven, and of single elements, from odd
// offsets.
func gathers(dtype, at layout.DType, width, turn int64) []oracle.Case {
	shape := []int64{5, width}
	row := oracle.Case{
		Op: oracle.OpTake, DstType: dtype, SrcType: dtype, AtType: at, Dst: dense(turn%9, 5, width), Src: strided(shape, []int64{0, 1}, turn%3*16),
		At: strided(shape, []int64{1, 0}, 1), By: indexBy(7, width), Wrong: int(turn % 8 / 7),
	}
	column := row
	column.Dst, column.Src = strided(shape, []int64{1, 5}, 3), strided(shape, []int64{0, 7}, 5)
	column.By = indexBy(7, 1)
	each := row
	each.At = dense(0, 5, width)
	return []oracle.Case{row, column, each}
}

// longTakes runs takes of many elements, so that devices share the work, and of columns of long
// rows: GPUs gather many rows' columns one after the other.
func longTakes(shared rig) {
	for _, dtype := range []layout.DType{layout.Uint4, layout.Uint8, layout.Int64, layout.String} {
		l := strided([]int64{400000}, []int64{0}, 0)
		for wrong := range 2 {
			shared.check(oracle.Case{
				Op: oracle.OpTake, DstType: dtype, SrcType: dtype, AtType: layout.Int32, Dst: dense(0, 400000), Src: l, At: dense(0, 400000),
				By: indexBy(999, 3), Wrong: wrong,
			}, 1)
		}
	}
	for _, name := range []string{
		"take/uint8/9x3073/dst=3073,1@3/src=999,0@5/at=0,1@0/int32/by=0:999:1:skip/wrong=3",
		"take/float16/2x17x1025/dst=20000,1025,1@1/src=-9000,500,0@9000/at=0,0,-1@1024/int64/by=0:500:1:clamp/wrong=2",
		"take/uint8/70x4096/dst=4096,1@0/src=999,0@0/at=0,1@0/int64/by=0:999:1/wrong=0",
		"take/float16/3x33x2050/dst=67650,2050,1@0/src=9000,100,1@0/at=0,0,1@0/int32/by=0:40:3:skip/wrong=1",
		"put/float/9x3073/dst=4096,0@0/src=3073,1@1/at=0,1@2/int32/by=0:4096:1:skip/wrong=0/set/once",
	} {
		shared.check(shared.parse(name), 1)
	}
}

// skipsAndErrors runs calls for elements with one index that is skipped, and another that is an
// error.
func skipsAndErrors(shared rig, once bool) {
	for _, name := range []string{
		"take/float8e5m2fnuz/1/dst=1@117/src=0@86/at=6@1/int64/by=11:4:6:skip,10:4:39/wrong=2",
		"take/uint4/1/dst=1@3/src=0@1/at=1@1/int32/by=0:4:6:skip,1:4:39/wrong=2",
		"take/uint8/40/dst=1@0/src=0@0/at=2@0/int32/by=0:4:6:skip,1:4:39/wrong=20",
		// Chunks of 16 bytes: an index that is strict is not clamped.
		"take/uint8/423/dst=1@0/src=0@0/at=1@0/int32/by=0:34:3:strict/wrong=1",
		"take/uint8/423/dst=1@0/src=0@0/at=1@0/int64/by=0:34:3:strict/wrong=300",
		"take/float16/300/dst=1@0/src=0@0/at=1@0/int32/by=0:34:3:strict/wrong=77",
		"put/uint8/40/dst=0@0/src=1@0/at=2@0/int32/by=0:4:40:skip,1:4:200/wrong=20/set",
		"put/uint4/1/dst=0@1/src=1@3/at=1@1/int64/by=0:4:6:skip,1:4:39/wrong=2/set",
	} {
		c := shared.parse(name)
		if once && c.Op == oracle.OpPut && c.Dst.Count() > 1 {
			continue
		}
		for seed := range uint64(8) {
			shared.check(c, 383436425+seed)
		}
	}
}

// indices is a buffer of int64 indices.
func (r rig) indices(all ...int64) device.Buffer {
	var b []byte
	for _, i := range all {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return r.buffer(b)
}

// bytesIn is the first bytes of a buffer.
func bytesIn(b device.Buffer, dims ...int64) device.Operand {
	return operand(b, layout.Uint8, dense(0, dims...))
}

// repeated is the first element of a buffer, n times.
func repeated(b device.Buffer, dtype layout.DType, n int64) device.Operand {
	return operand(b, dtype, strided([]int64{n}, []int64{0}, 0))
}

// indexBy is a single index.
func indexBy(extent, stride int64) []layout.Index {
	return []layout.Index{{Extent: extent, Stride: stride}}
}

// takeRules makes takes that a device must refuse immediately.
func takeRules(rig, other rig) {
	data := noise(64, 1)
	a, b, at := rig.buffer(data), rig.buffer(data), rig.indices(0, 1, 2, 3, 4, 5, 6, 7)
	foreign := other.indices(0, 0, 0, 0)
	ints := func(off int64, dims ...int64) device.Operand { return operand(at, layout.Int64, dense(off, dims...)) }
	one := repeated(b, layout.Uint8, 4)
	many := make([]layout.Index, device.MaxIndices+1)
	for i := range many {
		many[i].Extent = 1
	}
	bad := []struct {
		name         string
		dst, src, at device.Operand
		by           []layout.Index
		kind         error
	}{
		{"shapes", bytesIn(a, 4), one, ints(0, 3), indexBy(8, 1), device.ErrInvalid},
		{"shapes of dst and src", bytesIn(a, 4), bytesIn(b, 3), ints(0, 4), indexBy(8, 1), device.ErrInvalid},
		{"widths", operand(a, layout.Int16, dense(0, 4)), one, ints(0, 4), indexBy(8, 1), device.ErrInvalid},
		{"bytes as indices", bytesIn(a, 4), one, operand(at, layout.Uint8, dense(0, 4)), indexBy(8, 1), device.ErrInvalid},
		{"unsigned indices", bytesIn(a, 4), one, operand(at, layout.Uint64, dense(0, 4)), indexBy(8, 1), device.ErrInvalid},
		{"indices beyond their buffer", bytesIn(a, 4), one, ints(5, 4), indexBy(8, 1), device.ErrInvalid},
		{"an offset beyond", bytesIn(a, 4), one, ints(0, 4), []layout.Index{{Offset: 5, Extent: 8, Stride: 1}}, device.ErrInvalid},
		{"an offset before", bytesIn(a, 4), one, ints(0, 4), []layout.Index{{Offset: -1, Extent: 8, Stride: 1}}, device.ErrInvalid},
		{"an offset that overflows", bytesIn(a, 4), one, ints(1, 4), []layout.Index{{Offset: math.MaxInt64, Extent: 8, Stride: 1}}, device.ErrInvalid},
		{"no index", bytesIn(a, 4), one, ints(0, 4), nil, device.ErrInvalid},
		{"too many", bytesIn(a, 4), one, ints(0, 4), many, device.ErrUnsupported},
		{"extent 0", bytesIn(a, 4), one, ints(0, 4), indexBy(0, 1), device.ErrInvalid},
		{"extent 0, clamped", bytesIn(a, 4), one, ints(0, 4), []layout.Index{{OutOfRange: layout.OutOfRangeClamp}}, device.ErrInvalid},
		{"extent 0, clamped to 0", bytesIn(a, 4), one, ints(0, 4), []layout.Index{{OutOfRange: layout.OutOfRangeClampZero}}, device.ErrInvalid},
		{"extents 0, one of them skipped", bytesIn(a, 4), one, ints(0, 4), []layout.Index{{OutOfRange: layout.OutOfRangeSkip}, {}}, device.ErrInvalid},
		{"extent 0, dst and its buffer", bytesIn(a, 65), bytesIn(b, 65), repeated(at, layout.Int64, 65), []layout.Index{{OutOfRange: layout.OutOfRangeSkip}}, device.ErrInvalid},
		{"extent -1", bytesIn(a, 4), one, ints(0, 4), indexBy(-1, 1), device.ErrInvalid},
		{"src is reached beyond", bytesIn(a, 4), one, ints(0, 4), indexBy(65, 1), device.ErrInvalid},
		{"src is reached far beyond", bytesIn(a, 4), one, ints(0, 4), indexBy(math.MaxInt64, math.MaxInt64), device.ErrInvalid},
		{"src is reached before", bytesIn(a, 4), one, ints(0, 4), indexBy(2, -1), device.ErrInvalid},
		{"src is reached far before", bytesIn(a, 4), one, ints(0, 4), indexBy(3, math.MinInt64), device.ErrInvalid},
		{"dst repeats an element", repeated(a, layout.Uint8, 4), one, ints(0, 4), indexBy(8, 1), device.ErrInvalid},
		{"dst and src", bytesIn(b, 4), one, ints(0, 4), indexBy(8, 1), device.ErrInvalid},
		{"dst is what src reaches", operand(b, layout.Uint8, dense(7, 4)), one, ints(0, 4), indexBy(8, 1), device.ErrInvalid},
		{"dst and at", operand(at, layout.Uint8, dense(31, 4)), one, ints(0, 4), indexBy(8, 1), device.ErrInvalid},
		{"a buffer of another device", bytesIn(a, 4), one, operand(foreign, layout.Int64, dense(0, 4)), indexBy(8, 1), device.ErrInvalid},
		{"no buffer", bytesIn(a, 4), one, operand(nil, layout.Int64, dense(0, 4)), indexBy(8, 1), device.ErrInvalid},
	}
	rig.changesNothing(func() {
		for _, c := range bad {
			rig.is(rig.q.Take(c.dst, c.src, c.at, c.by...), c.kind, "%s", c.name)
		}
	}, a, b)
	allowedTakes(rig, a, b, at)
	rig.ok(errors.Join(a.Free(), b.Free(), at.Free(), foreign.Free()))
	rig.is(rig.q.Take(bytesIn(a, 4), one, ints(0, 4), indexBy(8, 1)...), device.ErrClosed, "freed buffers")
}

// allowedTakes runs empty takes, and takes just within the rules; a and b hold the same bytes.
func allowedTakes(rig rig, a, b, at device.Buffer) {
	data := rig.bytes(a)
	one, four := repeated(b, layout.Uint8, 4), operand(at, layout.Int64, dense(0, 4))
	before := rig.dev.Stats()
	rig.ok(rig.q.Take(bytesIn(a, 0), bytesIn(b, 0), operand(at, layout.Int64, dense(0, 0)), indexBy(0, 1)...))
	nothing := []layout.Index{{OutOfRange: layout.OutOfRangeSkip, Stride: 1}, {Extent: 2, Stride: 1}}
	empty := rig.buffer(nil)
	rig.ok(rig.q.Take(bytesIn(a, 4), one, four, nothing...))
	rig.ok(rig.q.Take(bytesIn(a, 4), bytesIn(empty, 4), four, nothing[:1]...)) // of a table without rows
	if after := rig.dev.Stats(); after.Launches != before.Launches {
		rig.Error("an empty take was launched")
	}
	rig.ok(errors.Join(rig.q.Wait(), empty.Free()))
	if !bytes.Equal(rig.bytes(a), data) {
		rig.Error("a take of nothing changed a buffer")
	}
	before = rig.dev.Stats()
	rig.ok(rig.q.Take(operand(b, layout.Uint8, dense(8, 4)), one, four, indexBy(8, 1)...))
	if after := rig.dev.Stats(); after.Launches != before.Launches+1 || after.DeviceToDevice != before.DeviceToDevice+4 {
		rig.Errorf("a take of 4 bytes took the stats from %+v to %+v", before, after)
	}
	if got := rig.bytes(b); !bytes.Equal(got[8:12], data[:4]) || !bytes.Equal(got[12:], data[12:]) {
		rig.Error("a take within one buffer is wrong")
	}
}
