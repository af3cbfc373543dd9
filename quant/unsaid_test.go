package quant

import (
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// opened is the one weight that there is.
func opened(t *testing.T, f *Format, p Params, all ...Tensor) (*Weight, error) {
	w, _, err := Find(f, p, all)
	if err != nil {
		return nil, err
	}
	require.Len(t, w, 1)
	return w[0], nil
}

func tensorOf(name, typ string, dims ...int64) Tensor { return Tensor{name, typ, dims, nil} }

// numbers32 is a tensor of I32 with its content.
func numbers32(name string, numbers ...int32) Tensor {
	var b []byte
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return content(name, "I32", b, int64(len(numbers)))
}

// TestBugBitsGuessed: codes were taken for 4 bits, HQQ's of few rows for 2, though shapes
// agreed with others.
func TestBugBitsGuessed(t *testing.T) {
	unsaid := Params{Group: -1}
	qweight, scales := tensorOf("w.qweight", "I32", 16, 64), tensorOf("w.scales", "F16", 4, 64)
	for name, c := range map[string]struct {
		format *Format
		all    []Tensor
	}{
		"hqq, few rows": {hqq, []Tensor{tensorOf("w.W_q", "U8", 16, 64)}}, "hqq": {hqq, []Tensor{tensorOf("w.W_q", "U8", 64, 64)}},
		"packed": {packed, []Tensor{tensorOf("w.weight", "U8", 64, 64)}}, "gptq": {gptq, []Tensor{qweight, scales}},
		"matmulnbits": {matMulNBits, []Tensor{tensorOf("w.B", "U8", 8, 4, 16), tensorOf("w.scales", "F16", 8, 4)}},
	} {
		_, err := opened(t, c.format, unsaid, c.all...)
		require.ErrorIs(t, err, ErrUnsaid, name)
		require.ErrorContains(t, err, "--bits", name)
	}
	for name, c := range map[string]struct {
		format *Format
		bits   int64
		all    []Tensor
	}{
		"by groups of k":    {gptq, 4, []Tensor{qweight, scales, tensorOf("w.g_idx", "I32", 128)}},
		"by zero points":    {gptq, 8, []Tensor{qweight, scales, tensorOf("w.qzeros", "I32", 4, 16)}},
		"by what has words": {hqq, 3, []Tensor{tensorOf("w.W_q", "I32", 16, 64)}},
		"by the sign":       {packed, 8, []Tensor{tensorOf("w.weight", "I8", 64, 64)}},
		"by the format":     {awq, 4, []Tensor{tensorOf("w.qweight", "I32", 64, 8), tensorOf("w.scales", "F16", 2, 64)}},
	} {
		w, err := opened(t, c.format, unsaid, c.all...)
		require.NoError(t, err, name)
		assert.Equal(t, c.bits, w.Params.Bits, name)
	}
	w, err := opened(t, hqq, Params{Bits: 2, Group: -1}, tensorOf("w.W_q", "U8", 16, 64))
	require.NoError(t, err)
	assert.Equal(t, []int64{64, 64}, w.Shape())
	_, err = opened(t, packed, Params{Bits: 4, Group: -1}, tensorOf("w.weight", "I8", 64, 64))
	require.ErrorContains(t, err, "codes of 8 bits, and 4 are said")
	_, err = opened(t, hqq, Params{Bits: 8, Group: -1}, columnsOf(32, 128, 0, 4)...)
	require.ErrorContains(t, err, "codes of 4 bits, and 8 are said")
}

// TestBugGroupsGuessed: three groups of 72 columns were taken for ones of 24, and group_size
// counted only where shapes agreed with it.
func TestBugGroupsGuessed(t *testing.T) {
	all := []Tensor{tensorOf("w.weight", "U8", 8, 36), tensorOf("w.scales", "F16", 8, 3)}
	open := func(hint int64) (*Weight, error) {
		return opened(t, packed, Params{Bits: 4, Group: -1, GroupHint: hint}, all...)
	}
	_, err := open(0)
	require.ErrorIs(t, err, ErrUnsaid)
	require.ErrorContains(t, err, "which may be of 24 or of 32: say which (--group")
	for _, hint := range []int64{24, 32} {
		w, err := open(hint)
		require.NoError(t, err)
		assert.Equal(t, hint, w.Params.Group)
	}
	for _, hint := range []int64{16, 64, -1} {
		_, err := open(hint)
		require.ErrorIs(t, err, layout.ErrInvalid, "%d", hint)
	}
	all = []Tensor{tensorOf("w.weight", "U8", 8, 32), tensorOf("w.scales", "F16", 8, 1)}
	_, err = open(16)
	require.ErrorContains(t, err, "scales for 1 groups of 64 columns; groups of 16 are said")
	all = []Tensor{tensorOf("w.weight", "U8", 8, 40), tensorOf("w.scales", "F16", 8, 3)}
	_, err = open(0)
	require.ErrorIs(t, err, ErrUnsaid)
	all = []Tensor{tensorOf("w.weight", "U8", 8, 64), tensorOf("w.scales", "F16", 8, 4)}
	w, err := open(0)
	require.NoError(t, err)
	assert.EqualValues(t, 32, w.Params.Group)
	d, err := Describe(json.RawMessage(`{"quantization_config":{"quant_method":"packed","bits":4,"group_size":-1}}`), nil)
	require.NoError(t, err)
	assert.EqualValues(t, -1, d.Params.GroupHint)
}

// TestBugRulesOfSources: rules held for what is written alone: tiles that a shape does not have, scales that
// are integers, and tensors that change numbers were read, or passed over.
func TestBugRulesOfSources(t *testing.T) {
	p := Params{Group: -1}
	four := Params{Bits: 4, Group: -1}
	for rule, c := range map[string]struct {
		format *Format
		params Params
		all    []Tensor
	}{
		"machete: N is 1; a multiple of 128":            {machete, p, []Tensor{tensorOf("w.qweight", "I32", 32, 1), tensorOf("w.scales", "F16", 16, 1)}},
		"trtllm-w4a16: K is 32; a multiple of 64":       {trtLLM, p, []Tensor{tensorOf("w.weight", "I8", 32, 8), tensorOf("w.weights_scaling_factor", "F16", 1, 16)}},
		"trtllm-w4a16: codes of 3 bits; it has [4]":     {trtLLM, Params{Bits: 3, Group: -1}, []Tensor{tensorOf("w.weight", "I8", 64, 8)}},
		"matmulnbits: groups of 8; powers of two":       {matMulNBits, four, []Tensor{tensorOf("w.B", "U8", 8, 4, 4), tensorOf("w.scales", "F16", 8, 4)}},
		"of type I16; scales are of [F16 BF16]":         {gptq, four, []Tensor{tensorOf("w.qweight", "I32", 16, 64), tensorOf("w.scales", "I16", 4, 64)}},
		"of type U8; scales are of [F16 BF16 F32]":      {packed, four, []Tensor{tensorOf("w.weight", "U8", 8, 64), tensorOf("w.scales", "U8", 8, 4)}},
		"codes with a sign, and zero points":            {packed, p, []Tensor{tensorOf("w.weight", "I8", 8, 64), tensorOf("w.scales", "F16", 8, 2), tensorOf("w.zeros", "U8", 8, 2)}},
		`"w.qzeros" beside the weight`:                  {machete, p, []Tensor{tensorOf("w.qweight", "I32", 8, 128), tensorOf("w.scales", "F16", 2, 128), tensorOf("w.qzeros", "I32", 2, 16)}},
		"weight_scale and weight_scale_2":               {nvfp4, p, []Tensor{tensorOf("w.weight", "U8", 8, 64), tensorOf("w.weight_scale", "F8_E4M3", 8, 8)}},
		"it can be written, not read":                   {tiles128x4, p, []Tensor{tensorOf("w.weight_scale", "U8", 512)}},
		"blocks of GGUF's are read as gguf":             {q40, p, []Tensor{tensorOf("w.weight", "Q4_0", 8, 64)}},
		"row 2 is of group 5; there are 2":              {gptq, four, []Tensor{tensorOf("w.qweight", "I32", 1, 8), tensorOf("w.scales", "F16", 2, 8), numbers32("w.g_idx", 0, 0, 5, 0, 1, 1, 1, 1)}},
		"row 1 is of group -1; there are 2":             {gptq, four, []Tensor{tensorOf("w.qweight", "I32", 1, 8), tensorOf("w.scales", "F16", 2, 8), numbers32("w.g_idx", 0, -1, 0, 0, 1, 1, 1, 1)}},
		"sorted row 1 is row 0: of 16 rows each is":     {marlin, four, []Tensor{tensorOf("w.qweight", "I32", 1, 128), tensorOf("w.scales", "F16", 1, 64), tensorOf("w.g_idx", "I32", 16), numbers32("w.g_idx_sort_indices", make([]int32, 16)...)}},
		"where k is 100, n is 8":                        {compressedTensors, four, []Tensor{tensorOf("w.weight_packed", "I32", 8, 8), tensorOf("w.weight_scale", "F16", 8, 2), shapeTensor(8, 100)}},
		"w.weight_packed\" of shape [8,8] is no I32 of": {compressedTensors, four, []Tensor{tensorOf("w.weight_packed", "I32", 8, 8), tensorOf("w.weight_scale", "F16", 8, 2), shapeTensor(9, 64)}},
	} {
		_, err := opened(t, c.format, c.params, c.all...)
		require.ErrorContains(t, err, rule)
	}
}

func shapeTensor(n, k int64) Tensor {
	b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(n)), uint64(k))
	return content("w.weight_shape", "I64", b, 2)
}

