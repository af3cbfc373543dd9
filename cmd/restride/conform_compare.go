package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// compareValues reports where two values first differ: in kind, type, shape, or any bit of an
// element, unless the element is NaN in both.
func compareValues(got, want *model.Value) error {
	if got.Kind != want.Kind {
		return fmt.Errorf("is a %v, want a %v", got.Kind, want.Kind)
	}
	if got.Kind == model.TensorType {
		return compareTensors(got.Tensor, want.Tensor)
	}
	if len(got.Items) != len(want.Items) {
		return fmt.Errorf("has %d items, want %d", len(got.Items), len(want.Items))
	}
	for i := range got.Items {
		if err := compareValues(&got.Items[i], &want.Items[i]); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

func compareTensors(got, want *model.Tensor) error {
	if got.Type != want.Type || !got.Dims.Equal(want.Dims) {
		return fmt.Errorf("is %v%v, want %v%v", got.Type, got.Dims, want.Type, want.Dims)
	}
	if got.Type == layout.String {
		for i, s := range want.Strings {
			if got.Strings[i] != s {
				return fmt.Errorf("element %v is %s, want %s", indexOf(int64(i), want.Dims), quote.Name(got.Strings[i]), quote.Name(s))
			}
		}
		return nil
	}
	g, err := got.Bytes()
	if err != nil {
		return err
	}
	w, err := want.Bytes()
	if err != nil {
		return err
	}
	if bytes.Equal(g, w) {
		return nil
	}
	n, err := want.Dims.Count()
	if err != nil {
		return err
	}
	for i := range n {
		if a, b := element(g, i, got.Type), element(w, i, got.Type); a != b && !(isNaN(g, i, got.Type) && isNaN(w, i, got.Type)) {
			return fmt.Errorf("element %v is %s, want %s (bits, high to low)", indexOf(i, want.Dims), a, b)
		}
	}
	if bits := int64(got.Type.Bits()); bits < 8 && n*bits%8 != 0 && g[len(g)-1] != w[len(w)-1] {
		return fmt.Errorf("the bits after the last element differ")
	}
	return nil // except NaNs
}

func isNaN(packed []byte, i int64, t layout.DType) bool {
	return numeric.KindOf(t) == numeric.FloatKind && math.IsNaN(numeric.Float(t, packed, i))
}

// indexOf returns the index of element i in row-major order.
func indexOf(i int64, shape layout.Shape) layout.Shape {
	index := make(layout.Shape, len(shape))
	for axis := len(shape) - 1; axis >= 0; axis-- {
		index[axis] = i % shape[axis]
		i /= shape[axis]
	}
	return index
}

// element formats the bits of element i in hexadecimal.
func element(packed []byte, i int64, t layout.DType) string {
	bits := int64(t.Bits())
	if bits < 8 {
		per := 8 / bits
		return fmt.Sprintf("%x", packed[i/per]>>(i%per*bits)&(1<<bits-1))
	}
	size := bits / 8
	b := bytes.Clone(packed[i*size:][:size])
	for l, r := 0, len(b)-1; l < r; l, r = l+1, r-1 {
		b[l], b[r] = b[r], b[l]
	}
	return fmt.Sprintf("%x", b)
}
