package adversary

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/fraction"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// make makes a tensor of zeros or of random elements, on any stream.
func (s *sequence) make() error {
	of := layout.DTypes()[s.rng.IntN(26)]
	stream := s.streams[s.rng.IntN(3)]
	if of == layout.String && !stream.Device().Info().Strings {
		stream = tensor.Host()
	}
	shapes := [][]int64{{2, 3, 4}, {5, 7}, {}, {0, 3}, {13}, {2, 1, 3, 1, 2}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 3}, {33, 17}}
	dims := shapes[s.rng.IntN(len(shapes))]
	if s.rng.IntN(4) == 0 {
		s.note("New %v%v", of, dims)
		x, err := tensor.New(stream, of, dims...)
		if err != nil {
			return err
		}
		a := ndarray.Each(dims, func([]int64) string { return ndarray.Zero(of) })
		_, err = s.add(x, of, &cells{a.Elems}, run(dims))
		return err
	}
	_, err := s.random(stream, of, dims)
	return err
}

// random makes a tensor of random elements.
func (s *sequence) random(stream *tensor.Stream, of layout.DType, dims []int64) (*handle, error) {
	a := ndarray.Each(dims, func([]int64) string { return s.element(of) })
	s.note("%v%v of random elements", of, dims)
	x, err := a.Upload(stream, of)
	if err != nil {
		return nil, err
	}
	return s.fresh(x, of, a)
}

// element is a random element.
func (s *sequence) element(of layout.DType) string {
	switch bits := of.Bits(); {
	case of == layout.String:
		return []string{"", "a", "é", "\x00", "longer than others"}[s.rng.IntN(5)]
	case of == layout.Bool:
		return string([]byte{byte(s.rng.IntN(2))})
	case bits < 8:
		return string([]byte{byte(s.rng.IntN(1 << bits))})
	default:
		return string(append(le(s.rng.Uint64(), 8), le(s.rng.Uint64(), 8)...)[:bits/8])
	}
}

// walk is a step that is valid for any array, sometimes where copies are forbidden.
func (s *sequence) walk(h *handle) error {
	next := ndarray.RandomStep(s.rng, h.where)
	forbid := s.rng.IntN(4) == 0
	s.note("%s of %v (copies forbidden: %v)", next.Name, h, forbid)
	if len(next.Want.Elems) > mostElements {
		return nil
	}
	mustView := next.View || affine(next.Want) && !next.Copy
	if next.Name == "Contiguous" {
		mustView = slices.Equal(h.where.Elems, shifted(h.where))
	}
	h.x.Stream().ForbidCopies(forbid)
	y, err := next.Call(h.x)
	h.x.Stream().ForbidCopies(false)
	if forbid && !mustView && !next.Copy {
		return refuse(y, err, tensor.ErrCopy)
	}
	if err != nil {
		return err
	}
	v := y.Verdict()
	if shares := y.Buffer() == h.x.Buffer(); shares != (v.Kind == tensor.View) || mustView != shares || v.Kind == tensor.Transfer {
		return errors.Join(fmt.Errorf("the verdict is %v; it shares the memory: %v, and must: %v", v, shares, mustView), y.Release())
	}
	if size, err := y.Shape().Bytes(h.of); err == nil && !mustView && v.Bytes != size { // strings have no size
		return errors.Join(fmt.Errorf("the verdict is %v; %d bytes were copied", v, size), y.Release())
	}
	if mustView {
		_, err = s.add(y, h.of, h.mem, next.Want)
	} else {
		_, err = s.fresh(y, h.of, (&handle{mem: h.mem, where: next.Want}).array())
	}
	return err
}

// shifted is the positions of a run that starts where w does.
func shifted(w ndarray.Array) []string {
	at := make([]int64, len(w.Elems))
	for i := range at {
		at[i] = position(w.Elems[0]) + int64(i)
	}
	return ndarray.Ints(at...).Elems
}

// copyFrom writes to a tensor, mostly a source that fits.
func (s *sequence) copyFrom(h *handle) error {
	src := s.pick()
	var err error
	if s.rng.IntN(3) > 0 {
		if src, err = s.random(h.x.Stream(), h.of, h.where.Dims); err != nil {
			return err
		}
	}
	if src.of != h.of {
		return nil // bits of other types: bools must be 0 or 1
	}
	s.note("CopyFrom %v to %v, of one memory: %v", src, h, src.mem == h.mem)
	var others []string
	if src.mem == h.mem {
		others = src.where.Elems
	}
	var kind error
	if h.x.Stream().Device() != src.x.Stream().Device() || !slices.Equal(h.where.Dims, src.where.Dims) || !distinct(h.where, others) {
		kind = device.ErrInvalid
	}
	was := src.array()
	if err := expect(s.write(func() error { return h.x.CopyFrom(src.x) }), kind); err != nil || kind != nil {
		return err
	}
	h.set(h.where, was)
	return nil
}

