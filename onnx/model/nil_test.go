package model

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// TestNil: what is nil is an error wherever one is returned, not a panic.
func TestNil(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	var tensor *Tensor
	var model *Model
	var value *Value
	var reader *Reader
	only := func(_ any, err error) error { return err }
	of := func(nodes ...Node) *Model {
		m := New("g", 13)
		m.Graph.Nodes = nodes
		return m
	}
	for name, call := range map[string]func() error{
		"Elements":               func() error { return only(Elements[int8](nil)) },
		"SaveValue":              func() error { return SaveValue(path, nil) },
		"SaveValue, tensor":      func() error { return SaveValue(path, &Value{Kind: TensorType}) },
		"SaveValue, item":        func() error { return SaveValue(path, &Value{Kind: SequenceType, Items: []Value{{Kind: TensorType}}}) },
		"nil.Tensor.Open":        func() error { return only(tensor.Open()) },
		"nil.Tensor.Bytes":       func() error { return only(tensor.Bytes()) },
		"nil.Tensor.Size":        func() error { return only(tensor.Size()) },
		"nil.Value.Marshal":      func() error { return only(value.Marshal()) },
		"nil.Model.Marshal":      func() error { return only(model.Marshal()) },
		"nil.Model.Save":         func() error { return model.Save(path) },
		"nil.Model.SaveExternal": func() error { return model.SaveExternal(path, "data", 1) },
		"nil.Reader.ReadAt":      func() error { return only(reader.ReadAt(make([]byte, 1), 0)) },
		"nil.Reader.Close":       func() error { return reader.Close() },
		"Marshal, attribute":     func() error { return only(of(NewNode("Op", nil, []string{"y"}, Attr{Name: "a"})).Marshal()) },
		"Marshal, tensor":        func() error { return only(of(NewNode("Op", nil, nil, Attr{Name: "a", Value: tensor})).Marshal()) },
		"Marshal, sparse tensor": func() error {
			return only(of(NewNode("Op", nil, nil, Attr{Name: "a", Value: (*SparseTensor)(nil)})).Marshal())
		},
		"Marshal, graph": func() error {
			return only(of(NewNode("Op", nil, nil, Attr{Name: "a", Value: (*Graph)(nil)})).Marshal())
		},
		"Marshal, type of elements": func() error { return only(marshalTensor(&Tensor{Type: layout.Invalid})) },
	} {
		assert.NotPanics(t, func() { assert.ErrorIs(t, call(), device.ErrInvalid, name) }, name)
	}
}
