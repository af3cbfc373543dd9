package devicetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
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
				// Five rows or columns of seven, from odd offsets.
				seed++
				shape := []int64{5, width}
				row := oracle.Case{
					Op: oracle.OpTake, DstType: dtype, SrcType: dtype, AtType: at, Dst: dense(int64(seed%9), 5, width), Src: strided(shape, []int64{0, 1}, int64(seed%3)*16),
					At: strided(shape, []int64{1, 0}, 1), By: []layout.Index{{Extent: 7, Stride: width}}, Wrong: int(seed % 8 / 7),
				}
				column := row
				column.Dst, column.Src = strided(shape, []int64{1, 5}, 3), strided(shape, []int64{0, 7}, 5)
				column.By = []layout.Index{{Extent: 7, Stride: 1}}
				each := row
				each.At = dense(0, 5, width)
				for _, c := range []oracle.Case{row, column, each} {
					shared.check(c, seed)
				}
			}
		}
	}
	// Many elements, so that devices share the work.
	if !r.Small {
		for _, dtype := range []layout.DType{layout.Uint4, layout.Uint8, layout.Int64, layout.String} {
			l := strided([]int64{400000}, []int64{0}, 0)
			for wrong := range 2 {
				shared.check(oracle.Case{
					Op: oracle.OpTake, DstType: dtype, SrcType: dtype, AtType: layout.Int32, Dst: dense(0, 400000), Src: l, At: dense(0, 400000),
					By: []layout.Index{{Extent: 999, Stride: 3}}, Wrong: wrong,
				}, 1)
			}
		}
	}
	// Columns of long rows: GPUs gather many rows' columns one after the other.
	if !r.Small {
		for _, name := range []string{
			"take/uint8/9x3073/dst=3073,1@3/src=999,0@5/at=0,1@0/int32/by=0:999:1:skip/wrong=3",
			"take/float16/2x17x1025/dst=20000,1025,1@1/src=-9000,500,0@9000/at=0,0,-1@1024/int64/by=0:500:1:clamp/wrong=2",
			"take/uint8/70x4096/dst=4096,1@0/src=999,0@0/at=0,1@0/int64/by=0:999:1/wrong=0",
			"take/float16/3x33x2050/dst=67650,2050,1@0/src=9000,100,1@0/at=0,0,1@0/int32/by=0:40:3:skip/wrong=1",
			"put/float/9x3073/dst=4096,0@0/src=3073,1@1/at=0,1@2/int32/by=0:4096:1:skip/wrong=0/set/once",
		} {
			c, err := oracle.ParseCase(name)
			if err != nil {
				t.Fatal(err)
			}
			shared.check(c, 1)
		}
	}
	// An element with one index that is skipped, and another that is an error.
	for _, name := range []string{
		"take/float8e5m2fnuz/1/dst=1@117/src=0@86/at=6@1/int64/by=11:4:6:skip,10:4:39/wrong=2",
		"take/uint4/1/dst=1@3/src=0@1/at=1@1/int32/by=0:4:6:skip,1:4:39/wrong=2",
		"take/uint8/40/dst=1@0/src=0@0/at=2@0/int32/by=0:4:6:skip,1:4:39/wrong=20",
		"put/uint8/40/dst=0@0/src=1@0/at=2@0/int32/by=0:4:40:skip,1:4:200/wrong=20/set",
		"put/uint4/1/dst=0@1/src=1@3/at=1@1/int64/by=0:4:6:skip,1:4:39/wrong=2/set",
	} {
		c, err := oracle.ParseCase(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Once && c.Op == oracle.OpPut && c.Dst.Count() > 1 {
			continue
		}
		for seed := range uint64(8) {
			shared.check(c, 383436425+seed)
		}
	}
	r.randomCases(t, shared, limits, n, lanes)
}

