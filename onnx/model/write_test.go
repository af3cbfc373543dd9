package model

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	m := small(t)
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	loaded, err := Load(path)
	require.NoError(t, err)
	assertRoundTrip(t, loaded)
	assert.Equal(t, m.Graph.Initializers, loaded.Graph.Initializers)
	assert.Equal(t, m.Graph.Inputs, loaded.Graph.Inputs)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file stays")
}

func TestNewChoosesTheFileFormat(t *testing.T) {
	for opset, ir := range map[int64]int64{1: 4, 9: 4, 10: 5, 13: 7, 20: 9, 21: 10, 22: 10, 24: 12, 25: 13, 30: 13} {
		assert.Equal(t, ir, New("g", opset).IRVersion, opset)
	}
}

func TestElements(t *testing.T) {
	check(t, layout.Bool, []bool{true, false})
	check(t, layout.Int8, []int8{-1, 2})
	check(t, layout.Int16, []int16{-1, 2})
	check(t, layout.Int32, []int32{-1, 2})
	check(t, layout.Int64, []int64{-1, 2})
	check(t, layout.Uint8, []uint8{1, 2})
	check(t, layout.Uint16, []uint16{1, 2})
	check(t, layout.Uint32, []uint32{1, 2})
	check(t, layout.Uint64, []uint64{1, math.MaxUint64})
	check(t, layout.Float32, []float32{1, float32(math.Inf(1))})
	check(t, layout.Float64, []float64{1, -2})
	check(t, layout.Complex64, []complex64{1 + 2i, 3})
	check(t, layout.Complex128, []complex128{1 + 2i, 3})
	check(t, layout.String, []string{"a", ""})
	_, err := NewTensor("x", []int64{1, 2}, 3)
	assert.ErrorIs(t, err, layout.ErrInvalid)
	assert.ErrorContains(t, err, `model.NewTensor: tensor "x": 16 bytes of data are given, and int64[3] takes 24`)
	scalar, err := NewTensor("x", []int64{1})
	require.NoError(t, err)
	_, err = Elements[int32](&scalar)
	assert.ErrorContains(t, err, "its type is int64, want int32")
}

func check[T layout.Element](t *testing.T, typ layout.DType, values []T) {
	x, err := NewTensor("x", values, int64(len(values)))
	require.NoError(t, err)
	assert.Equal(t, typ, x.Type)
	got, err := Elements[T](&x)
	require.NoError(t, err)
	assert.Equal(t, values, got)
	path := filepath.Join(t.TempDir(), "x.pb")
	require.NoError(t, saveTensor(path, &x))
	read, err := loadTensor(path)
	require.NoError(t, err)
	assert.Equal(t, &x, read)
}

func TestModelsThatCannotBeWritten(t *testing.T) {
	cyclic := &Graph{}
	cyclic.Nodes = []Node{NewNode("If", nil, nil, Attr{Name: "g", Value: cyclic})}
	loop := &Type{Kind: SequenceType}
	loop.Item = loop
	for name, spoil := range map[string]func(*Model){
		"no graph":          func(m *Model) { m.Graph = nil },
		"no opset":          func(m *Model) { m.Opsets = nil },
		"no ir":             func(m *Model) { m.IRVersion = 0 },
		"domain twice":      func(m *Model) { m.Opsets["ai.onnx"] = 3 },
		"attribute twice":   func(m *Model) { m.Graph.Nodes[1].Attrs[1].Name = "perm" },
		"attribute int":     func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = 3 },
		"attribute nil":     func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = nil },
		"nil tensor":        func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = (*Tensor)(nil) },
		"nil graph":         func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = (*Graph)(nil) },
		"nil in graphs":     func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = []*Graph{nil} },
		"nil type":          func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = (*Type)(nil) },
		"nil sparse":        func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = []*SparseTensor{nil} },
		"ref and value":     func(m *Model) { m.Graph.Nodes[1].Attrs[1].Ref = "r" },
		"cyclic graph":      func(m *Model) { m.Graph = cyclic },
		"cyclic type":       func(m *Model) { m.Graph.Inputs[0].Type = *loop },
		"cyclic attribute":  func(m *Model) { m.Graph.Nodes[1].Attrs[1].Value = loop },
		"type kind":         func(m *Model) { m.Graph.Inputs[0].Type.Kind = 99 },
		"type elem":         func(m *Model) { m.Graph.Inputs[0].Type.Elem = 99 },
		"dim -2":            func(m *Model) { m.Graph.Inputs[0].Type.Dims[0].Value = -2 },
		"dim of both":       func(m *Model) { m.Graph.Inputs[0].Type.Dims[0].Param = "N" },
		"tensor type":       func(m *Model) { m.Graph.Initializers[0].Type = 77 },
		"tensor dims":       func(m *Model) { m.Graph.Initializers[0].Dims[0] = -1 },
		"tensor data":       func(m *Model) { m.Graph.Initializers[0].Data = nil },
		"tensor of both":    func(m *Model) { m.Graph.Initializers[0].External = &External{Path: "x"} },
		"bytes as strings":  func(m *Model) { m.Graph.Initializers[0].Strings = []string{"a"} },
		"strings as bytes":  func(m *Model) { m.Graph.Initializers[1].Data = []byte{1} },
		"string not UTF-8":  func(m *Model) { m.Graph.Initializers[1].Strings[0] = "\xff" },
		"initializer twice": func(m *Model) { m.Graph.Initializers[1].Name = "shape" },
		"node without type": func(m *Model) { m.Graph.Nodes[0].OpType = "" },
		"name not UTF-8":    func(m *Model) { m.Graph.Nodes[0].Name = "\xff" },
		"function unnamed":  func(m *Model) { m.Functions = []Function{{}} },
	} {
		t.Run(name, func(t *testing.T) {
			m := small(t)
			spoil(m)
			_, err := m.Marshal()
			assert.ErrorIs(t, err, layout.ErrInvalid)
			assert.Error(t, m.Save(filepath.Join(t.TempDir(), "m.onnx")))
			assert.Error(t, m.SaveExternal(filepath.Join(t.TempDir(), "m.onnx"), "d", 1))
		})
	}
	deep := Value{Kind: SequenceType}
	for range maxNesting + 1 {
		deep = Value{Kind: SequenceType, Items: []Value{deep}}
	}
	for _, v := range []Value{{}, {Kind: TensorType}, {Kind: OptionalType, Items: make([]Value, 2)}, {Kind: SequenceType, Items: make([]Value, 1)}, deep} {
		_, err := v.Marshal()
		assert.ErrorIs(t, err, layout.ErrInvalid)
	}
}

func TestTailBitsAreClearedOnWriting(t *testing.T) {
	x := Tensor{Name: "x", Type: layout.Int4, Dims: layout.Shape{1}, Data: []byte{0xf7}}
	b, err := marshalTensor(&x)
	require.NoError(t, err)
	got, err := parseTensor(b)
	require.NoError(t, err)
	assert.Equal(t, []byte{0x07}, got.Data)
	assert.Equal(t, []byte{0xf7}, x.Data, "the caller's bytes are not changed")
	all, err := x.Bytes()
	require.NoError(t, err)
	assert.Equal(t, []byte{0x07}, all)
}
