package main

import (
	"runtime/debug"
	"slices"
	"unsafe"

	"gorgonia.org/tensor"

	"github.com/restride/restride/internal/bench/peers"
)

// gorgonia is gorgonia.org/tensor: a case is a Copy from a view, which Slice and T
// make, into another, or a RepeatReuse.
type gorgonia struct{}

func newGorgonia() (library, error) { return gorgonia{}, nil }

func (gorgonia) name() string { return "gorgonia tensor " + version("gorgonia.org/tensor") }

func (gorgonia) threads() int { return 1 } // its iterators use one

func (gorgonia) ops() []string { return []string{"copy", "convert"} }

func (gorgonia) prepare(e *peers.Entry, b buffers) (operation, error) {
	if e.Dst.Type != e.Src.Type {
		return nil, unsupported("no conversion of " + e.Src.Type + " to " + e.Dst.Type)
	}
	if e.Dst.Recipe == nil || e.Src.Recipe == nil {
		return nil, unsupported("no view is so")
	}
	if axis := repeated(e); axis >= 0 {
		from, err := dense(&e.Src, b.src)
		if err != nil {
			return nil, err
		}
		to, err := dense(&e.Dst, b.dst)
		if err != nil {
			return nil, err
		}
		n := int(e.Src.Dims[axis])
		return gorgoniaOperation{b.dst, func() error {
			_, err := tensor.RepeatReuse(from, to, axis, n)
			return err
		}}, nil
	}
	from, err := viewed(&e.Src, b.src)
	if err != nil {
		return nil, err
	}
	to, err := viewed(&e.Dst, b.dst)
	if err != nil {
		return nil, err
	}
	return gorgoniaOperation{b.dst, func() error { return tensor.Copy(to, from) }}, nil
}

// repeated is the axis along which a case repeats a whole tensor, if it does nothing else, or
// -1.
func repeated(e *peers.Entry) int {
	r := e.Src.Recipe
	if permuted(r) || !slices.Equal(counts(r), r.Dims) {
		return -1
	}
	axis := -1
	for i, n := range r.Dims {
		if n == e.Src.Dims[i] {
			continue
		}
		if axis >= 0 {
			return -1
		}
		axis = i
	}
	return axis
}

// dense is the whole tensor that contains a place. It holds integers if there are no floats of
// the width: they are only copied.
func dense(p *peers.Location, raw []byte) (*tensor.Dense, error) {
	at, n := unsafe.Pointer(unsafe.SliceData(raw)), len(raw)*8/p.Bits
	var backing any
	switch p.Type {
	case "uint8":
		backing = raw
	case "float16":
		backing = unsafe.Slice((*uint16)(at), n)
	case "float":
		backing = unsafe.Slice((*float32)(at), n)
	case "double":
		backing = unsafe.Slice((*float64)(at), n)
	case "complex128":
		backing = unsafe.Slice((*complex128)(at), n)
	default:
		return nil, unsupported("no " + p.Type)
	}
	return tensor.New(tensor.WithShape(ints(p.Recipe.Dims)...), tensor.WithBacking(backing)), nil
}

// viewed is the view of a place.
func viewed(p *peers.Location, raw []byte) (tensor.Tensor, error) {
	whole, err := dense(p, raw)
	if err != nil {
		return nil, err
	}
	var out tensor.Tensor = whole
	r := p.Recipe
	parts := make([]tensor.Slice, len(r.Dims)) // nil: all of the axis
	for i, step := range r.Step {
		switch {
		case step < 0:
			return nil, unsupported("no negative steps")
		case r.Low[i] > 0 || r.High[i] < r.Dims[i] || step > 1:
			parts[i] = tensor.S(int(r.Low[i]), int(r.High[i]), int(step))
		}
	}
	if slices.ContainsFunc(parts, func(s tensor.Slice) bool { return s != nil }) {
		if out, err = whole.Slice(parts...); err != nil {
			return nil, err
		}
	}
	if permuted(r) {
		if err := out.(*tensor.Dense).T(r.Perm...); err != nil {
			return nil, err
		}
	}
	if !slices.Equal([]int(out.Shape()), ints(p.Dims)) {
		return nil, unsupported("no view of the shape")
	}
	return out, nil
}

type gorgoniaOperation struct {
	dst  []byte
	call func() error
}

func (o gorgoniaOperation) run() error              { return o.call() }
func (o gorgoniaOperation) result() ([]byte, error) { return o.dst, nil }
func (o gorgoniaOperation) free()                   {}

// version is the version of a module in this program.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of some version"
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version[len("v"):]
		}
	}
	return "of some version"
}
