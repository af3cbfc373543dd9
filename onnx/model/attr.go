package model

import (
	"strconv"

	"github.com/restride/restride/internal/quote"
)

// AttrKind is the kind of an attribute's value; the numbers are ONNX's.
type AttrKind int32

// The kinds of attribute, each with the Go type that Attr.Value then has.
const (
	NoKind            AttrKind = 0
	FloatAttr         AttrKind = 1  // float32
	IntAttr           AttrKind = 2  // int64
	StringAttr        AttrKind = 3  // string
	TensorAttr        AttrKind = 4  // *Tensor
	GraphAttr         AttrKind = 5  // *Graph
	FloatsAttr        AttrKind = 6  // []float32
	IntsAttr          AttrKind = 7  // []int64
	StringsAttr       AttrKind = 8  // []string
	TensorsAttr       AttrKind = 9  // []*Tensor
	GraphsAttr        AttrKind = 10 // []*Graph
	SparseTensorAttr  AttrKind = 11 // *SparseTensor
	SparseTensorsAttr AttrKind = 12 // []*SparseTensor
	TypeAttr          AttrKind = 13 // *Type
	TypesAttr         AttrKind = 14 // []*Type
)

func (k AttrKind) String() string {
	names := [...]string{"no kind", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings",
		"tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"}
	if k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return "AttrKind(" + strconv.Itoa(int(k)) + ")"
}

// An Attr is a named constant of a node.
type Attr struct {
	Name string
	// Value has one of the Go types listed at AttrKind. A string may hold any
	// bytes: real models keep binary blobs there.
	Value any
	// Ref, in the body of a function, names the attribute of the calling node
	// that gives the value; Value is then nil and RefKind is its kind.
	Ref     string
	RefKind AttrKind

	rest rest
}

// Kind returns the kind of the value, and NoKind if it is none that ONNX has.
func (a Attr) Kind() AttrKind {
	switch a.Value.(type) {
	case float32:
		return FloatAttr
	case int64:
		return IntAttr
	case string:
		return StringAttr
	case *Tensor:
		return TensorAttr
	case *Graph:
		return GraphAttr
	case []float32:
		return FloatsAttr
	case []int64:
		return IntsAttr
	case []string:
		return StringsAttr
	case []*Tensor:
		return TensorsAttr
	case []*Graph:
		return GraphsAttr
	case *SparseTensor:
		return SparseTensorAttr
	case []*SparseTensor:
		return SparseTensorsAttr
	case *Type:
		return TypeAttr
	case []*Type:
		return TypesAttr
	case nil:
		return a.RefKind
	}
	return NoKind
}

// Attrs are the attributes of a node. The getters return the value and whether
// the attribute is there; one that is there with another kind is an error.
type Attrs []Attr

// Get returns the attribute of that name, if there is one.
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

// IntOr returns an integer, or otherwise if it is not there.
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

// StrOr returns a string, or otherwise if it is not there.
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
