package model

import (
	"math"
	"reflect"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// marshalTensor and its like are for files of a tensor, which is a value.
func marshalTensor(x *Tensor) ([]byte, error) {
	return (&Value{Kind: TensorType, Tensor: x}).Marshal()
}

func saveTensor(path string, x *Tensor) error {
	return SaveValue(path, &Value{Kind: TensorType, Tensor: x})
}

func parseTensor(b []byte) (*Tensor, error) { return tensorOf(ReadValue(b, Type{Kind: TensorType})) }

func loadTensor(path string) (*Tensor, error) {
	return tensorOf(LoadValue(path, Type{Kind: TensorType}))
}

func tensorOf(v *Value, err error) (*Tensor, error) {
	if err != nil {
		return nil, err
	}
	return v.Tensor, nil
}

// small is a model with a bit of everything that a generator would write.
func small(t testing.TB) *Model {
	m := New("small", 21)
	m.Producer = "test"
	shape, err := NewTensor("shape", []int64{2, -1}, 2)
	require.NoError(t, err)
	words, err := NewTensor("words", []string{"a", "b"}, 2)
	require.NoError(t, err)
	inner := &Graph{Name: "inner", Nodes: []Node{NewNode("Identity", []string{"x"}, []string{"i"})}}
	m.Graph.Inputs = []ValueInfo{{Name: "x", Type: TensorOf(layout.Float32, Known(4), Symbolic("N"), Symbolic(""))}}
	m.Graph.Outputs = []ValueInfo{{Name: "y", Type: TensorOf(layout.Float32, Symbolic(""), Symbolic(""))}}
	m.Graph.ValueInfo = []ValueInfo{{Name: "r", Type: Type{Kind: TensorType, Elem: layout.Float32}}}
	m.Graph.Initializers = []Tensor{shape, words, {Name: "nibbles", Type: layout.Int4, Dims: layout.Shape{3}, Data: []byte{0x21, 0x03}}}
	m.Graph.Nodes = []Node{
		NewNode("Reshape", []string{"x", "shape"}, []string{"r"}, Attr{Name: "allowzero", Value: int64(1)}),
		NewNode("Transpose", []string{"r"}, []string{"y"}, Attr{Name: "perm", Value: []int64{1, 0}},
			Attr{Name: "g", Value: inner}, Attr{Name: "t", Value: &shape}, Attr{Name: "nan", Value: float32(math.NaN())},
			Attr{Name: "type", Value: &Type{Kind: SequenceType, Item: &Type{Kind: TensorType}}}),
	}
	return m
}

// minimal is the bytes of the least model.
func minimal(t testing.TB) []byte {
	b, err := New("g", 13).Marshal()
	require.NoError(t, err)
	return b
}

func assertRoundTrip(t testing.TB, m *Model) {
	b, err := m.Marshal()
	require.NoError(t, err)
	again, err := Parse(b, m.Dir)
	require.NoError(t, err)
	if !same(reflect.ValueOf(m), reflect.ValueOf(again)) {
		assert.Equal(t, m, again)
	}
	b2, err := again.Marshal()
	require.NoError(t, err)
	assert.Equal(t, b, b2)
}

// same is reflect.DeepEqual with floats compared by their bits, so that a NaN
// equals itself and 0 does not equal -0.
func same(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, k := range a.MapKeys() {
			if !same(a.MapIndex(k), b.MapIndex(k)) {
				return false
			}
		}
		return true
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	}
	if a.CanInt() {
		return a.Int() == b.Int()
	}
	return a.Uint() == b.Uint()
}
