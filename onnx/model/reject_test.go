package model

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func encode(t testing.TB, p proto.Message) []byte {
	b, err := proto.Marshal(p)
	require.NoError(t, err)
	return b
}

func TestTensorsThatAreRefused(t *testing.T) {
	type T = onnxpb.TensorProto
	typ := func(d layout.DType) *int32 { return proto.Int32(int32(d)) }
	for name, c := range map[string]struct {
		p    *T
		kind error
		says []string
	}{
		"no type":            {&T{}, layout.ErrInvalid, []string{"data_type 0"}},
		"negative type":      {&T{DataType: proto.Int32(-1)}, layout.ErrInvalid, []string{"data_type -1"}},
		"newer type":         {&T{DataType: proto.Int32(27)}, layout.ErrUnsupported, []string{"data_type 27", "26 (int2)"}},
		"type beyond a byte": {&T{DataType: proto.Int32(256 + 1)}, layout.ErrUnsupported, []string{"data_type 257"}},
		"segment":            {&T{DataType: typ(layout.Int8), Segment: &onnxpb.TensorProto_Segment{}}, layout.ErrUnsupported, []string{"segment"}},
		"no data":            {&T{Name: proto.String("n"), DataType: typ(layout.Int8)}, layout.ErrInvalid, []string{`"n"`, "0 entries", "takes 1"}},
		"negative dim":       {&T{DataType: typ(layout.Int8), Dims: []int64{2, -1}, RawData: []byte{1}}, layout.ErrInvalid, []string{"[2,-1]", "negative"}},
		"product wraps":      {&T{DataType: typ(layout.Int8), Dims: []int64{1 << 32, 1 << 32}}, layout.ErrInvalid, []string{"overflows"}},
		"bytes wrap":         {&T{DataType: typ(layout.Float64), Dims: []int64{1 << 61}}, layout.ErrInvalid, []string{"overflows"}},
		"huge":               {&T{DataType: typ(layout.Uint8), Dims: []int64{1 << 40}, RawData: []byte{1, 2, 3}}, layout.ErrInvalid, []string{"has 3 bytes", "takes 1099511627776"}},
		"huge typed":         {&T{DataType: typ(layout.Float32), Dims: []int64{1 << 40}, FloatData: []float32{1}}, layout.ErrInvalid, []string{"has 1 entries", "takes 1099511627776"}},
		"huge strings":       {&T{DataType: typ(layout.String), Dims: []int64{1 << 40}, StringData: [][]byte{nil}}, layout.ErrInvalid, []string{"1 strings", "1099511627776"}},
		"raw too short":      {&T{DataType: typ(layout.Int32), Dims: []int64{2}, RawData: make([]byte, 7)}, layout.ErrInvalid, []string{"7 bytes", "int32[2]", "takes 8"}},
		"raw too long":       {&T{DataType: typ(layout.Int4), Dims: []int64{3}, RawData: make([]byte, 3)}, layout.ErrInvalid, []string{"3 bytes", "int4[3]", "takes 2"}},
		"typed too long":     {&T{DataType: typ(layout.Complex64), Dims: []int64{1}, FloatData: make([]float32, 3)}, layout.ErrInvalid, []string{"3 entries", "takes 2"}},
		"packed too long":    {&T{DataType: typ(layout.Int2), Dims: []int64{4}, Int32Data: make([]int32, 4)}, layout.ErrInvalid, []string{"4 entries", "takes 1"}},
		"raw and typed":      {&T{DataType: typ(layout.Int32), Dims: []int64{1}, RawData: make([]byte, 4), Int32Data: []int32{0}}, layout.ErrInvalid, []string{"raw_data", "int32_data"}},
		"two typed":          {&T{DataType: typ(layout.Int32), Dims: []int64{1}, Int64Data: []int64{1}, Int32Data: []int32{0}}, layout.ErrInvalid, []string{"int64_data", "int32_data"}},
		"wrong field":        {&T{DataType: typ(layout.Int32), Dims: []int64{1}, Int64Data: []int64{1}}, layout.ErrInvalid, []string{"int32", "int64_data"}},
		"raw strings":        {&T{DataType: typ(layout.String), Dims: []int64{1}, RawData: []byte{1}}, layout.ErrInvalid, []string{"string", "raw_data"}},
		"string count":       {&T{DataType: typ(layout.String), Dims: []int64{2}, StringData: [][]byte{nil}}, layout.ErrInvalid, []string{"1 strings", "2 elements"}},
		"string not UTF-8":   {&T{DataType: typ(layout.String), StringData: [][]byte{{0xff}}}, layout.ErrInvalid, []string{"string 0", "UTF-8"}},
		"name not UTF-8":     {&T{DataType: typ(layout.Int8), Name: proto.String("\xff"), RawData: []byte{1}}, layout.ErrInvalid, []string{"UTF-8"}},
		"int8 beyond":        {&T{DataType: typ(layout.Int8), Dims: []int64{2}, Int32Data: []int32{-128, 128}}, layout.ErrInvalid, []string{"entry 1", "128", "int8"}},
		"uint8 below":        {&T{DataType: typ(layout.Uint8), Int32Data: []int32{-1}}, layout.ErrInvalid, []string{"-1", "uint8"}},
		"int16 beyond":       {&T{DataType: typ(layout.Int16), Int32Data: []int32{1 << 15}}, layout.ErrInvalid, []string{"32768"}},
		"float16 beyond":     {&T{DataType: typ(layout.Float16), Int32Data: []int32{1 << 16}}, layout.ErrInvalid, []string{"65536", "float16"}},
		"bfloat16 below":     {&T{DataType: typ(layout.BFloat16), Int32Data: []int32{-1}}, layout.ErrInvalid, []string{"bfloat16"}},
		"float8 beyond":      {&T{DataType: typ(layout.Float8E5M2), Int32Data: []int32{256}}, layout.ErrInvalid, []string{"256"}},
		"int4 below":         {&T{DataType: typ(layout.Int4), Int32Data: []int32{-129}}, layout.ErrInvalid, []string{"int4"}},
		"uint4 below":        {&T{DataType: typ(layout.Uint4), Int32Data: []int32{-1}}, layout.ErrInvalid, []string{"uint4"}},
		"int2 beyond":        {&T{DataType: typ(layout.Int2), Int32Data: []int32{256}}, layout.ErrInvalid, []string{"int2"}},
		"bool 2":             {&T{DataType: typ(layout.Bool), Int32Data: []int32{2}}, layout.ErrInvalid, []string{"bool"}},
		"raw bool 2":         {&T{DataType: typ(layout.Bool), Dims: []int64{2}, RawData: []byte{1, 2}}, layout.ErrInvalid, []string{"element 1", "2"}},
		"uint32 beyond":      {&T{DataType: typ(layout.Uint32), Uint64Data: []uint64{1 << 32}}, layout.ErrInvalid, []string{"4294967296"}},
		"location":           {&T{DataType: typ(layout.Int8), DataLocation: proto.Int32(2)}, layout.ErrUnsupported, []string{"data_location 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseTensor(encode(t, c.p))
			require.Error(t, err)
			assert.ErrorIs(t, err, c.kind)
			assert.Contains(t, err.Error(), "model.ReadValue: ")
			for _, s := range c.says {
				assert.ErrorContains(t, err, s)
			}
		})
	}
}