// TestBugOrderFoundLate: groups in another order were found when their weight was converted,
// not when it was planned.
func TestBugOrderFoundLate(t *testing.T) {
	all := []Tensor{tensorOf("w.qweight", "I32", 1, 8), tensorOf("w.scales", "F16", 2, 8), numbers32("w.g_idx", 0, 0, 0, 1, 0, 1, 1, 1)}
	w, err := opened(t, gptq, Params{Bits: 4, Group: 4}, all...)
	require.NoError(t, err)
	_, err = w.Plan(packed)
	require.ErrorContains(t, err, "groups are not in order (g_idx)")
	_, err = w.Plan(gptqV1)
	require.NoError(t, err)
	_, err = w.Plan(floats)
	require.NoError(t, err)
}

// TestBugPaddedRows: padding at the end of compressed rows was read as columns.
func TestBugPaddedRows(t *testing.T) {
	all := []Tensor{tensorOf("w.weight_packed", "I32", 2, 2), tensorOf("w.weight_scale", "F16", 2, 1), shapeTensor(2, 12)}
	w, err := opened(t, compressedTensors, Params{Group: -1}, all...)
	require.NoError(t, err)
	assert.EqualValues(t, 4, w.Params.Bits)
	assert.Equal(t, []int64{2, 12}, w.Shape())
	p, err := w.Plan(packed)
	require.NoError(t, err)
	data := map[string][]byte{
		"w.weight_packed": {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 0xff, 0xff}, "w.weight_scale": make([]byte, 4),
		"w.weight_shape": {2, 7: 0, 8: 12, 15: 0},
	}
	got := converted(t, tensor.Host(), p, data)["w.weight"]
	assert.Equal(t, []byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 1, 2, 3, 4, 5, 6}, got)
	back, err := p.Back()
	require.NoError(t, err)
	again := converted(t, tensor.Host(), back, map[string][]byte{"w.weight": got, "w.scales": make([]byte, 4)})
	assert.Equal(t, []byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0}, again["w.weight_packed"])
}

