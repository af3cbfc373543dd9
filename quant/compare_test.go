package quant

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBugCompareAll: numbers that were far apart passed as the same: below 6e-8, infinite, and those of
// plans that round.
func TestBugCompareAll(t *testing.T) {
	p := Params{Bits: 4, Group: 32, Zeros: true}
	all := []Tensor{tensorOf("w.qweight", "I32", 8, 64), tensorOf("w.scales", "F16", 2, 64), tensorOf("w.qzeros", "I32", 2, 8)}
	w, err := opened(t, gptq, p, all...)
	require.NoError(t, err)
	plan, err := w.Plan(gguf)
	require.NoError(t, err)
	require.NotEmpty(t, plan.Rounded())
	none := func(string) (Tensor, bool) { return Tensor{}, false }
	done, err := plan.Compare(w, plan.To, none, none)
	require.NoError(t, err)
	assert.False(t, done)
	for to, far := range map[*Format][][2]float64{
		floats32: {{1e-8, 2e-8}, {1, math.Inf(1)}, {math.Inf(1), math.Inf(-1)}, {1, math.NaN()}}, floats16: {{1e-6, 1.1e-6}, {70000, math.Inf(1)}},
	} {
		plan, err := w.Plan(to)
		require.NoError(t, err)
		for _, x := range far {
			assert.True(t, plan.differ()(x[0], x[1]), "%s: %v", to.Name, x)
		}
		assert.False(t, plan.differ()(1e-8, 1e-8*(1+0x1p-25)))
	}
	for typ, half := range map[string]uint16{"F16": 0x7c00, "BF16": 0x7f80} {
		b := binary.LittleEndian.AppendUint16(nil, half)
		assert.True(t, math.IsInf(decoded(typ, b), 1), typ)
	}
	assert.True(t, math.IsInf(decoded("F8_E5M2", []byte{0xfc}), -1))
	assert.True(t, math.IsNaN(decoded("F16", []byte{1, 0x7c})))
	assert.EqualValues(t, 256, decoded("F8_E4M3", []byte{0x78}))
}

// TestBugMemoryOfComparing: each expert's tensors stayed in memory.
func TestBugMemoryOfComparing(t *testing.T) {
	c := &store{left: 100}
	file := c.file()
	for _, name := range []string{"a", "b", "c"} {
		x := &tensorsOf{name: name, lookup: func(name string) (Tensor, bool) { return content(name, "U8", make([]byte, 40), 40), true }, cached: file}
		x.bytes(".weight", 0, 4)
		require.NoError(t, x.err)
	}
	assert.EqualValues(t, 20, c.left)
}
