package model

import (
	"slices"

	"github.com/restride/restride/internal/quote"
)

// attrKind is the kind of an attribute's value, with ONNX's number.
type attrKind int32

const (
	noKind            attrKind = 0
	floatAttr         attrKind = 1  // float32
	intAttr           attrKind = 2  // int64
	stringAttr        attrKind = 3  // string
	tensorAttr        attrKind = 4  // *Tensor
	graphAttr         attrKind = 5  // *Graph
	floatsAttr        attrKind = 6  // []float32
	intsAttr          attrKind = 7  // []int64
	stringsAttr       attrKind = 8  // []string
	tensorsAttr       attrKind = 9  // []*Tensor
	graphsAttr        attrKind = 10 // []*Graph
	sparseTensorAttr  attrKind = 11 // *SparseTensor
	sparseTensorsAttr attrKind = 12 // []*SparseTensor
	typeAttr          attrKind = 13 // *Type
	typesAttr         attrKind = 14 // []*Type
)

var kindNames = [...]string{"no kind", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings",
	"tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"}

func (k attrKind) String() string { return kindNames[k] }

// An Attr is a named constant of a node.
type Attr struct {
	Name string
	// Value is a float32, int64, string, *Tensor, *Graph, *SparseTensor or *Type, or a
	// slice of one of these. A string may hold any bytes: real models keep binary blobs
	// there.
	Value any
	// Ref, in the body of a function, names the attribute of the calling node that supplies
	// the value; Value is then nil and RefKind is its kind, in Kind's notation; an empty
	// RefKind allows any kind.
	Ref     string
	RefKind string

	rest rest
}

// Kind returns ONNX's name for the kind of the value, such as "float", "ints" or
// "sparse_tensor", and "no kind" for a Go type that ONNX does not have.
func (a Attr) Kind() string { return a.kind().String() }

func (a Attr) kind() attrKind {
	switch a.Value.(type) {
	case float32:
		return floatAttr
	case int64:
		return intAttr
	case string:
		return stringAttr
	case *Tensor:
		return tensorAttr
	case *Graph:
		return graphAttr
	case []float32:
		return floatsAttr
	case []int64:
		return intsAttr
	case []string:
		return stringsAttr
	case []*Tensor:
		return tensorsAttr
	case []*Graph:
		return graphsAttr
	case *SparseTensor:
		return sparseTensorAttr
	case []*SparseTensor:
		return sparseTensorsAttr
	case *Type:
		return typeAttr
	case []*Type:
		return typesAttr
	case nil:
		return attrKind(max(slices.Index(kindNames[:], a.RefKind), 0))
	}
	return noKind
}

// Attrs are the attributes of a node. The getters return the value and whether the
// attribute is present; an attribute of another kind is an error.
type Attrs []Attr

// Get returns the named attribute, if it is present.
func (as Attrs) Get(name string) (Attr, bool) {
	for _, a := range as {
		if a.Name == name {
			return a, true
		}
	}
	return Attr{}, false
}

// Int returns an integer.
func (as Attrs) Int(name string) (int64, bool, error) { return lookup[int64](as, name) }

// IntOr returns an integer, or otherwise if the attribute is absent.
func (as Attrs) IntOr(name string, otherwise int64) (int64, error) {
	if v, ok, err := as.Int(name); ok || err != nil {
		return v, err
	}
	return otherwise, nil
}

// Float returns a floating-point number.
func (as Attrs) Float(name string) (float32, bool, error) { return lookup[float32](as, name) }

// Str returns a string.
func (as Attrs) Str(name string) (string, bool, error) { return lookup[string](as, name) }

// StrOr returns a string, or otherwise if the attribute is absent.
func (as Attrs) StrOr(name, otherwise string) (string, error) {
	if v, ok, err := as.Str(name); ok || err != nil {
		return v, err
	}
	return otherwise, nil
}

// Tensor returns a tensor.
func (as Attrs) Tensor(name string) (*Tensor, bool, error) { return lookup[*Tensor](as, name) }

// Ints returns a list of integers. The caller must not change it.
func (as Attrs) Ints(name string) ([]int64, bool, error) { return lookup[[]int64](as, name) }

// Floats returns a list of numbers. The caller must not change it.
func (as Attrs) Floats(name string) ([]float32, bool, error) { return lookup[[]float32](as, name) }

// Strs returns a list of strings. The caller must not change it.
func (as Attrs) Strs(name string) ([]string, bool, error) { return lookup[[]string](as, name) }

func lookup[T any](as Attrs, name string) (value T, found bool, err error) {
	a, ok := as.Get(name)
	if !ok {
		return value, false, nil
	}
	if a.Ref != "" {
		return value, false, unsupportedf("attribute %s takes the value of its function's attribute %s", quote.Name(name), quote.Name(a.Ref))
	}
	value, ok = a.Value.(T)
	if !ok {
		return value, false, invalidf("attribute %s is of kind %v, want %v", quote.Name(name), a.Kind(), Attr{Value: value}.Kind())
	}
	return value, true, nil
}
