package devicetest

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// put runs puts of every type as scatters of rows, of columns and of single elements,
// and then random ones.
func (r runner) put(t *testing.T) {
	shared := r.rig(t)
	seed := uint64(0)
	types, rows := layout.DTypes(), []int64{1, 2, 3, 8, 33, 64, 1000}
	n, lanes, limits := 4000, 4, oracle.Limits{Ops: []oracle.Op{oracle.OpPut}}
	if r.few() {
		n, rows = 400, []int64{1, 3, 8, 33, 64}
	}
	if r.Small {
		types, n, lanes, rows, limits.MaxBytes = widths[1:], 60, 1, []int64{1, 8, 33}, 1<<10
	}
	limits.Once = r.Once
	for _, dtype := range types {
		for _, at := range []layout.DType{layout.Int32, layout.Int64} {
			for _, width := range rows {
				seed++
				for _, c := range r.scatters(dtype, at, width, int64(seed)) {
					shared.check(c, seed)
				}
			}
		}
	}
	r.reductions(shared)
	// Many elements, so that devices share the work, and some with the same target.
	if !r.Small {
		for _, dtype := range []layout.DType{layout.Uint4, layout.Uint8, layout.Int64, layout.String} {
			l := strided([]int64{400000}, []int64{0}, 0)
			for wrong := range 2 {
				shared.check(oracle.Case{
					Op: oracle.OpPut, DstType: dtype, SrcType: dtype, AtType: layout.Int32, Dst: l, Src: dense(0, 400000), At: dense(0, 400000),
					By: []layout.Index{{Extent: 99999, Stride: 3}}, Wrong: wrong,
				}, 1)
			}
		}
	}
	for lane := range lanes {
		rig := shared.fork(t)
		for i := lane; i < n; i += lanes {
			seed := r.seed + uint64(i)
			rig.check(oracle.Random(rand.New(rand.NewPCG(seed, 3)), limits), seed)
		}
	}
}

// scatters returns puts of five rows and columns of nine, and of single elements, to odd offsets.
func (r runner) scatters(dtype, at layout.DType, width, turn int64) []oracle.Case {
	outside := layout.OutOfRangeError
	if r.Once {
		outside = layout.OutOfRangeSkip
	}
	shape := []int64{5, width}
	row := oracle.Case{
		Op: oracle.OpPut, DstType: dtype, SrcType: dtype, AtType: at, Dst: strided(shape, []int64{0, 1}, turn%3*16), Src: dense(turn%9, 5, width),
		At: strided(shape, []int64{1, 0}, 1), By: []layout.Index{{Extent: 9, Stride: width, OutOfRange: outside}}, Wrong: int(turn % 8 / 7), Once: r.Once,
	}
	column := row
	column.Dst, column.Src = strided(shape, []int64{0, 9}, 5), strided(shape, []int64{1, 5}, 3)
	column.By = []layout.Index{{Extent: 9, Stride: 1, OutOfRange: outside}}
	each := column
	each.At = dense(0, 5, width)
	one := each // the same index for all
	one.Src = strided(shape, []int64{0, 0}, 7)
	return []oracle.Case{row, column, each, one}
}

// reductions runs puts that reduce: of elements, and of rows, several to one place.
func (r runner) reductions(shared rig) {
	seed, length := uint64(0), int64(5000) // a part for each item of some kernels
	if r.Small {
		length = 200
	}
	for _, dtype := range layout.DTypes() {
		for how := device.ReduceAdd; how <= device.ReduceMax && device.Reduces(dtype); how++ {
			seed++
			each := oracle.Case{
				Op: oracle.OpPut, DstType: dtype, SrcType: dtype, AtType: layout.Int64, Dst: strided([]int64{4, 15}, []int64{0, 0}, 2), Src: dense(1, 4, 15), At: dense(0, 4, 15),
				By: []layout.Index{{Extent: 7, Stride: 1}}, Reduction: how,
			}
			rows := each
			rows.Dst, rows.At, rows.By = strided([]int64{4, 15}, []int64{0, 1}, 2), strided([]int64{4, 15}, []int64{1, 0}, 0), []layout.Index{{Extent: 2, Stride: 16}}
			along := rows // of columns, by an index each
			along.At = dense(0, 4, 15)
			many := each
			many.Dst, many.Src, many.At = strided([]int64{length}, []int64{0}, 5), dense(0, length), dense(0, length)
			many.AtType, many.By = layout.Int32, []layout.Index{{Extent: 99, Stride: 1}}
			for _, c := range []oracle.Case{each, rows, along, many} {
				shared.check(c, seed)
			}
		}
	}
}

