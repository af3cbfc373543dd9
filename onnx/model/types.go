package model

import (
	"strconv"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// TypeKind is the kind of a value.
type TypeKind uint8

const (
	UnknownType TypeKind = iota // the file does not say
	TensorType
	SequenceType
	OptionalType
	MapType
	SparseTensorType
	OpaqueType
)

func (k TypeKind) String() string {
	names := [...]string{"unknown type", "tensor", "sequence", "optional", "map", "sparse tensor", "opaque"}
	if int(k) < len(names) {
		return names[k]
	}
	return "TypeKind(" + strconv.Itoa(int(k)) + ")"
}

// A Type is the type of a value, as far as the file states it.
type Type struct {
	Kind TypeKind
	// Elem is the element type of a tensor or sparse tensor, or the key type of
	// a map; layout.Invalid if the file does not say.
	Elem layout.DType
	// Dims are the extents of a tensor or sparse tensor. HasShape false means that even the
	// rank is unknown; true without Dims means a scalar.
	HasShape bool
	Dims     []Dim
	// Item is the type inside a sequence or optional, or the type of a map's values. It is
	// nil if the file does not say.
	Item *Type
	// Domain and Name identify an opaque type, written as domain.name.
	Domain, Name string
	// Denotation is ONNX's optional standard description, such as "IMAGE".
	Denotation string
}

// A Dim is the extent of one axis: a number, or unknown and perhaps named.
type Dim struct {
	// Value is the extent, or -1 if it is unknown.
	Value int64
	// Param names an unknown extent; axes with the same name are equal.
	Param      string
	Denotation string
}

// Known returns the Dim with a known extent.
func Known(n int64) Dim { return Dim{Value: n} }

// Symbolic returns the Dim with a name; "" means unknown without a name.
func Symbolic(name string) Dim { return Dim{Value: -1, Param: name} }

// TensorOf returns the type of a tensor with the given shape.
func TensorOf(elem layout.DType, dims ...Dim) Type {
	return Type{Kind: TensorType, Elem: elem, HasShape: true, Dims: dims}
}

// SequenceOf returns the type of a sequence.
func SequenceOf(item Type) Type { return Type{Kind: SequenceType, Item: &item} }

// OptionalOf returns the type of an optional.
func OptionalOf(item Type) Type { return Type{Kind: OptionalType, Item: &item} }

// Shape returns the extents if all of them are known.
func (t Type) Shape() (layout.Shape, bool) {
	if !t.HasShape {
		return nil, false
	}
	shape := make(layout.Shape, len(t.Dims))
	for i, d := range t.Dims {
		if d.Value < 0 {
			return nil, false
		}
		shape[i] = d.Value
	}
	return shape, true
}

func (d Dim) String() string {
	switch {
	case d.Value >= 0:
		return strconv.FormatInt(d.Value, 10)
	case d.Param != "":
		return quote.Plain(d.Param)
	}
	return "?"
}

// String formats a tensor's type as float[2,N,?]; float alone means unknown rank.
func (t Type) String() string {
	item := "?"
	if t.Item != nil {
		item = t.Item.String()
	}
	elem := "?"
	if t.Elem != layout.Invalid {
		elem = t.Elem.String()
	}
	if t.HasShape && t.Kind != MapType {
		dims := make([]string, len(t.Dims))
		for i, d := range t.Dims {
			dims[i] = d.String()
		}
		elem += "[" + strings.Join(dims, ",") + "]"
	}
	switch t.Kind {
	case TensorType:
		return elem
	case SparseTensorType:
		return "sparse(" + elem + ")"
	case SequenceType:
		return "sequence(" + item + ")"
	case OptionalType:
		return "optional(" + item + ")"
	case MapType:
		return "map(" + elem + "," + item + ")"
	case OpaqueType:
		return "opaque(" + quote.Plain(strings.Trim(t.Domain+"."+t.Name, ".")) + ")"
	}
	return "?"
}