func TestTensorsThatAreTaken(t *testing.T) {
	type T = onnxpb.TensorProto
	typ := func(d layout.DType) *int32 { return proto.Int32(int32(d)) }
	for name, c := range map[string]struct {
		p    *T
		want []byte
	}{
		"tail bits of raw data":    {&T{DataType: typ(layout.Int4), Dims: []int64{3}, RawData: []byte{0xff, 0xff}}, []byte{0xff, 0x0f}},
		"tail bits of typed data":  {&T{DataType: typ(layout.Uint2), Dims: []int64{5}, Int32Data: []int32{0xff, 0xff}}, []byte{0xff, 0x03}},
		"int4 of ONNX 1.16":        {&T{DataType: typ(layout.Int4), Dims: []int64{3}, Int32Data: []int32{-120, -9}}, []byte{0x88, 0x07}},
		"no tail":                  {&T{DataType: typ(layout.Uint2), Dims: []int64{4}, RawData: []byte{0xff}}, []byte{0xff}},
		"empty raw data":           {&T{DataType: typ(layout.Float32), Dims: []int64{0}, RawData: []byte{}}, []byte{}},
		"no field, no elements":    {&T{DataType: typ(layout.Float32), Dims: []int64{1 << 40, 0, 1 << 40}}, []byte{}},
		"scalar":                   {&T{DataType: typ(layout.Int16), Int32Data: []int32{-2}}, []byte{0xfe, 0xff}},
		"external_data without it": {&T{DataType: typ(layout.Int8), RawData: []byte{1}, ExternalData: []*onnxpb.StringStringEntryProto{{}}}, []byte{1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseTensor(encode(t, c.p))
			require.NoError(t, err)
			assert.Equal(t, c.want, got.Data)
		})
	}
}