// putRules makes puts that a device must refuse immediately.
func putRules(rig rig) {
	data := noise(64, 1)
	a, b, at := rig.buffer(data), rig.buffer(data), rig.indices(0, 1, 2, 3, 4, 5, 6, 7)
	ints := func(off int64, dims ...int64) device.Operand { return operand(at, layout.Int64, dense(off, dims...)) }
	one := repeated(a, layout.Uint8, 4)
	bad := []struct {
		name         string
		dst, src, at device.Operand
		how          device.Reduction
		by           []layout.Index
		kind         error
	}{
		{"shapes", one, bytesIn(b, 4), ints(0, 3), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"shapes of dst and src", one, bytesIn(b, 3), ints(0, 4), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"widths", one, operand(b, layout.Int16, dense(0, 4)), ints(0, 4), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"bytes as indices", one, bytesIn(b, 4), operand(at, layout.Uint8, dense(0, 4)), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"indices beyond their buffer", one, bytesIn(b, 4), ints(5, 4), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"no index", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, nil, device.ErrInvalid},
		{"too many", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, make([]layout.Index, device.MaxIndices+1), device.ErrUnsupported},
		{"extent 0", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, indexBy(0, 1), device.ErrInvalid},
		{"extent 0, clamped", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, []layout.Index{{OutOfRange: layout.OutOfRangeClamp}}, device.ErrInvalid},
		{"extent 0, clamped to 0", one, bytesIn(b, 4), ints(0, 4), device.ReduceAdd, []layout.Index{{OutOfRange: layout.OutOfRangeClampZero}}, device.ErrInvalid},
		{"extent 0, src and its buffer", bytesIn(a, 65), bytesIn(b, 65), repeated(at, layout.Int64, 65), device.ReduceSet, []layout.Index{{OutOfRange: layout.OutOfRangeSkip}}, device.ErrInvalid},
		{"dst is reached beyond", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, indexBy(65, 1), device.ErrInvalid},
		{"dst is reached far beyond", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, indexBy(math.MaxInt64, math.MaxInt64), device.ErrInvalid},
		{"dst is reached before", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, indexBy(2, -1), device.ErrInvalid},
		{"dst is what src is", one, bytesIn(a, 4), ints(0, 4), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"dst reaches what src is", one, operand(a, layout.Uint8, dense(7, 4)), ints(0, 4), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"dst and at", operand(at, layout.Uint8, strided([]int64{4}, []int64{0}, 31)), bytesIn(b, 4), ints(0, 4), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"no buffer", one, bytesIn(b, 4), operand(nil, layout.Int64, dense(0, 4)), device.ReduceSet, indexBy(8, 1), device.ErrInvalid},
		{"no reduction", one, bytesIn(b, 4), ints(0, 4), 99, indexBy(8, 1), device.ErrInvalid},
		{"numbers of other types", one, operand(b, layout.Int8, dense(0, 4)), ints(0, 4), device.ReduceAdd, indexBy(8, 1), device.ErrInvalid},
		{"no numbers to add", repeated(a, layout.Float8E5M2, 4), operand(b, layout.Float8E5M2, dense(0, 4)), ints(0, 4), device.ReduceAdd, indexBy(8, 1), device.ErrUnsupported},
		{"no policy", one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, []layout.Index{{Extent: 8, Stride: 1, OutOfRange: 9}}, device.ErrInvalid},
	}
	rig.changesNothing(func() {
		for _, c := range bad {
			rig.is(rig.q.Put(c.dst, c.src, c.at, c.how, c.by...), c.kind, "%s", c.name)
		}
	}, a, b)
	allowedPuts(rig, a, b, at)
	rig.ok(errors.Join(a.Free(), b.Free(), at.Free()))
	rig.is(rig.q.Put(one, bytesIn(b, 4), ints(0, 4), device.ReduceSet, indexBy(8, 1)...), device.ErrClosed, "freed buffers")
}

