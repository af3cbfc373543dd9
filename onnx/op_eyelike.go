package onnx

import (
	"encoding/binary"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	types := types5.without(layout.String, layout.Complex64, layout.Complex128)
	d := definition{inputs: arity{1, 1}, attrs: []string{"dtype", "k"}, prepare: prepareEyeLike}
	register("EyeLike", d.versions(change{9, types}, change{22, types.with(layout.BFloat16)}))
}

func prepareEyeLike(d *definition, attrs Attrs) (kernel, error) {
	number, given, err := attrs.Int("dtype")
	if err != nil {
		return nil, err
	}
	if given {
		if _, err := d.elem("dtype", number); err != nil {
			return nil, err
		}
	}
	k, err := attrs.IntOr("k", 0)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		t := layout.DType(number)
		if !given {
			t = c.x.DType()
		}
		return c.eye(t, k)
	}, nil
}

// eye makes a matrix with ones on diagonal k and zeros elsewhere. Diagonal 0 is the main
// diagonal, and diagonal 1 is above it.
func (c *call) eye(t layout.DType, k int64) error {
	if c.x.Rank() != 2 {
		return c.d.invalid("it takes a matrix: the input must have two axes")
	}
	dims := c.x.Shape()
	k = min(max(k, -dims[0]), dims[1]) // there are no ones beyond that
	row, column := max(-k, 0), max(k, 0)
	n := min(dims[0]-row, dims[1]-column)
	diagonal := func(whole layout.Layout) (layout.Layout, error) {
		down, right := whole.Stride(0), whole.Stride(1)
		return layout.Strided(layout.Shape{n}, []int64{down + right}, whole.Offset()+row*down+column*right)
	}
	parts := []tensor.Part{{}}
	if n > 0 {
		parts = append(parts, tensor.Part{Into: diagonal, Fill: oneOf(t)})
	}
	return c.assemble(c.x.Stream(), t, dims, parts...)
}

// oneOf returns the bytes of 1 in a numeric type or bool.
func oneOf(t layout.DType) []byte {
	bits := uint64(1)
	if f, ok := numeric.FloatFormatOf(t); ok {
		bits = uint64(f.Bias) << f.Mantissa
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:t.Bits()/8]
}