// set changes elements of the model's memory.
func (h *handle) set(where, to ndarray.Array) {
	for i, p := range where.Elems {
		h.mem.elems[position(p)] = to.Elems[i]
	}
}

// part is some elements of a tensor: along an axis, or everything.
type part struct {
	axis       int
	start, end int64
	step       int64
	positions  ndarray.Array
}

func (s *sequence) part(where ndarray.Array) part {
	if len(where.Dims) == 0 || s.rng.IntN(4) == 0 {
		return part{axis: -1, positions: where}
	}
	p := part{axis: s.rng.IntN(len(where.Dims)), step: 1 + s.rng.Int64N(3)}
	n := where.Dims[p.axis]
	p.start, p.end = s.rng.Int64N(n+1), s.rng.Int64N(n+2)
	if s.rng.IntN(2) == 0 {
		p.start, p.end, p.step = p.end, p.start-n-1, -p.step
	}
	p.positions = where.Take(p.axis, ndarray.Sliced(n, p.start, p.end, p.step))
	return p
}

func (p part) of(l layout.Layout) (layout.Layout, error) {
	if p.axis < 0 {
		return l, nil
	}
	return l.Slice(p.axis, p.start, p.end, p.step)
}

// overwrite sets a part of a tensor: to an element, to a tensor, to another part.
func (s *sequence) overwrite(h *handle) error {
	into := s.part(h.where)
	p := tensor.Part{Into: into.of}
	var others []string
	to := ndarray.Array{Dims: into.positions.Dims}
	same := true
	switch s.rng.IntN(3) {
	case 0:
		e := s.element(h.of)
		p.Fill = []byte(e)
		to.Elems = slices.Repeat([]string{e}, len(into.positions.Elems))
	case 1:
		src, err := s.random(h.x.Stream(), h.of, into.positions.Dims)
		if err != nil {
			return err
		}
		p.Src, to = src.x, src.array()
	default:
		from := s.part(h.where)
		p.From = from.of
		others = from.positions.Elems
		to = (&handle{mem: h.mem, where: from.positions}).array()
		same = slices.Equal(from.positions.Dims, into.positions.Dims)
	}
	s.note("Overwrite of %v at axis %d [%d:%d:%d]", h, into.axis, into.start, into.end, into.step)
	var kind error
	if !same || !distinct(into.positions, others) {
		kind = device.ErrInvalid
	}
	var y *tensor.Tensor
	err := s.write(func() (err error) {
		y, err = h.x.Overwrite("Overwrite", p)
		return err
	})
	if kind != nil {
		return refuse(y, err, kind)
	}
	if err != nil {
		return err
	}
	h.set(into.positions, to)
	if y.Buffer() != h.x.Buffer() {
		return errors.Join(errors.New("the result of Overwrite has other memory"), y.Release())
	}
	_, err = s.add(y, h.of, h.mem, h.where)
	return err
}

// assemble makes a tensor of a filled whole, and of another in the middle of it.
func (s *sequence) assemble(h *handle) error {
	rank := len(h.where.Dims)
	if rank == 0 || ndarray.Count(h.where.Dims) > mostElements/4 {
		return nil
	}
	axis, before, after := s.rng.IntN(rank), s.rng.Int64N(3), s.rng.Int64N(3)
	e := s.element(h.of)
	pads := make([]int64, 2*rank)
	pads[axis], pads[rank+axis] = before, after
	want := h.array().Padded("constant", pads, e)
	n := h.where.Dims[axis]
	s.note("Assemble around %v along axis %d", h, axis)
	y, err := tensor.Assemble(h.x.Stream(), "Assemble", h.of, want.Dims, tensor.Part{Fill: []byte(e)}, tensor.Part{
		Into: func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, before, before+n, 1) }, Src: h.x,
	})
	if err != nil {
		return err
	}
	if len(want.Elems) == 0 { // nothing was copied
		_, err = s.add(y, h.of, &cells{}, run(want.Dims))
		return err
	}
	_, err = s.fresh(y, h.of, want)
	return err
}

