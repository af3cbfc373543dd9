package onnx

import (
	"math"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	d := definition{inputs: arity{2, 3}, either: 1 << 2, dataFirst: true, overwrites: true, attrs: []string{"mode", "axis"}, prepare: prepareTensorScatter}
	register("TensorScatter", d.versions(change{24, types24}))
}

func prepareTensorScatter(d *definition, attrs Attrs) (kernel, error) {
	mode, err := attrs.StrOr("mode", "linear")
	if err != nil {
		return nil, err
	}
	if mode != "linear" && mode != "circular" {
		return nil, d.invalid("mode %s: it must be linear or circular", quote.Name(mode))
	}
	axis, err := attrs.IntOr("axis", -2)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		update, err := c.tensor(1, "the update")
		if err != nil {
			return err
		}
		at, err := c.d.axis(axis, c.x.Rank(), c.x.Rank()-1)
		if err != nil {
			return err
		}
		if at == 0 {
			return c.d.invalid("axis %d is axis 0, of the batches: it must be another", axis)
		}
		if err := c.checkUpdate(update, at); err != nil {
			return err
		}
		if mode == "linear" && c.has(2) && update.Count() > 0 {
			where, err := c.tensor(2, "write_indices")
			if err != nil {
				return err
			}
			if where.Stream() != tensor.Host() {
				return c.tensorScatterAt(update, where, at)
			}
		}
		var indices []int64
		if c.has(2) {
			where, err := c.tensor(2, "write_indices")
			if err == nil {
				err = c.await(where)
			}
			if err == nil {
				indices, err = c.ints([]int64{}, 2, "write_indices", false)
			}
			if err != nil {
				return err
			}
			c.moved(where, tensor.Host())
		}
		return c.tensorScatter(update, indices, at, mode == "circular")
	}, nil
}

// tensorScatterAt is tensorScatter with linear indices on the device, which the host does
// not read.
func (c *call) tensorScatterAt(update, indices *tensor.Tensor, at int) error {
	if indices.DType() != layout.Int64 {
		return c.d.invalid("write_indices is %v; it must be int64", indices.DType())
	}
	if n := c.x.Dim(0); indices.Rank() != 1 || indices.Dim(0) != n {
		return c.d.invalid("write_indices has shape %v; it must have one axis, with an index for each of %d batches", indices.Shape(), n)
	}
	return c.scatter(indices, update, func(y, indices, update *tensor.Tensor) error {
		return y.PutSlices(at, indices, update)
	})
}

// tensorScatter makes the cache with an update in it. In batch i (index i of axis 0) the
// update starts at indices[i]; nil indices are zeros, and circular indices wrap at the end
// of the axis. The output is a copy unless a session may write to the cache, or nothing is
// written.
func (c *call) tensorScatter(update *tensor.Tensor, indices []int64, at int, circular bool) error {
	cache := c.x
	s := scatter{axis: at, length: update.Dim(at), room: cache.Dim(at), circular: circular}
	if err := c.checkIndices(&s, indices); err != nil {
		return err
	}
	if update.Count() == 0 {
		return c.set(cache.WithLayout(c.d.name, cache.Layout()))
	}
	both := []*tensor.Tensor{cache, update}
	if err := c.together(both); err != nil {
		return err
	}
	if err := c.take(2 * int64(len(s.indices)) * partBytes); err != nil {
		return err
	}
	parts := s.writes(both[1])
	if both[0] == cache && c.mayWrite(cache, update) {
		c.parts = len(parts)
		return c.set(cache.Overwrite(c.d.name, parts...))
	}
	if s.length < s.room { // otherwise nothing of the cache is left
		parts = append([]tensor.Part{{Src: both[0]}}, parts...)
	}
	return c.assemble(both[0].Stream(), cache.DType(), cache.Shape(), parts...)
}

// mayWrite reports whether the update can go directly into the cache. An update that shares
// the cache's buffer cannot. An output that is written into its user's output does not need
// the cache.
func (c *call) mayWrite(cache, update *tensor.Tensor) bool {
	return !c.mayDefer && c.overwritable(0) && cache.Buffer() != update.Buffer()
}

// checkUpdate checks the type and the shape of an update.
func (c *call) checkUpdate(update *tensor.Tensor, axis int) error {
	cache, shape := c.x.Shape(), update.Shape()
	if update.DType() != c.x.DType() {
		return c.d.invalid("the update is %v%v; it must be of the type of the cache", update.DType(), shape)
	}
	if len(shape) != len(cache) {
		return c.d.invalid("the update has shape %v: it must have as many axes as the cache", shape)
	}
	for i := range shape {
		if i != axis && shape[i] != cache[i] {
			return c.d.invalid("the update has shape %v: it may differ from the cache along axis %d only", shape, axis)
		}
	}
	if shape[axis] > cache[axis] {
		return c.d.invalid("the update has shape %v: along axis %d it is longer than the cache", shape, axis)
	}
	return nil
}

// scatter describes where the updates of all batches go.
type scatter struct {
	axis         int
	length, room int64 // extents of an update and of the cache
	circular     bool
	indices      []int64 // one per batch, in [0, room); a single one applies to all
}

// checkIndices checks the write indices and stores them in s.
func (c *call) checkIndices(s *scatter, indices []int64) error {
	if indices == nil {
		s.indices = []int64{0}
		return nil
	}
	if n := c.x.Dim(0); int64(len(indices)) != n {
		return c.d.invalid("%d write indices for %d batches, axis 0", len(indices), n)
	}
	var err error
	if s.indices, err = budget.Make[int64](budget.Process(), c.d.name, int64(len(indices))); err != nil {
		return err
	}
	for i, at := range indices {
		switch {
		case s.circular && s.room > 0:
			if at %= s.room; at < 0 {
				at += s.room
			}
		case !s.circular && (at < 0 || at > s.room-s.length):
			return c.d.invalid("write index %d of batch %d: %d elements from there on must lie in [0,%d), axis %d of the cache", at, i, s.length, s.room, s.axis)
		}
		s.indices[i] = at
	}
	return nil
}

// writes returns the parts that write the update: one for adjacent batches written at the
// same index, two if the update wraps around.
func (s *scatter) writes(update *tensor.Tensor) []tensor.Part {
	var parts []tensor.Part
	for from := 0; from < len(s.indices); {
		at, to := s.indices[from], from+1
		for to < len(s.indices) && s.indices[to] == at {
			to++
		}
		first, last := int64(from), int64(to)
		if to == len(s.indices) { // a single index applies to all batches
			last = math.MaxInt64
		}
		add := func(at, start, n int64) {
			axes := []int{0, s.axis}
			into := window(axes, []int64{first, at}, []int64{last, at + n})
			of := window(axes, []int64{first, start}, []int64{last, start + n})
			parts = append(parts, tensor.Part{Into: into, Src: update, From: of})
		}
		n := min(s.length, s.room-at) // up to the end of the axis
		if add(at, 0, n); n < s.length {
			add(0, n, s.length-n)
		}
		from = to
	}
	return parts
}
