package graphs

import (
	"fmt"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// Zeros returns a value of a declared type, of at most the given number of elements: undeclared
// extents are 2, a sequence or optional is empty. Strings are on tensor.Host if the stream's
// device does not hold them.
func Zeros(s *tensor.Stream, t model.Type, most int64) (onnx.Value, error) {
	elem := t.Elem
	for item := t.Item; item != nil; item = item.Item {
		elem = item.Elem
	}
	switch t.Kind {
	case model.SequenceType:
		return &onnx.Sequence{Elem: elem}, nil
	case model.OptionalType:
		return &onnx.Optional{Elem: elem}, nil
	}
	dims := layout.Shape{}
	for _, d := range t.Dims {
		extent := d.Value
		if extent < 0 {
			extent = 2
		}
		dims = append(dims, extent)
	}
	n, err := dims.Count()
	if err == nil && n > most {
		err = fmt.Errorf("%v: more than %d elements", dims, most)
	}
	if err != nil {
		return nil, err
	}
	if elem == layout.Invalid {
		elem = layout.Int64
	}
	if elem == layout.String && !s.Device().Info().Strings {
		s = tensor.Host()
	}
	return tensor.New(s, elem, dims...)
}
