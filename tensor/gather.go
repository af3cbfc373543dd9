package tensor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/layout"
)

// Gather selects elements along an axis by indices: an int32 or int64 tensor of any shape, whose
// axes replace the axis in the result's shape. Negative indices count from the end.
//
// The result is a view if the indices are on Host and have a constant step (one index; every
// second; all of them backwards). Otherwise it is a copy on t's device, after a transfer of the
// indices if they are elsewhere.
//
// With layout.OutOfRangeError, an index out of range is device.ErrInvalid, and with
// layout.OutOfRangeStrict a negative one, too. The error is immediate if the indices are on Host
// or the device's memory is the host's; otherwise every read of the result, or of anything
// computed from it, returns it (see device.Queue). Other policies work on the device without a
// wait: layout.OutOfRangeSkip makes the element zero (or the empty string),
// layout.OutOfRangeClamp and layout.OutOfRangeClampZero use the nearest index in range. On an
// axis without elements all indices are out of range, and none is nearest: that is
// device.ErrInvalid, unless they are skipped.
func (t *Tensor) Gather(axis int, indices *Tensor, policy layout.OutOfRange) (*Tensor, error) {
	g, err := t.gatheringOf("Gather", axis, indices)
	if err != nil {
		return nil, err
	}
	return t.gather(&g, indices, policy)
}

// gatheringOf returns the gathering of Gather.
func (t *Tensor) gatheringOf(op string, axis int, indices *Tensor) (gathering, error) {
	at, err := t.checkIndexed(op, axis, indices)
	if err != nil {
		return gathering{}, err
	}
	dims, strides := t.layout.Shape(), t.layout.Strides()
	q := indices.Rank()
	g := gathering{
		op: op, origin: t.layout.Offset(), last: -1,
		shape:   slices.Concat(dims[:at], indices.Shape(), dims[at+1:]),
		strides: slices.Concat(strides[:at], make([]int64, q), strides[at+1:]),
		by:      []layout.Index{{Extent: dims[at], Stride: strides[at]}},
	}
	g.axes = make([]int, len(g.shape))
	for i := range g.axes {
		if g.axes[i] = -1; i >= at && i < at+q {
			g.axes[i] = i - at
		}
	}
	return g, nil
}

// TakeAlong selects one element of t for each index of indices, an int32 or int64 tensor of t's
// rank: the index gives the position along the given axis, and its own position the others. On
// the other axes indices may be shorter than t. Gather's rules for indices and result hold.
func (t *Tensor) TakeAlong(axis int, indices *Tensor, policy layout.OutOfRange) (*Tensor, error) {
	g, err := t.gatheringAlong("TakeAlong", axis, indices)
	if err != nil {
		return nil, err
	}
	return t.gather(&g, indices, policy)
}

// gatheringAlong returns the gathering of TakeAlong.
func (t *Tensor) gatheringAlong(op string, axis int, indices *Tensor) (gathering, error) {
	at, err := t.checkIndexed(op, axis, indices)
	if err != nil {
		return gathering{}, err
	}
	dims := indices.Shape()
	if len(dims) != t.Rank() {
		return gathering{}, t.fail(op, layout.Errorf(device.ErrInvalid, op, "indices have the shape %v; they must have as many axes as the elements", dims))
	}
	g := gathering{op: op, origin: t.layout.Offset(), last: -1, shape: dims, strides: t.layout.Strides(), axes: make([]int, len(dims))}
	for i, n := range dims {
		g.axes[i] = i
		if i != at && n > t.layout.Dim(i) {
			return gathering{}, t.fail(op, layout.Errorf(device.ErrInvalid, op, "indices have the shape %v; on axis %d they must not be longer than the elements", dims, i))
		}
	}
	g.by = []layout.Index{{Extent: t.layout.Dim(at), Stride: g.strides[at]}}
	g.strides[at] = 0
	return g, nil
}

