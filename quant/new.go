package quant

import "github.com/restride/restride/layout"

// New describes a weight of n outputs and k inputs, or a batch of such matrices (0: no
// batch), in a format: the tensors that a file would have, and the data that plans need. p
// is as Describe returns it; the default type of scales is F16.
func New(f *Format, p Params, name string, batch, n, k int64) (*Weight, error) {
	if n < 1 || k < 1 || batch < 0 || max(batch, n, k) > 1<<40 {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "a batch of %d matrices of %d by %d", batch, n, k)
	}
	if p.Bits < 1 || p.Bits > 8 || p.Group < 0 {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "codes of %d bits in groups of %d; 1 to 8 are wanted, and groups of 0 or more", p.Bits, p.Group)
	}
	if p.Scale == "" {
		p.Scale = "F16"
	}
	w := &Weight{Name: name, Format: f, Params: p, ext: extents{axisN: n, axisK: k}}
	if p.Batch = batch > 0; p.Batch {
		w.ext[axisE] = batch
	}
	w.ext.group(p)
	for _, a := range f.arrays(p) {
		dims, err := a.dims(w.ext)
		if err != nil {
			return nil, err
		}
		w.arrays = append(w.arrays, a)
		w.Tensors = append(w.Tensors, Tensor{Name: joined(name, a.suffix), Type: a.typ, Dims: dims})
	}
	return w, nil
}

// Shape returns the extents of the weight's axes: batch (if there is one), n, k; for a
// cache pages, tokens, heads, dimensions.
func (w *Weight) Shape() []int64 {
	var dims []int64
	for _, axis := range []byte("uepnthkd") {
		if n, ok := w.ext[axis]; ok {
			dims = append(dims, n)
		}
	}
	return dims
}