// convert casts, packs or unpacks.
func (s *sequence) convert(h *handle) error {
	to := layout.DTypes()[s.rng.IntN(26)]
	isNumber := func(t layout.DType) bool { return slices.Contains(numbers(), t) }
	var how device.Rounding
	call := func() (*tensor.Tensor, error) { return h.x.Cast(to, how) }
	each := func(pattern uint64) uint64 { return fraction.Cast(to, h.of, pattern, how) }
	switch c := h.of.Container(); {
	case c != layout.Invalid && s.rng.IntN(2) == 0:
		to, call = c, h.x.Unpack
		each = func(pattern uint64) uint64 {
			if numeric.KindOf(h.of) == numeric.IntKind && pattern>>(h.of.Bits()-1) == 1 {
				pattern |= 0xff << h.of.Bits() & 0xff
			}
			return pattern
		}
	case to.Container() == h.of:
		call = func() (*tensor.Tensor, error) { return h.x.Pack(to) }
		each = func(pattern uint64) uint64 { return pattern & (1<<to.Bits() - 1) }
	case !isNumber(h.of) || !isNumber(to) || to == h.of:
		return nil
	}
	s.note("%v as %v", h, to)
	a := h.array()
	for i, e := range a.Elems {
		var raw [8]byte
		copy(raw[:], e)
		a.Elems[i] = string(le(each(le64(raw)), max(to.Bits()/8, 1)))
	}
	y, err := call()
	if err != nil {
		return err
	}
	_, err = s.fresh(y, to, a)
	return err
}

// gather takes along an axis, with indices on the host or on the device.
func (s *sequence) gather(h *handle) error {
	rank := len(h.where.Dims)
	if rank == 0 || ndarray.Count(h.where.Dims) == 0 {
		return nil
	}
	axis := s.rng.IntN(rank)
	n := h.where.Dims[axis]
	indices := make([]int64, 1+s.rng.IntN(4))
	for i := range indices {
		indices[i] = s.rng.Int64N(2*n) - n
	}
	steady := s.rng.IntN(2) == 0
	if steady {
		indices = ndarray.Sliced(n, s.rng.Int64N(n), s.rng.Int64N(n+1), 1)
		if len(indices) == 0 {
			indices = []int64{n - 1}
		}
	}
	kept := make([]int64, len(indices))
	for i, k := range indices {
		kept[i] = (k + n) % n
	}
	want := h.where.Take(axis, kept)
	if len(want.Elems) > mostElements {
		return nil
	}
	on := s.streams[s.rng.IntN(3)]
	far := on != tensor.Host()
	if far {
		on = h.x.Stream()
	}
	wrong := !far && s.rng.IntN(4) == 0
	if wrong {
		indices[s.rng.IntN(len(indices))] = []int64{n, -n - 1, 1 << 62, -1 << 63}[s.rng.IntN(4)]
	}
	s.note("Gather %v of %v along axis %d, indices on the host: %v", indices, h, axis, !far)
	at, err := tensor.FromSlice(on, indices)
	if err != nil {
		return err
	}
	defer at.Release()
	y, err := h.x.Gather(axis, at, layout.OutOfRangeError)
	if wrong {
		return refuse(y, err, device.ErrInvalid)
	}
	if err != nil {
		return err
	}
	isView := y.Verdict().Kind == tensor.View
	if isView != (y.Buffer() == h.x.Buffer()) || on == tensor.Host() && steady && !isView {
		return errors.Join(fmt.Errorf("the verdict is %v, shared memory: %v", y.Verdict(), y.Buffer() == h.x.Buffer()), y.Release())
	}
	if isView {
		_, err = s.add(y, h.of, h.mem, want)
		return err
	}
	_, err = s.fresh(y, h.of, (&handle{mem: h.mem, where: want}).array())
	return err
}

// to moves a tensor to another stream: on the same device, it is a view.
func (s *sequence) to(h *handle) error {
	stream := s.streams[s.rng.IntN(3)]
	s.note("%v to stream %d", h, slices.Index(s.streams, stream))
	y, err := h.x.To(stream)
	if h.of == layout.String && !stream.Device().Info().Strings {
		return refuse(y, err, device.ErrUnsupported)
	}
	if err != nil {
		return err
	}
	if y.Stream() != stream {
		return errors.Join(errors.New("it is on another stream"), y.Release())
	}
	if h.x.Stream().Device() != stream.Device() {
		_, err = s.fresh(y, h.of, h.array())
		return err
	}
	if y.Verdict().Kind != tensor.View || y.Buffer() != h.x.Buffer() {
		return errors.Join(fmt.Errorf("on the same device: %v", y.Verdict()), y.Release())
	}
	_, err = s.add(y, h.of, h.mem, h.where)
	return err
}

