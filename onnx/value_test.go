package onnx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// What no ONNX type describes is refused, and nothing panics on it.
func TestContainersThatAreNone(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2))
	var none *tensor.Tensor
	good := &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x}}
	for _, v := range []onnx.Value{
		&onnx.Sequence{},
		&onnx.Sequence{Elem: layout.Int64, Items: []onnx.Value{x}},
		&onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x, nil}},
		&onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x, none}},
		&onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{good}},
		&onnx.Optional{Elem: layout.Int64, Value: x},
		&onnx.Optional{Elem: layout.Float32, Value: none},
		&onnx.Optional{Elem: layout.Float32, Value: &onnx.Sequence{Elem: layout.Int64}},
		&onnx.Optional{Elem: layout.Float32, Value: &onnx.Optional{Elem: layout.Float32}},
		(*onnx.Sequence)(nil),
		(*onnx.Optional)(nil),
		none,
		nil,
	} {
		_, err := onnx.Run("Identity", 25, nil, v)
		require.ErrorIs(t, err, device.ErrInvalid, "%v", v)
	}
	for _, op := range []string{"Shape", "Size", "Flatten", "Transpose"} {
		_, err := onnx.Run(op, 25, nil, good)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "a sequence of float is given; a tensor is needed")
	}
	for _, v := range []onnx.Value{
		(*onnx.Sequence)(nil), (*onnx.Optional)(nil), &onnx.Optional{Value: none}, &onnx.Sequence{Items: []onnx.Value{nil, none}},
	} {
		require.NoError(t, v.Release())
	}
	require.NoError(t, onnx.Values{"a": nil, "b": none, "c": (*onnx.Sequence)(nil)}.Release())
	_, err := onnx.Values{"a": none}.Tensor("a")
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = onnx.Values{"a": good}.Tensor("a")
	require.ErrorContains(t, err, "is a sequence of float, not a tensor")
	_, err = onnx.Values{}.Tensor("a")
	require.ErrorContains(t, err, `no value "a"`)
}

// A value is no result where one of its tensors cannot be read.
func TestFormatOfValues(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}))
	gone, err := tensor.FromSlice(s, []float32{3})
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	for _, c := range []struct {
		value      onnx.Value
		text, says string
	}{
		{x, "float[2] on cpu: [1. 2.]", ""},
		{nil, "none", ""},
		{&onnx.Optional{Elem: layout.Float32}, "optional of float: none", ""},
		{&onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x, &onnx.Optional{Elem: layout.Float32, Value: x}}},
			"sequence of float, 2 items:\nfloat[2] on cpu: [1. 2.]\noptional of float: float[2] on cpu: [1. 2.]", ""},
		{&onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x, &onnx.Optional{Elem: layout.Float32, Value: gone}}},
			"sequence of float, 2 items:\nfloat[2] on cpu: [1. 2.]\noptional of float: float[1] on cpu: <released>", "item 1: Format of float[1]: "},
	} {
		text, err := onnx.Format(c.value)
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			require.ErrorIs(t, err, tensor.ErrReleased)
			require.Empty(t, text)
		} else {
			require.NoError(t, err)
			require.Equal(t, c.text, text)
		}
		if c.value != nil {
			require.Equal(t, c.text, fmt.Sprint(c.value))
		}
	}
}

// TestContainersInASession passes a sequence and an optional through a model.
func TestContainersInASession(t *testing.T) {
	s := open(t)
	m := model.New("containers", 16)
	float := model.Type{Kind: model.TensorType, Elem: layout.Float32}
	m.Graph.Inputs = []model.ValueInfo{{Name: "s", Type: model.SequenceOf(float)}, {Name: "o", Type: model.OptionalOf(model.SequenceOf(float))}}
	m.Graph.Outputs = outputs("a", "b", "s")
	m.Graph.Nodes = []model.Node{
		node("Identity", "mid", []string{"s"}),
		node("Identity", "a", []string{"mid"}),
		node("Identity", "b", []string{"o"}),
	}
	sess := session(t, s, m)
	var whys []string
	sess.OnNode(func(n onnx.NodeReport) { whys = append(whys, n.Why) })
	x := held(t)(tensor.New(s, layout.Float32, 2))
	seq := &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x, x}}
	opt := &onnx.Optional{Elem: layout.Float32, Value: seq}
	out := run(t, sess, onnx.Values{"s": seq, "o": opt})
	require.Len(t, out["a"].(*onnx.Sequence).Items, 2)
	require.Len(t, out["s"].(*onnx.Sequence).Items, 2)
	require.Len(t, out["b"].(*onnx.Optional).Value.(*onnx.Sequence).Items, 2)
	require.Equal(t, []string{"a reference to a sequence of float", "a reference to a sequence of float", "a reference to an optional of float"}, whys)
	for _, in := range []onnx.Values{
		{"s": x, "o": opt},
		{"s": opt, "o": opt},
		{"s": &onnx.Sequence{Elem: layout.Int64}, "o": opt},
		{"s": seq, "o": seq},
		{"s": nil, "o": opt},
		{"s": (*onnx.Sequence)(nil), "o": opt},
	} {
		_, err := sess.Run(t.Context(), in)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, `input "`)
	}
}

// Once they were printed as Go structs of pointers.
func TestContainersAreReadable(t *testing.T) {
	s := open(t)
	a, b := held(t)(tensor.FromSlice(s, []float32{1, 2}, 2)), held(t)(tensor.FromSlice(s, []float32{3}, 1))
	items := &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{a, b}}
	require.Equal(t, fmt.Sprintf("sequence of float, 2 items:\n%v\n%v", a, b), fmt.Sprint(items))
	require.Equal(t, "sequence of float, 0 items", fmt.Sprint(&onnx.Sequence{Elem: layout.Float32}))
	require.Equal(t, "optional of float: none", fmt.Sprint(&onnx.Optional{Elem: layout.Float32}))
	require.Equal(t, fmt.Sprintf("optional of float: %v", a), fmt.Sprint(&onnx.Optional{Elem: layout.Float32, Value: a}))
	require.Equal(t, fmt.Sprintf("optional of float: %v", items), fmt.Sprint(&onnx.Optional{Elem: layout.Float32, Value: items}))
	require.Equal(t, "<nil> <nil>", fmt.Sprint((*onnx.Sequence)(nil), (*onnx.Optional)(nil)))

	for want, v := range map[string]onnx.Value{
		"float[2]":                  a,
		"sequence(float)":           items,
		"optional(float)":           &onnx.Optional{Elem: layout.Float32},
		"optional(sequence(float))": &onnx.Optional{Elem: layout.Float32, Value: items},
	} {
		m := model.New("m", 21)
		m.Graph.Inputs, m.Graph.Outputs = outputs("x"), outputs("y")
		m.Graph.Nodes = []model.Node{node("Identity", "y", []string{"x"})}
		sess := session(t, s, m)
		var got string
		sess.OnNode(func(n onnx.NodeReport) { got = n.TypeString() })
		run(t, sess, onnx.Values{"x": v})
		require.Equal(t, want, got)
	}
}