// GatherND selects slices of t by tuples of indices. The last axis of indices, an int32 or int64
// tensor, holds a tuple: one index for each of t's axes from batch on, or for the first of these.
// The batch axes before, which must be the same in t and indices, are matched. The result has the
// axes of indices except the last, then t's axes that have no index. Gather's rules for indices
// and result hold.
func (t *Tensor) GatherND(batch int, indices *Tensor, policy layout.OutOfRange) (*Tensor, error) {
	g, err := t.gatheringND("GatherND", batch, indices)
	if err != nil {
		return nil, err
	}
	return t.gather(&g, indices, policy)
}

// gatheringND returns the gathering of GatherND.
func (t *Tensor) gatheringND(op string, batch int, indices *Tensor) (gathering, error) {
	fail := func(format string, args ...any) (gathering, error) {
		return gathering{}, t.fail(op, layout.Errorf(device.ErrInvalid, op, format, args...))
	}
	if err := t.checkIndices(op, indices); err != nil {
		return gathering{}, err
	}
	dims, strides, tuples := t.layout.Shape(), t.layout.Strides(), indices.Shape()
	last := len(tuples) - 1
	switch {
	case len(dims) == 0 || last < 0:
		return fail("indices have the shape %v; both sides must have axes", tuples)
	case batch < 0 || batch >= min(len(dims), len(tuples)):
		return fail("%d batch axes; there must be less than axes on either side, and indices have the shape %v", batch, tuples)
	case !slices.Equal(dims[:batch], tuples[:batch]):
		return fail("indices have the shape %v; the first %d axes must be the same", tuples, batch)
	}
	n := tuples[last]
	if n < 1 || n > int64(len(dims)-batch) {
		return fail("indices have the shape %v: tuples of %d for %d axes", tuples, n, len(dims)-batch)
	}
	rest := batch + int(n) // the first axis that has no index
	g := gathering{
		op: op, origin: t.layout.Offset(), last: last,
		shape:   slices.Concat(tuples[:last], dims[rest:]),
		strides: slices.Concat(strides[:batch], make([]int64, last-batch), strides[rest:]),
	}
	g.axes = make([]int, len(g.shape))
	for i := range g.axes {
		if g.axes[i] = i; i >= last {
			g.axes[i] = -1
		}
	}
	for k := batch; k < rest; k++ {
		g.by = append(g.by, layout.Index{Extent: dims[k], Stride: strides[k]})
	}
	return g, nil
}

func (t *Tensor) checkIndices(op string, indices *Tensor) error {
	if t == nil {
		return nilTensor(op)
	}
	if indices == nil {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "there are no indices"))
	}
	if d := indices.dtype; d != layout.Int32 && d != layout.Int64 {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "indices are %v%v; they must be int32 or int64", d, indices.Shape()))
	}
	return nil
}

// checkIndexed is checkIndices for operations that index one axis; it returns the axis.
func (t *Tensor) checkIndexed(op string, axis int, indices *Tensor) (int, error) {
	if err := t.checkIndices(op, indices); err != nil {
		return 0, err
	}
	at, err := layout.Axis(op, axis, t.Rank())
	if err != nil {
		return 0, t.fail(op, err)
	}
	return at, nil
}

// gathering describes where the elements of a result lie in t, up to what indices add.
type gathering struct {
	op      string
	shape   []int64
	strides []int64 // in t
	origin  int64
	axes    []int // for each axis of the result, the axis of indices; -1: none
	last    int   // the axis of indices that holds the tuples; -1: by is one index
	by      []layout.Index
}

// at returns the layout of the result over the memory of indices, and sets the offsets in by.
func (g *gathering) at(indices *layout.Layout) (layout.Layout, error) {
	strides := make([]int64, len(g.shape))
	for i, axis := range g.axes {
		if axis >= 0 {
			strides[i] = indices.Stride(axis)
		}
	}
	for k := range g.by {
		if g.last >= 0 {
			g.by[k].Offset = int64(k) * indices.Stride(g.last)
		}
	}
	return layout.Strided(g.shape, strides, indices.Offset())
}