// A message that claims much and holds little must fail before it costs memory.
func TestHugeClaimsAllocateLittle(t *testing.T) {
	b := encode(t, &onnxpb.TensorProto{DataType: proto.Int32(1), Dims: []int64{1 << 40}, RawData: []byte{1, 2, 3}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		_, err := parseTensor(b)
		require.Error(t, err)
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestModelsThatAreRefused(t *testing.T) {
	type M = onnxpb.ModelProto
	type G = onnxpb.GraphProto
	type N = onnxpb.NodeProto
	type A = onnxpb.AttributeProto
	str := proto.String
	opset := func(domain string, v int64) *onnxpb.OperatorSetIdProto {
		return &onnxpb.OperatorSetIdProto{Domain: &domain, Version: &v}
	}
	model := func(g *G) *M {
		return &M{IrVersion: proto.Int64(8), Graph: g, OpsetImport: []*onnxpb.OperatorSetIdProto{opset("", 17)}}
	}
	node := func(attrs ...*A) *M {
		return model(&G{Node: []*N{{Name: str("n"), OpType: str("Op"), Attribute: attrs}}})
	}
	info := func(name string) *onnxpb.ValueInfoProto { return &onnxpb.ValueInfoProto{Name: &name} }
	scalar := func(name string) *onnxpb.TensorProto {
		return &onnxpb.TensorProto{Name: &name, DataType: proto.Int32(3), RawData: []byte{1}}
	}
	badType := &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{
		Shape: &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{
			{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: -2}}}}}}}
	newType := &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(99)}}}
	nested := &G{}
	for range maxNesting + 1 {
		nested = &G{Node: []*N{{OpType: str("If"), Attribute: []*A{{Name: str("b"), G: nested}}}}}
	}
	nestedType := &onnxpb.TypeProto{}
	for range maxNesting + 1 {
		nestedType = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: nestedType}}}
	}

	for name, c := range map[string]struct {
		p    *M
		kind error
		says []string
	}{
		"empty":                {&M{}, layout.ErrInvalid, []string{"ir_version"}},
		"no graph":             {&M{IrVersion: proto.Int64(8)}, layout.ErrInvalid, []string{"no graph"}},
		"ir_version 0":         {&M{IrVersion: proto.Int64(0), Graph: &G{}, OpsetImport: []*onnxpb.OperatorSetIdProto{opset("", 1)}}, layout.ErrInvalid, []string{"ir_version is 0"}},
		"no opset":             {&M{IrVersion: proto.Int64(3), Graph: &G{}}, layout.ErrInvalid, []string{"opset_import"}},
		"opset 0":              {&M{IrVersion: proto.Int64(3), Graph: &G{}, OpsetImport: []*onnxpb.OperatorSetIdProto{opset("d", 0)}}, layout.ErrInvalid, []string{`"d"`, "version 0"}},
		"opset twice":          {&M{IrVersion: proto.Int64(3), Graph: &G{}, OpsetImport: []*onnxpb.OperatorSetIdProto{opset("", 1), opset("ai.onnx", 1)}}, layout.ErrInvalid, []string{`""`, "twice"}},
		"input twice":          {model(&G{Input: []*onnxpb.ValueInfoProto{info("a"), info("a")}}), layout.ErrInvalid, []string{"input 1", `"a"`, "twice"}},
		"input without name":   {model(&G{Input: []*onnxpb.ValueInfoProto{info("")}}), layout.ErrInvalid, []string{"input 0", "no name"}},
		"initializer twice":    {model(&G{Initializer: []*onnxpb.TensorProto{scalar("a"), {Name: proto.String("a"), DataType: proto.Int32(1), FloatData: []float32{7}}}}), layout.ErrInvalid, []string{"initializer 1", `"a"`, "twice"}},
		"initializer unnamed":  {model(&G{Initializer: []*onnxpb.TensorProto{scalar("")}}), layout.ErrInvalid, []string{"initializer 0", "no name"}},
		"initializer broken":   {model(&G{Initializer: []*onnxpb.TensorProto{scalar("a"), {Name: str("b")}}}), layout.ErrInvalid, []string{`initializer 1 "b"`, "data_type 0"}},
		"sparse twice":         {model(&G{Initializer: []*onnxpb.TensorProto{scalar("a")}, SparseInitializer: []*onnxpb.SparseTensorProto{{Values: scalar("a"), Indices: scalar("")}}}), layout.ErrInvalid, []string{"sparse initializer 0", "twice"}},
		"sparse without parts": {model(&G{SparseInitializer: []*onnxpb.SparseTensorProto{{Values: scalar("a")}}}), layout.ErrInvalid, []string{"sparse initializer 0", "indices"}},
		"no op_type":           {model(&G{Node: []*N{{Name: str("n")}}}), layout.ErrInvalid, []string{`node 0 "n"`, "op_type"}},
		"attribute twice":      {node(&A{Name: str("a"), I: proto.Int64(1)}, &A{Name: str("a"), I: proto.Int64(1)}), layout.ErrInvalid, []string{`node 0 "n" (Op)`, `"a"`, "twice"}},
		"attribute unnamed":    {node(&A{I: proto.Int64(1)}), layout.ErrInvalid, []string{"attribute 0", "no name"}},
		"attribute disagrees":  {node(&A{Name: str("a"), Type: proto.Int32(1), I: proto.Int64(1)}), layout.ErrInvalid, []string{`attribute "a"`, "float", "int"}},
		"attribute with two":   {node(&A{Name: str("a"), F: proto.Float32(1), I: proto.Int64(1)}), layout.ErrInvalid, []string{"float", "int"}},
		"attribute of nothing": {node(&A{Name: str("a")}), layout.ErrInvalid, []string{"neither"}},
		"attribute sans value": {node(&A{Name: str("a"), Type: proto.Int32(4)}), layout.ErrInvalid, []string{"no value"}},
		"attribute type 15":    {node(&A{Name: str("a"), Type: proto.Int32(15)}), layout.ErrUnsupported, []string{"attribute type 15"}},
		"attribute type -1":    {node(&A{Name: str("a"), Type: proto.Int32(-1)}), layout.ErrUnsupported, []string{"attribute type -1"}},
		"reference and value":  {node(&A{Name: str("a"), RefAttrName: str("r"), I: proto.Int64(1)}), layout.ErrInvalid, []string{`"r"`, "value"}},
		"attribute tensor":     {node(&A{Name: str("a"), T: &onnxpb.TensorProto{}}), layout.ErrInvalid, []string{`node 0 "n" (Op): attribute "a"`}},
		"graphs too deep":      {model(nested), layout.ErrInvalid, []string{"graphs", "32"}},
		"types too deep":       {model(&G{Input: []*onnxpb.ValueInfoProto{{Name: str("a"), Type: nestedType}}}), layout.ErrInvalid, []string{`input 0 "a"`, "types", "32"}},
		"dim -2":               {model(&G{Output: []*onnxpb.ValueInfoProto{{Name: str("a"), Type: badType}}}), layout.ErrInvalid, []string{`output 0 "a"`, "axis 0", "-2"}},
		"elem type 99":         {model(&G{Output: []*onnxpb.ValueInfoProto{{Name: str("a"), Type: newType}}}), layout.ErrUnsupported, []string{`output 0 "a"`, "99"}},
		"name not UTF-8":       {model(&G{Node: []*N{{OpType: str("Op"), Input: []string{"ok", "\xff"}}}}), layout.ErrInvalid, []string{"node 0", "input", `"\xff"`, "UTF-8"}},
		"function twice": {&M{IrVersion: proto.Int64(8), Graph: &G{}, OpsetImport: []*onnxpb.OperatorSetIdProto{opset("", 17)},
			Functions: []*onnxpb.FunctionProto{{Name: str("f")}, {Name: str("f")}}}, layout.ErrInvalid, []string{`function 1 "f"`, "twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(encode(t, c.p), "")
			require.Error(t, err)
			assert.ErrorIs(t, err, c.kind)
			assert.Contains(t, err.Error(), "model.Parse: ")
			for _, s := range c.says {
				assert.ErrorContains(t, err, s)
			}
		})
	}
}