// release releases a tensor, and uses a released one.
func (s *sequence) release() error {
	i := s.rng.IntN(len(s.live))
	h := s.live[i]
	s.note("Release %v", h)
	s.live = slices.Delete(s.live, i, i+1)
	s.gone = append(s.gone, h)
	if err := h.x.Release(); err != nil {
		return err
	}
	h = s.gone[s.rng.IntN(len(s.gone))]
	if err := h.x.Release(); err != nil {
		return fmt.Errorf("a second Release: %w", err)
	}
	y, err := ndarray.RandomStep(s.rng, h.where).Call(h.x)
	if err := refuse(y, err, tensor.ErrReleased); err != nil {
		return err
	}
	_, err = h.x.To(tensor.Host())
	return errors.Join(expect(err, tensor.ErrReleased), expect(h.x.CopyFrom(h.x), tensor.ErrReleased))
}

// invalid makes a call that breaks a rule.
func (s *sequence) invalid(h *handle) error {
	rank, n := len(h.where.Dims), int64(len(h.where.Elems))
	calls := []struct {
		name string
		call func() (*tensor.Tensor, error)
	}{
		{"Transpose", func() (*tensor.Tensor, error) { return h.x.Transpose(make([]int, rank+1)...) }},
		{"Transpose", func() (*tensor.Tensor, error) { return h.x.Transpose(slices.Repeat([]int{-1}, rank+2)...) }},
		{"Slice", func() (*tensor.Tensor, error) { return h.x.Slice(rank, 0, 1, 1) }},
		{"Slice", func() (*tensor.Tensor, error) { return h.x.Slice(0, 0, 1, 0) }},
		{"Reshape", func() (*tensor.Tensor, error) { return h.x.Reshape(n + 1) }},
		{"Reshape", func() (*tensor.Tensor, error) { return h.x.Reshape(-1, -1) }},
		{"Reshape", func() (*tensor.Tensor, error) { return h.x.Reshape(1<<62, 1<<62, n+1) }},
		{"Expand", func() (*tensor.Tensor, error) { return h.x.Expand(append(slices.Clone(h.where.Dims), -1)...) }},
		{"Squeeze", func() (*tensor.Tensor, error) { return h.x.Squeeze(rank) }},
		{"Unsqueeze", func() (*tensor.Tensor, error) { return h.x.Unsqueeze(rank + 1) }},
		{"Unsqueeze", func() (*tensor.Tensor, error) { return h.x.Unsqueeze(0, 0) }},
		{"Flatten", func() (*tensor.Tensor, error) { return h.x.Flatten(rank + 1) }},
		{"Gather", func() (*tensor.Tensor, error) { return h.x.Gather(0, nil, layout.OutOfRangeError) }},
		{"Cast", func() (*tensor.Tensor, error) { return h.x.Cast(layout.DType(99), device.Rounding{}) }},
		{"Pack", func() (*tensor.Tensor, error) { return h.x.Pack(layout.Float32) }},
		{"New", func() (*tensor.Tensor, error) { return tensor.New(h.x.Stream(), h.of, 3, -1) }},
		{"Read", func() (*tensor.Tensor, error) { return nil, h.x.ReadInto(make([]byte, 1<<16)) }},
		{"Read", func() (*tensor.Tensor, error) { return nil, h.x.ReadInto(nil) }},
	}
	c := calls[s.rng.IntN(len(calls))]
	s.note("an invalid %s of %v", c.name, h)
	y, err := c.call()
	if err := refuse(y, err, device.ErrInvalid); err != nil {
		return err
	}
	return h.compare()
}

// together reads all tensors at once, and makes and releases views of them.
func (s *sequence) together() error {
	s.note("all at once")
	var wg sync.WaitGroup
	errs := make([]error, len(s.live))
	for i, h := range s.live {
		wg.Go(func() {
			y, err := h.x.Transpose()
			if err == nil {
				err = errors.Join(h.compare(), y.Release())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