// setPolicy sets the policy for indices out of range.
func (g *gathering) setPolicy(policy layout.OutOfRange) error {
	if !policy.Valid() {
		return layout.Errorf(device.ErrInvalid, g.op, "%v is given for indices out of range", policy)
	}
	for k := range g.by {
		g.by[k].OutOfRange = policy
	}
	return nil
}

// checkExtents refuses indices of an axis without elements, unless they are skipped.
func (g *gathering) checkExtents(indices *Tensor) error {
	if indices.Count() > 0 && indexing.LeadNowhere(g.by) && !g.skips() {
		return layout.Errorf(device.ErrInvalid, g.op, "there are indices of an axis of extent 0, which has no elements")
	}
	return nil
}

// skips reports whether elements with indices out of range are skipped.
func (g *gathering) skips() bool {
	return slices.ContainsFunc(g.by, func(by layout.Index) bool { return by.OutOfRange == layout.OutOfRangeSkip })
}

func (t *Tensor) gather(g *gathering, indices *Tensor, policy layout.OutOfRange) (*Tensor, error) {
	if err := g.setPolicy(policy); err != nil {
		return nil, t.fail(g.op, err)
	}
	if err := t.hold(g.op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	if err := indices.hold(g.op); err != nil {
		return nil, err
	}
	defer indices.memory.drop()
	out, err := published(t.gatherHeld(g, indices))
	if err != nil {
		return nil, layout.Named(fmt.Sprintf("%s of %v%v by %v%v", g.op, t.dtype, t.layout.Shape(), indices.dtype, indices.layout.Shape()), err)
	}
	return out, nil
}

func (t *Tensor) gatherHeld(g *gathering, indices *Tensor) (*Tensor, error) {
	count, err := layout.Shape(g.shape).Count()
	if err != nil {
		return nil, err
	}
	if err := g.checkExtents(indices); err != nil {
		return nil, err
	}
	if count == 0 {
		copied, err := t.checkUnused(g, indices)
		if err != nil {
			return nil, err
		}
		if copied == 0 {
			l, err := layout.Contiguous(g.shape...)
			return t.reference(t.stream, g.op, &l, err)
		}
		out, err := allocate(t.stream, g.op, t.dtype, g.shape)
		if err == nil {
			out.note(g.op, move{verdict: Verdict{Kind: Copy, Bytes: copied, Class: "take"}}, t)
		}
		return out, err
	}
	at, err := g.at(&indices.layout)
	if err != nil {
		return nil, err
	}
	if indices.stream == Host() {
		if raw, ok := indices.hostBytes(); ok {
			if l, ok, err := g.asView(hostIndices{raw, indices.dtype}, &at, t.stream.IsHost()); ok || err != nil {
				return t.reference(t.stream, g.op, &l, err)
			}
		}
	}
	out, err := t.takeBy(g, indices)
	if err != nil {
		return nil, err
	}
	out.note(g.op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(t.dtype, count), Class: "take"}}, t)
	return out, nil
}

// indicesHere returns the indices as an operand on t's device; free must be called once the work
// that uses them is queued.
func (t *Tensor) indicesHere(g *gathering, indices *Tensor) (at device.Operand, free func() error, err error) {
	free = func() error { return nil }
	at = device.Operand{Buffer: indices.memory.buffer, Type: indices.dtype}
	if at.Layout, err = g.at(&indices.layout); err != nil {
		return at, free, err
	}
	if t.stream.IsHost() && t.stream.dev != indices.stream.dev {
		if raw, ok := indices.hostBytes(); ok {
			if at.Buffer, err = indices.lend(t.stream, raw); err != nil {
				return at, free, err
			}
			free = at.Buffer.Free
		}
	}
	switch {
	case indices.stream.dev == t.stream.dev:
		err = indices.usedOn(t.stream)
	case at.Buffer == indices.memory.buffer:
		var moved *Tensor
		if moved, err = indices.to("To", t.stream); err != nil {
			return at, free, err
		}
		free, at.Buffer = moved.Release, moved.memory.buffer
		at.Layout, err = g.at(&moved.layout)
	}
	return at, free, err
}

