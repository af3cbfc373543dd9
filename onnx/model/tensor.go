package model

import (
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// A Tensor is a constant: a type, a shape and elements, which are in Data, in Strings (only
// if Type is layout.String) or in an external file.
type Tensor struct {
	Name string
	Type layout.DType
	Dims layout.Shape // empty: a scalar

	// Data holds the elements in row-major order, packed without gaps and little-endian.
	// Element i of a type of b < 8 bits starts at bit i*b mod 8 of byte i*b/8, and unused
	// bits at the end are zero. A bool is a byte, 0 or 1. A complex number is its real
	// part, then its imaginary part.
	//
	// In a tensor that was read, only copies of the struct share Data; if the file held
	// raw_data, Data is the only copy of those bytes in memory. Large tensors of a model
	// from Load are parts of one allocation, the file's bytes.
	Data    []byte
	Strings []string
	// External, if not nil, is the location of the elements; Data is then unused.
	External *External

	rest rest
}

// Size returns the number of bytes that Data has, or would have if the tensor were not
// external. Strings have no size: layout.ErrUnsupported.
func (t *Tensor) Size() (int64, error) {
	if t == nil {
		return 0, nilError("Tensor.Size", "tensor")
	}
	n, err := t.Dims.Bytes(t.Type)
	return n, named("Tensor.Size", within(err, "tensor %s", quote.Name(t.Name)))
}

// check checks that the elements match the type and the shape. Every tensor that is read or
// written is checked.
func (t *Tensor) check() error {
	count, err := t.checkHead()
	if err != nil {
		return err
	}
	if t.Type == layout.String {
		for i, s := range t.Strings {
			if err := checkText(i, s); err != nil {
				return err
			}
		}
		switch {
		case t.External != nil:
			return invalidf("strings cannot be external data")
		case t.Data != nil:
			return invalidf("strings cannot be given as bytes")
		case int64(len(t.Strings)) != count:
			return invalidf("%d strings are given, and shape %v has %d elements", len(t.Strings), t.Dims, count)
		}
		return nil
	}
	size, err := t.Dims.Bytes(t.Type)
	if err != nil {
		return err
	}
	if t.Strings != nil {
		return invalidf("elements of type %v are given as strings", t.Type)
	}
	if x := t.External; x != nil {
		if t.Data != nil {
			return invalidf("elements are given both in the model and in external data")
		}
		return x.check(t, size)
	}
	if int64(len(t.Data)) != size {
		return invalidf("%d bytes of data are given, and %v%v takes %d", len(t.Data), t.Type, t.Dims, size)
	}
	if t.Type == layout.Bool {
		return checkBools(t.Data, 0)
	}
	return nil
}

// checkHead checks everything except the elements, and returns their required number.
func (t *Tensor) checkHead() (count int64, err error) {
	if !t.Type.Valid() {
		return 0, invalidf("%v is not an element type", t.Type)
	}
	if err := checkNames("name", t.Name); err != nil {
		return 0, err
	}
	return t.Dims.Count()
}

// checkText refuses string i of a tensor if it is not valid text.
func checkText(i int, s string) error {
	if !utf8.ValidString(s) {
		return layout.Errorf(ErrText, "", "string %d is not valid UTF-8", i)
	}
	return nil
}

// checkBools refuses a byte that is neither 0 nor 1. The first byte of data is
// element first.
func checkBools(data []byte, first int64) error {
	for i, b := range data {
		if b > 1 {
			return invalidf("element %d of a bool tensor is %d, want 0 or 1", first+int64(i), b)
		}
	}
	return nil
}

// tailMask returns a mask of the bits of the last byte that belong to elements.
func (t *Tensor) tailMask() byte {
	bits := t.Type.Bits()
	count, err := t.Dims.Count()
	if err != nil || bits >= 8 {
		return 0xff
	}
	used := int(count%8) * bits % 8
	if used == 0 {
		return 0xff
	}
	return 1<<used - 1
}

// clearTail returns data with the unused bits of its last byte cleared. It copies only if
// they are set.
func (t *Tensor) clearTail(data []byte) []byte {
	if len(data) == 0 || data[len(data)-1]&^t.tailMask() == 0 {
		return data
	}
	data = append([]byte(nil), data...)
	data[len(data)-1] &= t.tailMask()
	return data
}

// A SparseTensor is a tensor with only some elements given; the others are zero. Only its
// parts are checked here, not whether they fit together.
type SparseTensor struct {
	Values  Tensor // with the sparse tensor's name
	Indices Tensor
	Dims    layout.Shape
}

func (s *SparseTensor) check() error {
	if err := s.Values.check(); err != nil {
		return within(err, "values")
	}
	if err := s.Indices.check(); err != nil {
		return within(err, "indices")
	}
	if _, err := s.Dims.Count(); err != nil {
		return err
	}
	return nil
}
