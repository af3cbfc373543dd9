package model

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// The fixtures in testdata were written by ONNX's own Python package; make.py
// there says how.

type tensorCase struct {
	Type     layout.DType
	Dims     []int64
	Encoding string
	PB, Data string
	Strings  []string
}

func tensorCases(t testing.TB) []tensorCase {
	b, err := os.ReadFile("testdata/tensors.json")
	require.NoError(t, err)
	var cases []tensorCase
	require.NoError(t, json.Unmarshal(b, &cases))
	return cases
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func TestTensorsOfPythonONNX(t *testing.T) {
	seen := map[layout.DType]int{}
	for _, c := range tensorCases(t) {
		t.Run(c.Type.String()+layout.Shape(c.Dims).String()+c.Encoding, func(t *testing.T) {
			got, err := parseTensor(unhex(t, c.PB))
			require.NoError(t, err)
			assert.Equal(t, c.Type, got.Type)
			assert.Len(t, got.Dims, len(c.Dims))
			assert.True(t, got.Dims.Equal(c.Dims))
			if c.Type == layout.String {
				assert.Equal(t, c.Strings, got.Strings)
				assert.Nil(t, got.Data)
			} else {
				assert.Equal(t, unhex(t, c.Data), got.Data)
				assert.Nil(t, got.Strings)
			}
			b, err := marshalTensor(got)
			require.NoError(t, err)
			again, err := parseTensor(b)
			require.NoError(t, err)
			assert.Equal(t, got, again)
			if c.Encoding == "raw" {
				// Python's own bytes, field order included.
				assert.Equal(t, unhex(t, c.PB), b)
			}
		})
		seen[c.Type]++
	}
	assert.Len(t, seen, 26)
}

func TestModelOfPythonONNX(t *testing.T) {
	m, err := Load("testdata/model.onnx")
	require.NoError(t, err)
	assert.Equal(t, int64(10), m.IRVersion)
	assert.Equal(t, map[string]int64{"": 21, "test.domain": 3, "own": 1}, m.Opsets)
	assert.Equal(t, "make.py", m.Producer)
	assert.Equal(t, "1", m.ProducerVersion)
	assert.Equal(t, "testdata", m.Dir)

	g := m.Graph
	assert.Equal(t, "main", g.Name)
	var types []string
	for _, v := range g.Inputs {
		types = append(types, v.Name+" "+v.Type.String())
	}
	assert.Equal(t, []string{"x float[2,N,?]", "seq sequence(float)", "opt optional(sequence(float[]))", "map map(string,float[1])"}, types)
	assert.Equal(t, TensorOf(layout.Float32), g.ValueInfo[0].Type)
	assert.Equal(t, Type{Kind: TensorType, Elem: layout.Float32}, g.Outputs[0].Type)
	shape, ok := g.Initializer("shape")
	require.True(t, ok)
	values, err := Elements[int64](shape)
	require.NoError(t, err)
	assert.Equal(t, []int64{2, -1}, values)

	n := g.Nodes[0]
	assert.Equal(t, []string{"x", "", "shape"}, n.Inputs)
	assert.Equal(t, "test.domain", n.Domain)
	assert.Equal(t, "o", n.Overload)
	want := map[string]any{
		"f": float32(1.5), "i": int64(-3), "s": "text", "floats": []float32{0.5, -0.5}, "ints": []int64{1, -1},
		"strings": []string{"a", "b"}, "empty": []int64{},
	}
	kinds := map[string]bool{}
	for _, a := range n.Attrs {
		kinds[a.Kind()] = true
		if w, ok := want[a.Name]; ok {
			assert.Equal(t, w, a.Value, a.Name)
		}
	}
	assert.Len(t, kinds, 14)
	inner, ok := n.Attrs.Get("g")
	require.True(t, ok)
	c, ok := inner.Value.(*Graph).Initializer("inner_c")
	require.True(t, ok)
	assert.Equal(t, []byte{7, 0, 0, 0, 0, 0, 0, 0, 0xf9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, c.Data)

	f, ok := m.Function("own", "Twice", "")
	require.True(t, ok)
	assert.Equal(t, []string{"k"}, f.Attrs)
	ref, _ := f.Nodes[0].Attrs.Get("allowzero")
	assert.Equal(t, "k", ref.Ref)
	assert.Equal(t, "int", ref.Kind())
	_, _, err = f.Nodes[0].Attrs.Int("allowzero")
	assert.ErrorIs(t, err, layout.ErrUnsupported)
	_, ok = m.Function("own", "Twice", "other")
	assert.False(t, ok)

	assertRoundTrip(t, m)
}

// What the API does not show must survive too: compare the messages.
func TestRoundTripKeepsTheRest(t *testing.T) {
	before, err := os.ReadFile("testdata/model.onnx")
	require.NoError(t, err)
	m, err := Parse(before, "testdata")
	require.NoError(t, err)
	after, err := m.Marshal()
	require.NoError(t, err)
	var p, q onnxpb.ModelProto
	require.NoError(t, proto.Unmarshal(before, &p))
	require.NoError(t, proto.Unmarshal(after, &q))
	assert.Equal(t, "a model", q.GetDocString())
	assert.Equal(t, "a graph", q.GetGraph().GetDocString())
	assert.Equal(t, "a node", q.GetGraph().GetNode()[0].GetDocString())
	assert.Len(t, q.GetMetadataProps(), 1)
	assert.True(t, proto.Equal(&onnxpb.ModelProto{TrainingInfo: p.TrainingInfo, ModelVersion: p.ModelVersion},
		&onnxpb.ModelProto{TrainingInfo: q.TrainingInfo, ModelVersion: q.ModelVersion}))
}

func TestUnknownFieldsSurvive(t *testing.T) {
	b := minimal(t)
	b = append(b, 0xfa, 0x3e, 2, 'h', 'i') // field 1007 of ModelProto
	m, err := Parse(b, "")
	require.NoError(t, err)
	after, err := m.Marshal()
	require.NoError(t, err)
	assert.Contains(t, string(after), "\xfa\x3e\x02hi")
}

func TestValuesOfPythonONNX(t *testing.T) {
	b, err := os.ReadFile("testdata/values.json")
	require.NoError(t, err)
	var files map[string]string
	require.NoError(t, json.Unmarshal(b, &files))
	tensor := Type{Kind: TensorType}
	for name, c := range map[string]struct {
		typ  Type
		want string
	}{
		"sequence": {SequenceOf(tensor), "[[2] [1,1]]"},
		"empty":    {SequenceOf(tensor), "[]"},
		"nested":   {SequenceOf(SequenceOf(tensor)), "[[[2]] [[1,1] [2]]]"},
		"none":     {OptionalOf(tensor), "?[]"},
		"some":     {OptionalOf(tensor), "?[[2]]"},
		"list":     {OptionalOf(SequenceOf(tensor)), "?[[[2] [1,1]]]"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := ReadValue(unhex(t, files[name]), c.typ)
			require.NoError(t, err)
			assert.Equal(t, c.want, describe(*v))
			b, err := v.Marshal()
			require.NoError(t, err)
			again, err := ReadValue(b, c.typ)
			require.NoError(t, err)
			assert.Equal(t, v, again)
			assert.Equal(t, files[name], hex.EncodeToString(b))
		})
	}
	_, err = ReadValue(unhex(t, files["nested"]), SequenceOf(tensor))
	assert.ErrorIs(t, err, layout.ErrInvalid)
	_, err = ReadValue(nil, Type{Kind: MapType})
	assert.ErrorIs(t, err, layout.ErrUnsupported)
}

func describe(v Value) string {
	if v.Kind == TensorType {
		return v.Tensor.Dims.String()
	}
	s := "["
	if v.Kind == OptionalType {
		s = "?["
	}
	for i, item := range v.Items {
		if i > 0 {
			s += " "
		}
		s += describe(item)
	}
	return s + "]"
}