// allowedPuts runs empty puts, and puts just within the rules; a and b hold the same bytes.
func allowedPuts(rig rig, a, b, at device.Buffer) {
	data := rig.bytes(a)
	one, four := repeated(a, layout.Uint8, 4), operand(at, layout.Int64, dense(0, 4))
	before := rig.dev.Stats()
	rig.ok(rig.q.Put(bytesIn(a, 0), bytesIn(b, 0), operand(at, layout.Int64, dense(0, 0)), device.ReduceSet, indexBy(0, 1)...))
	nothing := []layout.Index{{OutOfRange: layout.OutOfRangeSkip, Stride: 1}, {Extent: 2, Stride: 1}}
	empty := rig.buffer(nil)
	for how := device.ReduceSet; how <= device.ReduceMax; how++ {
		rig.ok(rig.q.Put(one, bytesIn(b, 4), four, how, nothing...))
		rig.ok(rig.q.Put(bytesIn(empty, 4), bytesIn(b, 4), four, how, nothing[:1]...)) // to a table without rows
	}
	// Sums of floats are computed in order, by other kernels.
	floats := repeated(a, layout.Float32, 4)
	rig.ok(rig.q.Put(floats, operand(b, layout.Float32, dense(0, 4)), four, device.ReduceAdd, nothing...))
	if after := rig.dev.Stats(); after.Launches != before.Launches {
		rig.Error("an empty put was launched")
	}
	rig.ok(errors.Join(rig.q.Wait(), empty.Free()))
	if !bytes.Equal(rig.bytes(a), data) {
		rig.Error("a put to nowhere changed a buffer")
	}
	before = rig.dev.Stats()
	rig.ok(rig.q.Put(one, operand(a, layout.Uint8, dense(8, 4)), four, device.ReduceSet, indexBy(8, 1)...))
	if after := rig.dev.Stats(); after.Launches != before.Launches+1 || after.DeviceToDevice != before.DeviceToDevice+4 {
		rig.Errorf("a put of 4 bytes took the stats from %+v to %+v", before, after)
	}
	if got := rig.bytes(a); !bytes.Equal(got[:4], data[8:12]) || !bytes.Equal(got[4:], data[4:]) {
		rig.Error("a put within one buffer is wrong")
	}
}

// putOrder checks that puts keep the order of their queue, and that an index out of range is
// reported as a put's, or, if it is to be skipped or clamped, not at all.
func (r runner) putOrder(t *testing.T) {
	rig := r.rig(t)
	const n = 16
	to := func(b device.Buffer) device.Operand {
		return operand(b, layout.Uint8, strided([]int64{n}, []int64{0}, 0))
	}
	row := func(b device.Buffer) device.Operand { return operand(b, layout.Uint8, dense(0, n)) }
	ints := func(b device.Buffer) device.Operand { return operand(b, layout.Int64, dense(0, n)) }
	by := layout.Index{Extent: n, Stride: 1}
	shift := make([]int64, n)
	for i := range shift {
		shift[i] = int64(i+1)%n - n
	}
	a, b := rig.buffer(noise(n, 1)), rig.buffer(make([]byte, n))
	want := noise(n, 1)
	for i := range 4 {
		src, dst := a, b
		if i%2 == 1 {
			src, dst = b, a
		}
		own := rig.indices(shift...) // freed before it is waited for
		rig.ok(rig.q.Put(to(dst), row(src), ints(own), device.ReduceSet, by))
		rig.ok(own.Free())
		want = append([]byte{want[n-1]}, want[:n-1]...)
	}
	if !bytes.Equal(rig.bytes(a), want) {
		rig.Error("puts were not done in order")
	}

	shift[5] = n + 3
	wrong := rig.indices(shift...)
	told := rig.q.Put(to(b), row(a), ints(wrong), device.ReduceSet, by)
	if told == nil {
		told = rig.q.Wait()
	}
	rig.is(told, device.ErrInvalid, "an index out of range")
	if told != nil && !bytes.HasPrefix([]byte(told.Error()), []byte("Put")) {
		rig.Errorf("a put's index out of range is told as %v", told)
	}
	want = append([]byte{want[n-1]}, want[:n-1]...)
	last := want[6]
	want[6] = noise(n, 1)[3] // its content after three puts
	if got := rig.left(b); !bytes.Equal(got, want) {
		rig.Errorf("after a wrong index dst is %v, want %v", got, want)
	}
	rig.ok(rig.q.Write(b, 0, want)) // it is right again
	by.OutOfRange = layout.OutOfRangeSkip
	rig.ok(rig.q.Put(to(b), row(a), ints(wrong), device.ReduceSet, by))
	rig.ok(rig.q.Wait())
	if !bytes.Equal(rig.bytes(b), want) {
		rig.Error("an index that is skipped has changed something")
	}
	by.OutOfRange = layout.OutOfRangeClamp
	clamped := rig.indices(n+3, -1000, n+3, -1000, n+3, -1000, n+3, -1000, n+3, -1000, n+3, -1000, n+3, -1000, n+3, -1000)
	rig.ok(rig.q.Fill(row(a), []byte{last}))
	ends := int64(n)
	if r.Once {
		ends = 2
	}
	rig.ok(rig.q.Put(operand(b, layout.Uint8, strided([]int64{ends}, []int64{0}, 0)), operand(a, layout.Uint8, dense(0, ends)),
		operand(clamped, layout.Int64, dense(0, ends)), device.ReduceSet, by))
	rig.ok(rig.q.Wait())
	want[0], want[n-1] = last, last
	if !bytes.Equal(rig.bytes(b), want) {
		rig.Error("indices that are clamped are not put to the ends")
	}
	rig.ok(errors.Join(a.Free(), b.Free(), wrong.Free(), clamped.Free()))
}