func TestDeepNestingDoesNotRecurseWithoutEnd(t *testing.T) {
	// The graph of an attribute of a node of a graph, 2000 times, written from
	// the inside out.
	var deep []byte
	for range 2000 {
		for _, tag := range []byte{6<<3 | 2, 5<<3 | 2, 1<<3 | 2} { // attribute.g, node.attribute, graph.node
			deep = append(append([]byte{tag}, varint(len(deep))...), deep...)
		}
	}
	deep = append(append([]byte{7<<3 | 2}, varint(len(deep))...), deep...)
	_, err := Parse(deep, "")
	assert.ErrorIs(t, err, layout.ErrInvalid)
	assert.ErrorContains(t, err, "messages are nested more than 192 deep")
}

func varint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func TestTruncatedModels(t *testing.T) {
	b, err := small(t).Marshal()
	require.NoError(t, err)
	for n := range b {
		m, err := Parse(b[:n], "")
		if err == nil { // cut exactly between two fields
			assertRoundTrip(t, m)
			continue
		}
		assert.ErrorIs(t, err, layout.ErrInvalid)
	}
	for n := range 1000 {
		_, err := Parse(bytes.Repeat([]byte{byte(n)}, n), "")
		assert.Error(t, err)
	}
}

func TestOldModels(t *testing.T) {
	p := &onnxpb.ModelProto{IrVersion: proto.Int64(2), Graph: &onnxpb.GraphProto{Node: []*onnxpb.NodeProto{{
		OpType: proto.String("Op"), Domain: proto.String("ai.onnx"), Attribute: []*onnxpb.AttributeProto{
			{Name: proto.String("i"), I: proto.Int64(3)},
			{Name: proto.String("fs"), Floats: []float32{1}},
			{Name: proto.String("zero"), Type: proto.Int32(int32(intAttr))},
		}}}}}
	m, err := Parse(encode(t, p), "")
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"": 1}, m.Opsets)
	n := m.Graph.Nodes[0]
	assert.Empty(t, n.Domain)
	i, ok, err := n.Attrs.Int("i")
	assert.Equal(t, int64(3), i)
	assert.True(t, ok)
	assert.NoError(t, err)
	fs, _, err := n.Attrs.Floats("fs")
	assert.Equal(t, []float32{1}, fs)
	assert.NoError(t, err)
	zero, ok, err := n.Attrs.Int("zero")
	assert.Zero(t, zero)
	assert.True(t, ok)
	assert.NoError(t, err)
	_, _, err = n.Attrs.Ints("i")
	assert.ErrorIs(t, err, layout.ErrInvalid)
	assert.ErrorContains(t, err, "kind int, want ints")
	five, err := n.Attrs.IntOr("absent", 5)
	assert.Equal(t, int64(5), five)
	assert.NoError(t, err)
	assertRoundTrip(t, m)
}

func TestErrorsDoNotRepeatHugeNames(t *testing.T) {
	p := &onnxpb.TensorProto{Name: proto.String(strings.Repeat("x", 1<<20))}
	_, err := parseTensor(encode(t, p))
	assert.Less(t, len(err.Error()), 300)
}

// A type of very many axes was read: 200 MB of the host's for a model of 4.
func TestTypeOfTooManyAxes(t *testing.T) {
	m := New("g", 21)
	m.Graph.Inputs = []ValueInfo{{Name: "x", Type: TensorOf(layout.Float32, make([]Dim, layout.MaxRank)...)}}
	b, err := m.Marshal()
	require.NoError(t, err)
	_, err = Parse(b, "")
	require.NoError(t, err)
	m.Graph.Inputs[0].Type.Dims = make([]Dim, layout.MaxRank+1)
	b, err = m.Marshal()
	require.NoError(t, err)
	_, err = Parse(b, "")
	require.ErrorIs(t, err, layout.ErrUnsupported)
	require.ErrorContains(t, err, `input 0 "x": a type of rank 65; the highest is 64`)
}
