package models

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// Random makes inputs: numbers from -0.5 to 0.5, ones as integers, and true.
type Random struct {
	Dims   Pairs // values of symbolic extents; others are 1
	Shapes Pairs // of inputs: "1x3x224x224"
	Fills  Pairs // the value of all elements of inputs
}

// Pairs are the values of a flag NAME=VALUE that may be repeated.
type Pairs map[string]string

func (p Pairs) String() string { return "" }

// Set adds a pair.
func (p Pairs) Set(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if !ok {
		return errors.New("want NAME=VALUE")
	}
	p[name] = value
	return nil
}

// Values makes inputs of these types.
func (r *Random) Values(s *tensor.Stream, inputs []model.ValueInfo) (onnx.Values, error) {
	in := onnx.Values{}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, v := range inputs {
		x, err := r.value(s, rng, v)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("input %q: %w", v.Name, err), in.Release())
		}
		in[v.Name] = x
	}
	return in, nil
}

func (r *Random) value(s *tensor.Stream, rng *rand.Rand, v model.ValueInfo) (onnx.Value, error) {
	if v.Type.Kind != model.TensorType || v.Type.Elem == layout.String {
		return nil, fmt.Errorf("no random %v can be made: -inputs names a folder with inputs", v.Type)
	}
	shape, err := r.Shape(v)
	if err != nil {
		return nil, err
	}
	n, err := shape.Count()
	if err != nil {
		return nil, err
	}
	floats := slices.Contains([]layout.DType{layout.Float16, layout.BFloat16, layout.Float32, layout.Float64}, v.Type.Elem)
	fill, filled := r.Fills[v.Name]
	all, err := strconv.ParseFloat(cmp.Or(fill, "1"), 32)
	if err != nil {
		return nil, fmt.Errorf("-fill %s=%s: %w", v.Name, fill, err)
	}
	numbers := make([]float32, n)
	for i := range numbers {
		if numbers[i] = float32(all); floats && !filled {
			numbers[i] = rng.Float32() - .5
		}
	}
	x, err := tensor.FromSlice(s, numbers, shape...)
	if err != nil || v.Type.Elem == layout.Float32 {
		return x, err
	}
	y, err := x.Cast(v.Type.Elem, device.Rounding{})
	return y, errors.Join(err, x.Release())
}

// Shape returns the shape of an input: the given one, or the declared one.
func (r *Random) Shape(v model.ValueInfo) (layout.Shape, error) {
	shape := layout.Shape{}
	if given, ok := r.Shapes[v.Name]; ok {
		for _, part := range strings.FieldsFunc(given, func(r rune) bool { return r == 'x' }) {
			n, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("-shape %s=%s: %w", v.Name, given, err)
			}
			shape = append(shape, n)
		}
		return shape, nil
	}
	if !v.Type.HasShape {
		return nil, errors.New("the model declares no shape: -shape gives one")
	}
	for _, d := range v.Type.Dims {
		n := d.Value
		if n < 0 {
			var err error
			if n, err = strconv.ParseInt(cmp.Or(r.Dims[d.Param], "1"), 10, 64); err != nil {
				return nil, fmt.Errorf("-dim %s: %w", d.Param, err)
			}
		}
		shape = append(shape, n)
	}
	return shape, nil
}