// indices is a buffer of int64 indices.
func (r rig) indices(all ...int64) device.Buffer {
	var b []byte
	for _, i := range all {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return r.buffer(b)
}

// takeRules makes takes that a device must refuse immediately.
func (r runner) takeRules(t *testing.T) {
	rig := r.rig(t)
	data := noise(64, 1)
	a, b, at := rig.buffer(data), rig.buffer(data), rig.indices(0, 1, 2, 3, 4, 5, 6, 7)
	other := r.rig(t)
	foreign := other.indices(0, 0, 0, 0)
	of := func(b device.Buffer, dims ...int64) device.Operand {
		return operand(b, layout.Uint8, dense(0, dims...))
	}
	ints := func(off int64, dims ...int64) device.Operand { return operand(at, layout.Int64, dense(off, dims...)) }
	one := operand(b, layout.Uint8, strided([]int64{4}, []int64{0}, 0))
	by := func(extent, stride int64) []layout.Index { return []layout.Index{{Extent: extent, Stride: stride}} }
	many := make([]layout.Index, device.MaxIndices+1)
	for i := range many {
		many[i].Extent = 1
	}
	before := rig.dev.Stats()
	for _, c := range []struct {
		name         string
		dst, src, at device.Operand
		by           []layout.Index
		kind         error
	}{
		{"shapes", of(a, 4), one, ints(0, 3), by(8, 1), device.ErrInvalid},
		{"shapes of dst and src", of(a, 4), of(b, 3), ints(0, 4), by(8, 1), device.ErrInvalid},
		{"widths", operand(a, layout.Int16, dense(0, 4)), one, ints(0, 4), by(8, 1), device.ErrInvalid},
		{"bytes as indices", of(a, 4), one, operand(at, layout.Uint8, dense(0, 4)), by(8, 1), device.ErrInvalid},
		{"unsigned indices", of(a, 4), one, operand(at, layout.Uint64, dense(0, 4)), by(8, 1), device.ErrInvalid},
		{"indices beyond their buffer", of(a, 4), one, ints(5, 4), by(8, 1), device.ErrInvalid},
		{"an offset beyond", of(a, 4), one, ints(0, 4), []layout.Index{{Offset: 5, Extent: 8, Stride: 1}}, device.ErrInvalid},
		{"an offset before", of(a, 4), one, ints(0, 4), []layout.Index{{Offset: -1, Extent: 8, Stride: 1}}, device.ErrInvalid},
		{"an offset that overflows", of(a, 4), one, ints(1, 4), []layout.Index{{Offset: math.MaxInt64, Extent: 8, Stride: 1}}, device.ErrInvalid},
		{"no index", of(a, 4), one, ints(0, 4), nil, device.ErrInvalid},
		{"too many", of(a, 4), one, ints(0, 4), many, device.ErrUnsupported},
		{"extent 0", of(a, 4), one, ints(0, 4), by(0, 1), device.ErrInvalid},
		{"extent 0, clamped", of(a, 4), one, ints(0, 4), []layout.Index{{OutOfRange: layout.OutOfRangeClamp}}, device.ErrInvalid},
		{"extent 0, clamped to 0", of(a, 4), one, ints(0, 4), []layout.Index{{OutOfRange: layout.OutOfRangeClampZero}}, device.ErrInvalid},
		{"extents 0, one of them skipped", of(a, 4), one, ints(0, 4), []layout.Index{{OutOfRange: layout.OutOfRangeSkip}, {}}, device.ErrInvalid},
		{"extent 0, dst and its buffer", of(a, 65), of(b, 65), operand(at, layout.Int64, strided([]int64{65}, []int64{0}, 0)), []layout.Index{{OutOfRange: layout.OutOfRangeSkip}}, device.ErrInvalid},
		{"extent -1", of(a, 4), one, ints(0, 4), by(-1, 1), device.ErrInvalid},
		{"src is reached beyond", of(a, 4), one, ints(0, 4), by(65, 1), device.ErrInvalid},
		{"src is reached far beyond", of(a, 4), one, ints(0, 4), by(math.MaxInt64, math.MaxInt64), device.ErrInvalid},
		{"src is reached before", of(a, 4), one, ints(0, 4), by(2, -1), device.ErrInvalid},
		{"src is reached far before", of(a, 4), one, ints(0, 4), by(3, math.MinInt64), device.ErrInvalid},
		{"dst repeats an element", operand(a, layout.Uint8, strided([]int64{4}, []int64{0}, 0)), one, ints(0, 4), by(8, 1), device.ErrInvalid},
		{"dst and src", of(b, 4), one, ints(0, 4), by(8, 1), device.ErrInvalid},
		{"dst is what src reaches", operand(b, layout.Uint8, dense(7, 4)), one, ints(0, 4), by(8, 1), device.ErrInvalid},
		{"dst and at", operand(at, layout.Uint8, dense(31, 4)), one, ints(0, 4), by(8, 1), device.ErrInvalid},
		{"a buffer of another device", of(a, 4), one, operand(foreign, layout.Int64, dense(0, 4)), by(8, 1), device.ErrInvalid},
		{"no buffer", of(a, 4), one, operand(nil, layout.Int64, dense(0, 4)), by(8, 1), device.ErrInvalid},
	} {
		rig.is(rig.q.Take(c.dst, c.src, c.at, c.by...), c.kind, "%s", c.name)
	}
	if after := rig.dev.Stats(); after != before {
		rig.Errorf("refused, but the stats went from %+v to %+v", before, after)
	}
	rig.ok(rig.q.Wait())
	if !bytes.Equal(rig.bytes(a), data) || !bytes.Equal(rig.bytes(b), data) {
		rig.Error("a refused take changed a buffer")
	}

	// Empty takes, and takes just within the rules.
	before = rig.dev.Stats()
	rig.ok(rig.q.Take(of(a, 0), of(b, 0), ints(0, 0), by(0, 1)...))
	nothing := []layout.Index{{OutOfRange: layout.OutOfRangeSkip, Stride: 1}, {Extent: 2, Stride: 1}}
	empty := rig.buffer(nil)
	rig.ok(rig.q.Take(of(a, 4), one, ints(0, 4), nothing...))
	rig.ok(rig.q.Take(of(a, 4), of(empty, 4), ints(0, 4), nothing[:1]...)) // of a table without rows
	if after := rig.dev.Stats(); after.Launches != before.Launches {
		rig.Error("an empty take was launched")
	}
	rig.ok(errors.Join(rig.q.Wait(), empty.Free()))
	if !bytes.Equal(rig.bytes(a), data) {
		rig.Error("a take of nothing changed a buffer")
	}
	before = rig.dev.Stats()
	rig.ok(rig.q.Take(operand(b, layout.Uint8, dense(8, 4)), one, ints(0, 4), by(8, 1)...))
	if after := rig.dev.Stats(); after.Launches != before.Launches+1 || after.DeviceToDevice != before.DeviceToDevice+4 {
		rig.Errorf("a take of 4 bytes took the stats from %+v to %+v", before, after)
	}
	if got := rig.bytes(b); !bytes.Equal(got[8:12], data[:4]) || !bytes.Equal(got[12:], data[12:]) {
		rig.Error("a take within one buffer is wrong")
	}
	rig.ok(errors.Join(a.Free(), b.Free(), at.Free(), foreign.Free()))
	rig.is(rig.q.Take(of(a, 4), one, ints(0, 4), by(8, 1)...), device.ErrClosed, "freed buffers")
}

// takeOrder checks that takes keep the order of their queue, that their buffers may be freed
// immediately, and that an index out of range is reported once, at the latest by a wait for the
// queue.
func (r runner) takeOrder(t *testing.T) {
	rig := r.rig(t)
	const n = 16
	rounds := 40
	if r.Small {
		rounds = 4
	}
	one := func(b device.Buffer) device.Operand {
		return operand(b, layout.Uint8, strided([]int64{n}, []int64{0}, 0))
	}
	by := layout.Index{Extent: n, Stride: 1}
	ints := func(b device.Buffer) device.Operand { return operand(b, layout.Int64, dense(0, n)) }
	row := func(b device.Buffer) device.Operand { return operand(b, layout.Uint8, dense(0, n)) }
	shift := make([]int64, n)
	for i := range shift {
		shift[i] = int64(i+1)%n - n // negative ones
	}
	a, b, at := rig.buffer(noise(n, 1)), rig.buffer(make([]byte, n)), rig.indices(shift...)
	want := noise(n, 1)
	for i := range rounds {
		src, dst := a, b
		if i%2 == 1 {
			src, dst = b, a
		}
		// A separate buffer of indices, which is freed before the wait.
		own := rig.indices(shift...)
		rig.ok(rig.q.Take(row(dst), one(src), ints(own), by))
		rig.ok(own.Free())
		want = append(want[1:n:n], want[0])
	}
	if !bytes.Equal(rig.bytes(a), want) {
		rig.Error("takes were not done in order")
	}

	// The second of two takes has a wrong index.
	shift[5] = n
	wrong := rig.indices(shift...)
	told := rig.q.Take(row(b), one(a), ints(at), by)
	rig.ok(told)
	told = rig.q.Take(row(b), one(a), ints(wrong), by)
	rig.ok(rig.q.Fill(operand(a, layout.Uint8, dense(0, 1)), []byte{7})) // later work is done
	if told == nil {
		told = rig.q.Wait()
	}
	rig.is(told, device.ErrInvalid, "an index out of range")
	rig.ok(rig.q.Wait())
	want = append(want[1:n:n], want[0])
	if got := rig.left(b); !bytes.Equal(got, want) {
		rig.Errorf("after a wrong index dst is %v, want %v", got, want)
	}
	if got := rig.bytes(a); got[0] != 7 {
		rig.Error("work behind a wrong index was not done")
	}

	// Read reports it, too; another queue does not.
	other := rig.fork(t)
	told = rig.q.Take(row(b), one(a), ints(wrong), by)
	rig.ok(other.q.Wait())
	if told == nil {
		told = rig.q.Read(make([]byte, 1), b, 0)
	}
	rig.is(told, device.ErrInvalid, "an index out of range, before Read")
	rig.ok(rig.q.Wait())

	// All of a large index and a large extent is told, though they may be noted in
	// words of 32 bits.
	far := layout.Index{Extent: 3<<40 | 5<<31 | 7, Stride: 0}
	beyond := far.Extent | 1<<50
	late := rig.indices(slices.Repeat([]int64{beyond}, n)...)
	told = rig.q.Take(row(b), one(a), ints(late), far)
	if told == nil {
		told = rig.q.Wait()
	}
	rig.is(told, device.ErrInvalid, "a large index out of range")
	if told != nil && !strings.HasSuffix(told.Error(), backend.OutOfRange(beyond, far.Extent)) {
		rig.Errorf("index %d of extent %d is told as %v", beyond, far.Extent, told)
	}
	rig.ok(late.Free())

	// Recorded takes tell at each run.
	if recorder, ok := device.As[device.Recorder](rig.q); ok {
		replay, err := recorder.Capture(func() error { return rig.q.Take(row(b), one(a), ints(wrong), by) })
		if !errors.Is(err, device.ErrUnsupported) {
			rig.ok(err)
			rig.ok(rig.q.Wait())
			for range 2 {
				told := replay.Run()
				if told == nil {
					told = rig.q.Wait()
				}
				rig.is(told, device.ErrInvalid, "an index out of range, replayed")
			}
			rig.ok(rig.q.Write(wrong, 0, make([]byte, 8*n)))
			rig.ok(replay.Run())
			got := rig.bytes(b)
			if first := rig.bytes(a)[0]; !bytes.Equal(got, bytes.Repeat([]byte{first}, n)) {
				rig.Error("a replayed take is wrong")
			}
			rig.ok(replay.Close())
		}
	}
	rig.ok(errors.Join(a.Free(), b.Free(), at.Free(), wrong.Free()))
}