// TestBugMarlinOneGroup: a group that has all of a row was written in the order of groups, and read in that of rows.
func TestBugMarlinOneGroup(t *testing.T) {
	for _, group := range []int64{0, 32, 128} {
		ext := extents{axisN: 64, axisK: 32}
		p := Params{Bits: 4, Group: group, Scale: "F16"}
		ext.group(p)
		w, err := only(t, packed, p, tensors(t, packed, p, ext)).Plan(marlin)
		require.NoError(t, err)
		assert.Equal(t, "g | n/32 n/2%4 n/8%4 n%2", w.To.arrays[1].order, "%d", group)
		read := only(t, marlin, p, w.To.Tensors)
		assert.Equal(t, w.To.arrays[1].order, read.arrays[1].order, "%d", group)
	}
}

// TestBugRoundingGuessed: without compute_dtype HQQ's numbers were rounded to float16.
func TestBugRoundingGuessed(t *testing.T) {
	var all []Tensor
	for _, x := range columnsOf(32, 128, 0, 4) {
		if x.Name != "w.compute_dtype" {
			all = append(all, x)
		}
	}
	w, err := opened(t, hqq, Params{Group: -1}, all...)
	require.NoError(t, err)
	_, err = w.Plan(floats32)
	require.ErrorContains(t, err, "compute_dtype is not there")
}

