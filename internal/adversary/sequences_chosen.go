package adversary

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// condition makes a bool tensor on the stream of another, which broadcasts to its shape.
func (s *sequence) condition(h *handle) (*tensor.Tensor, ndarray.Array, error) {
	dims := slices.Clone(h.where.Dims[s.rng.IntN(len(h.where.Dims)+1):])
	for i := range dims {
		if s.rng.IntN(4) == 0 {
			dims[i] = 1
		}
	}
	a := ndarray.Each(dims, func([]int64) string { return s.element(layout.Bool) })
	x, err := a.Upload(h.x.Stream(), layout.Bool)
	return x, a.Expand(h.where.Dims...), err
}

// choose makes a tensor from elements of two.
func (s *sequence) choose(h *handle) error {
	other, err := s.random(h.x.Stream(), h.of, h.where.Dims)
	if err != nil {
		return err
	}
	cond, set, err := s.condition(h)
	if err != nil {
		return err
	}
	defer cond.Release()
	s.note("Where of %v and %v by %v", h, other, cond.Layout())
	want := h.array()
	for i, e := range other.array().Elems {
		if set.Elems[i] == "\x00" {
			want.Elems[i] = e
		}
	}
	y, err := tensor.Where(cond, h.x, other.x)
	if err != nil {
		return err
	}
	_, err = s.fresh(y, h.of, want)
	return err
}

// fillWhere sets elements of a tensor to one.
func (s *sequence) fillWhere(h *handle) error {
	value, err := s.random(h.x.Stream(), h.of, []int64{})
	if err != nil {
		return err
	}
	cond, set, err := s.condition(h)
	if err != nil {
		return err
	}
	defer cond.Release()
	s.note("FillWhere of %v by %v", h, cond.Layout())
	var kind error
	if !distinct(h.where, nil) {
		kind = device.ErrInvalid
	}
	to := h.array()
	for i := range to.Elems {
		if set.Elems[i] != "\x00" {
			to.Elems[i] = value.array().Elems[0]
		}
	}
	err = s.write(func() error { return h.x.FillWhere(cond, value.x) })
	if err := expect(err, kind); err != nil || kind != nil {
		return err
	}
	h.set(h.where, to)
	return nil
}

// put sets slices of a tensor along an axis, by indices on the host or on the device.
func (s *sequence) put(h *handle) error {
	if len(h.where.Dims) == 0 || len(h.where.Elems) == 0 || !distinct(h.where, nil) {
		return nil
	}
	axis := s.rng.IntN(len(h.where.Dims))
	n := h.where.Dims[axis]
	var kept, indices []int64
	for _, i := range s.rng.Perm(int(n))[:s.rng.Int64N(min(n, 4)+1)] {
		kept = append(kept, int64(i))
		indices = append(indices, int64(i)-n*s.rng.Int64N(2))
	}
	into := h.where.Take(axis, kept)
	src, err := s.random(h.x.Stream(), h.of, into.Dims)
	if err != nil {
		return err
	}
	on := h.x.Stream()
	if s.rng.IntN(2) == 0 {
		on = tensor.Host()
	}
	at, err := tensor.FromSlice(on, indices, int64(len(indices)))
	if err != nil {
		return err
	}
	defer at.Release()
	s.note("Put of %v to %v along axis %d, at %v", src, h, axis, indices)
	if err := s.write(func() error { return h.x.Put(axis, at, src.x, device.ReduceSet, layout.OutOfRangeError) }); err != nil {
		return err
	}
	h.set(into, src.array())
	return nil
}
