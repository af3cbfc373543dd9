package model

import (
	"testing"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func TestAttrs(t *testing.T) {
	as := Attrs{{Name: "s", Value: "text"}, {Name: "f", Value: float32(2)}, {Name: "ss", Value: []string{"a"}}}
	s, err := as.StrOr("s", "other")
	assert.Equal(t, "text", s)
	assert.NoError(t, err)
	s, err = as.StrOr("absent", "other")
	assert.Equal(t, "other", s)
	assert.NoError(t, err)
	_, err = as.StrOr("f", "other")
	assert.ErrorIs(t, err, layout.ErrInvalid)
	f, ok, err := as.Float("f")
	assert.Equal(t, float32(2), f)
	assert.True(t, ok)
	assert.NoError(t, err)
	ss, ok, err := as.Strs("ss")
	assert.Equal(t, []string{"a"}, ss)
	assert.True(t, ok)
	assert.NoError(t, err)
	_, ok, err = as.Tensor("absent")
	assert.False(t, ok)
	assert.NoError(t, err)
	assert.Equal(t, "no kind", Attr{Value: 3}.Kind())
	assert.Equal(t, "type_protos", Attr{Value: []*Type{}}.Kind())
}

func TestTypes(t *testing.T) {
	shape, ok := TensorOf(layout.Int8, Known(2), Known(0)).Shape()
	assert.True(t, ok)
	assert.Equal(t, layout.Shape{2, 0}, shape)
	_, ok = TensorOf(layout.Int8, Symbolic("N")).Shape()
	assert.False(t, ok)
	_, ok = Type{Kind: TensorType}.Shape()
	assert.False(t, ok)
	scalar, ok := TensorOf(layout.Int8).Shape()
	assert.True(t, ok)
	assert.Empty(t, scalar)
	for want, typ := range map[string]Type{
		"?":                      {},
		"sparse(int8[])":         {Kind: SparseTensorType, Elem: layout.Int8, HasShape: true},
		"opaque(d.n)":            {Kind: OpaqueType, Domain: "d", Name: "n"},
		"optional(?)":            {Kind: OptionalType},
		"map(int64,sequence(?))": {Kind: MapType, Elem: layout.Int64, Item: &Type{Kind: SequenceType}},
	} {
		assert.Equal(t, want, typ.String())
		m := small(t)
		m.Graph.Inputs = []ValueInfo{{Name: "x", Type: typ}}
		b, err := m.Marshal()
		require.NoError(t, err)
		again, err := Parse(b, "")
		require.NoError(t, err)
		assert.Equal(t, typ, again.Graph.Inputs[0].Type)
	}
}

func TestSize(t *testing.T) {
	n, err := (&Tensor{Type: layout.Uint2, Dims: layout.Shape{5}}).Size()
	assert.Equal(t, int64(2), n)
	assert.NoError(t, err)
	_, err = (&Tensor{Type: layout.String}).Size()
	assert.ErrorIs(t, err, layout.ErrUnsupported)
}

func TestValuesThatAreRefused(t *testing.T) {
	type S = onnxpb.SequenceProto
	tensor := &onnxpb.TensorProto{DataType: proto.Int32(3), RawData: []byte{1}}
	deep := &S{}
	for range maxNesting + 1 {
		deep = &S{ElemType: proto.Int32(elemSequence), SequenceValues: []*S{deep}}
	}
	for says, c := range map[string]struct {
		p    *S
		kind error
	}{
		"elem_type is 3 and there are tensors": {&S{ElemType: proto.Int32(elemSequence), TensorValues: []*onnxpb.TensorProto{tensor}}, layout.ErrInvalid},
		"elem_type is 0 and there are tensors": {&S{TensorValues: []*onnxpb.TensorProto{tensor}}, layout.ErrInvalid},
		"elem_type 6":                          {&S{ElemType: proto.Int32(6)}, layout.ErrUnsupported},
		"sparse tensors and maps":              {&S{ElemType: proto.Int32(elemMap)}, layout.ErrUnsupported},
		"value 0: data_type 0":                 {&S{ElemType: proto.Int32(elemTensor), TensorValues: []*onnxpb.TensorProto{{DataType: proto.Int32(0)}}}, layout.ErrInvalid},
		"values are nested more than 32 deep":  {deep, layout.ErrInvalid},
		"not valid UTF-8":                      {&S{Name: proto.String("\xff")}, layout.ErrInvalid},
	} {
		t.Run(says, func(t *testing.T) {
			_, err := ReadValue(encode(t, c.p), Type{Kind: SequenceType})
			assert.ErrorIs(t, err, c.kind)
			assert.ErrorContains(t, err, says)
		})
	}
}