// TestBugTableGuessed: bitsandbytes' codes alone were said to be NF4.
func TestBugTableGuessed(t *testing.T) {
	w, err := opened(t, bitsandbytes, Params{Group: -1}, tensorOf("w.weight", "U8", 64, 1))
	require.NoError(t, err)
	assert.Equal(t, "nf4 or fp4", w.Params.Table)
	_, err = w.Plan(gptq)
	require.Error(t, err)
}

// TestTarget: a plan says what a weight of the same kind becomes.
func TestTarget(t *testing.T) {
	p := Params{Bits: 4, Group: -1}
	open := func(name string) *Weight {
		w, err := opened(t, packed, p, tensorOf(name+".weight", "U8", 8, 64), tensorOf(name+".scales", "F16", 8, 4))
		require.NoError(t, err)
		return w
	}
	a, b := open("a"), open("model.layers.1.mlp.up_proj")
	assert.Equal(t, a.Kind(), b.Kind())
	for _, to := range all {
		plan, err := a.Plan(to)
		other, e := b.Plan(to)
		require.Equal(t, err == nil, e == nil, to.Name)
		if err == nil {
			got := plan.Target(b)
			assert.Equal(t, other.To.Tensors, got.Tensors, to.Name)
			assert.Equal(t, other.To.Name, got.Name, to.Name)
		}
	}
}

// TestBugGroupsAsManyOfOtherSizes: of 64 columns two groups of 48 became two of 32, as they were.
func TestBugGroupsAsManyOfOtherSizes(t *testing.T) {
	for _, c := range []struct {
		k, group int64
		fits     bool
	}{{64, 48, false}, {64, 32, true}, {64, 64, true}, {64, 0, true}, {64, 100, true}, {96, 64, true}, {64, 24, false}} {
		p := Params{Bits: 4, Group: c.group, Scale: "F16"}
		ext := extents{axisN: 8, axisK: c.k}
		ext.group(p)
		w := only(t, packed, p, tensors(t, packed, p, ext))
		plan, err := w.Plan(gguf)
		if !c.fits {
			require.ErrorContains(t, err, "groups of 32; there are groups of", "%v", c)
			continue
		}
		require.NoError(t, err, "%v", c)
		data := map[string][]byte{"w.weight": make([]byte, 8*c.k/2), "w.scales": make([]byte, 2*8*ext[axisG])}
		for i := range data["w.scales"] {
			data["w.scales"][i] = byte(i)
		}
		got := converted(t, tensor.Host(), plan, data)["w.weight"]
		for n := range int64(8) {
			for block := range c.k / 32 {
				g := int64(0)
				if c.group > 0 {
					g = block * 32 / c.group
				}
				assert.Equal(t, data["w.scales"][2*(n*ext[axisG]+g)], got[18*(n*c.k/32+block)], "%v: row %d, block %d", c, n, block)
			}
		}
	}
}