// lend returns t's host memory as a buffer of a stream's device. The memory is kept until the
// buffer is freed and no work uses it, including replays.
func (t *Tensor) lend(to *Stream, raw []byte) (device.Buffer, error) {
	adopter, ok := device.As[device.HostAdopter](to.dev)
	if !ok {
		return to.host.WrapHost(raw), nil
	}
	if err := t.hold("lend"); err != nil {
		return nil, err
	}
	b, err := adopter.AdoptHost(raw, func() { _ = t.memory.drop() })
	if err != nil {
		return nil, errors.Join(err, t.memory.drop())
	}
	return b, nil
}

// takeBy returns a new tensor of the elements that indices select.
func (t *Tensor) takeBy(g *gathering, indices *Tensor) (*Tensor, error) {
	at, free, err := t.indicesHere(g, indices)
	if err != nil {
		return nil, errors.Join(err, free())
	}
	out, err := t.takeAt(g, at)
	if e := free(); err == nil && e != nil {
		return nil, errors.Join(e, out.Release())
	}
	return out, err
}

// takeAt is takeBy with indices on t's device.
func (t *Tensor) takeAt(g *gathering, at device.Operand) (*Tensor, error) {
	src := t.Operand()
	var err error
	if src.Layout, err = layout.Strided(g.shape, g.strides, g.origin); err != nil {
		return nil, err
	}
	out, err := allocate(t.stream, g.op, t.dtype, g.shape)
	if err != nil {
		return nil, err
	}
	if g.skips() && t.dtype != layout.String { // new ones are empty
		err = t.stream.queue.Fill(out.Operand(), make([]byte, (t.dtype.Bits()+7)/8))
	}
	if err == nil {
		err = t.stream.queue.Take(out.Operand(), src, at, g.by...)
	}
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

// checkUnused checks the indices of a result without elements: on the host, or by a take of one
// byte for each index or tuple in memory. It returns the number of bytes copied.
func (t *Tensor) checkUnused(g *gathering, indices *Tensor) (copied int64, err error) {
	if indices.Count() == 0 || !slices.ContainsFunc(g.by, func(by layout.Index) bool { return by.OutOfRange.Fails() }) {
		return 0, nil
	}
	shape := indices.Shape()
	if g.last >= 0 {
		shape = shape[:g.last]
	}
	bytes := gathering{op: g.op, shape: shape, strides: make([]int64, len(shape)), last: g.last}
	for i := range shape {
		bytes.axes = append(bytes.axes, i)
		if indices.layout.Stride(i) == 0 { // repeated: check one
			shape[i] = 1
		}
	}
	for _, by := range g.by {
		bytes.by = append(bytes.by, layout.Index{Extent: by.Extent, OutOfRange: by.OutOfRange})
	}
	at, err := bytes.at(&indices.layout)
	if err != nil {
		return 0, err
	}
	if raw, ok := indices.hostBytes(); ok {
		_, _, err := bytes.asView(hostIndices{raw, indices.dtype}, &at, false)
		return 0, err
	}
	if indices.stream.IsHost() { // a plan, without the values
		return 0, nil
	}
	one, err := allocate(t.stream, g.op, layout.Uint8, nil)
	if err != nil {
		return 0, err
	}
	defer one.Release()
	if err := t.stream.queue.Fill(one.Operand(), []byte{0}); err != nil {
		return 0, err
	}
	taken, err := one.takeBy(&bytes, indices)
	if err != nil {
		return 0, err
	}
	return 1 + taken.Count(), taken.Release()
}
