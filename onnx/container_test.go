package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestIdentityOfContainers: sequences from opset 14, optionals from 16, both of
// the types of opset 5 only, at every version.
func TestIdentityOfContainers(t *testing.T) {
	for _, typ := range layout.DTypes() {
		s := open(t)
		a, b := numbered(typ, 2, 3), numbered(typ, 4)
		x, y := a.upload(t, s, typ), b.upload(t, s, typ)
		seq := &onnx.Sequence{Elem: typ, Items: []onnx.Value{x, y}}
		for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
			for _, c := range []struct {
				v     onnx.Value
				first onnx.Opset
			}{
				{seq, 14},
				{&onnx.Sequence{Elem: typ}, 14},
				{&onnx.Optional{Elem: typ, Value: x}, 16},
				{&onnx.Optional{Elem: typ, Value: seq}, 16},
				{&onnx.Optional{Elem: typ}, 16},
			} {
				out, err := onnx.Run("Identity", v, nil, c.v)
				switch {
				case v < c.first:
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, "Identity allows it from opset")
				case since("Shape", typ) > 1:
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, "ONNX takes tensors only")
				default:
					require.NoError(t, err)
					require.IsType(t, c.v, out[0])
					switch o := out[0].(type) {
					case *onnx.Sequence:
						require.Len(t, o.Items, len(c.v.(*onnx.Sequence).Items))
						for i, item := range o.Items {
							same(t, typ, []array{a, b}[i], item.(*tensor.Tensor))
						}
					case *onnx.Optional:
						if x, ok := o.Value.(*tensor.Tensor); ok {
							same(t, typ, a, x)
						}
						require.Equal(t, c.v.(*onnx.Optional).Value == nil, o.Value == nil)
					}
					require.NoError(t, out[0].Release())
				}
			}
		}
	}
}

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

// A container's items that were released give an error, and no half is kept.
func TestIdentityOfReleasedItems(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2))
	gone, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	_, err = onnx.Run("Identity", 14, nil, &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x, gone}})
	require.ErrorIs(t, err, tensor.ErrReleased)
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

// TestStoreAndLoadValues: what is stored is loaded again.
func TestStoreAndLoadValues(t *testing.T) {
	s := open(t)
	for _, typ := range []layout.DType{layout.Float32, layout.Int4, layout.String} {
		a := numbered(typ, 2, 3)
		item := model.Type{Kind: model.TensorType, Elem: typ}
		x := a.uploadAs(t, s, typ, "transposed")
		seq := &onnx.Sequence{Elem: typ, Items: []onnx.Value{x, x}}
		for _, c := range []struct {
			v    onnx.Value
			kind model.Type
		}{
			{x, item},
			{seq, model.SequenceOf(item)},
			{&onnx.Optional{Elem: typ, Value: x}, model.OptionalOf(item)},
			{&onnx.Optional{Elem: typ, Value: seq}, model.OptionalOf(model.SequenceOf(item))},
			{&onnx.Optional{Elem: typ}, model.OptionalOf(item)},
			{&onnx.Sequence{Elem: typ}, model.SequenceOf(item)},
		} {
			stored, err := onnx.StoreValue("v", c.v)
			require.NoError(t, err)
			require.Equal(t, "v", stored.Name)
			loaded, err := onnx.LoadValue(s, stored, c.kind)
			require.NoError(t, err)
			require.IsType(t, c.v, loaded)
			again, err := onnx.StoreValue("v", loaded)
			require.NoError(t, err)
			require.Equal(t, stored, again)
			require.NoError(t, loaded.Release())
		}
	}
}

func TestLoadValueRefuses(t *testing.T) {
	s := open(t)
	float, long := numbered(layout.Float32, 2), numbers(1, 2)
	value := func(a array, typ layout.DType) model.Value {
		return model.Value{Kind: model.TensorType, Tensor: a.tensorOf(typ)}
	}
	f, l := value(float, layout.Float32), value(long, layout.Int64)
	item := model.Type{Kind: model.TensorType, Elem: layout.Float32}
	unknown := model.Type{Kind: model.SequenceType}
	for _, c := range []struct {
		v    model.Value
		typ  model.Type
		says string
	}{
		{model.Value{Kind: model.SequenceType, Items: []model.Value{f, l}}, model.SequenceOf(item), "value 1 of sequence is of int64; it must be of float"},
		{model.Value{Kind: model.SequenceType, Items: []model.Value{f, l}}, unknown, "value 1 of sequence is of int64; it must be of float"},
		{model.Value{Kind: model.OptionalType, Items: []model.Value{l}}, model.OptionalOf(item), "is of int64; it must be of float"},
		{model.Value{Kind: model.OptionalType, Items: []model.Value{f, f}}, model.OptionalOf(item), "an optional of 2 values"},
		{model.Value{Kind: model.TensorType}, item, "the tensor is nil"},
		{model.Value{Kind: model.SequenceType, Items: []model.Value{f, {Kind: model.TensorType}}}, unknown, "the tensor is nil"},
	} {
		_, err := onnx.LoadValue(s, &c.v, c.typ)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := onnx.LoadValue(s, &model.Value{Kind: model.MapType}, model.Type{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	for _, v := range []onnx.Value{nil, (*tensor.Tensor)(nil), (*onnx.Sequence)(nil), &onnx.Sequence{Items: []onnx.Value{nil}}} {
		_, err := onnx.StoreValue("v", v)
		require.ErrorIs(t, err, device.ErrInvalid)
	}
	// Where the type says nothing, the items do.
	loaded, err := onnx.LoadValue(s, &model.Value{Kind: model.SequenceType, Items: []model.Value{f}}, unknown)
	require.NoError(t, err)
	require.Equal(t, layout.Float32, loaded.(*onnx.Sequence).Elem)
	require.NoError(t, loaded.Release())
}
