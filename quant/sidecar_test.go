package quant

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// content is a tensor with its bytes.
func content(name, typ string, b []byte, dims ...int64) Tensor {
	return Tensor{name, typ, dims, bytes.NewReader(b)}
}

// integer is a tensor of one number.
func integer(name string, n int32) Tensor {
	return content(name, "I32", binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func text(name, s string) Tensor { return content(name, "U8", []byte(s), int64(len(s))) }

// nested is a weight of bitsandbytes' of n by k, whose scales are codes.
func nested(n, k int64, state string) []Tensor {
	blocks := n * k / 64
	return []Tensor{
		{"w.weight", "U8", []int64{n * k / 2, 1}, nil}, {"w.weight.absmax", "U8", []int64{blocks}, nil},
		{"w.weight.nested_absmax", "F32", []int64{(blocks + 255) / 256}, nil}, {"w.weight.nested_quant_map", "F32", []int64{256}, nil},
		{"w.weight.quant_map", "F32", []int64{16}, nil}, text("w.weight.quant_state.bitsandbytes__nf4", state),
	}
}

// stateOf is the text beside such a weight.
func stateOf(n, k int64) string {
	return fmt.Sprintf(`{"quant_type":"nf4","blocksize":64,"dtype":"bfloat16","shape":[%d,%d],"nested_blocksize":256,"nested_dtype":"float32","nested_offset":0.25}`, n, k)
}

// columnsOf is a weight of HQQ's of n by k, in groups of 64.
func columnsOf(n, k, axis, bits int64) []Tensor {
	rows, columns := int64(64), n*k/64
	scale := []int64{1, columns}
	if axis == 1 {
		rows, columns = columns, rows
		scale = []int64{rows, 1}
	}
	typ, packing, parts := "U8", fmt.Sprintf("%dbit_u8", bits), hqqParts(bits)
	if bits == 3 {
		typ, packing = "I32", "3bit_32"
	}
	shape := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(n)), uint64(k))
	return []Tensor{
		{"w.W_q", typ, []int64{(rows + parts - 1) / parts, columns}, nil}, {"w.scale", "F16", scale, nil}, {"w.zero", "F16", scale, nil},
		content("w.shape", "I64", shape, 2), integer("w.axis", int32(axis)), integer("w.group_size", 64), text("w.packing", packing),
		text("w.compute_dtype", "torch.float16"), {"w.round_zero", "U8", nil, nil},
	}
}

// TestCutOfSaid: pieces of weights with shapes and scales in small tensors give what the
// whole gives.
func TestCutOfSaid(t *testing.T) {
	s, rng := tensor.Host(), rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		format *Format
		all    []Tensor
		pieces bool
	}{
		"nested":                              {bitsandbytes, nested(256, 256, stateOf(256, 256)), true},
		"nested, rows that share no scale":    {bitsandbytes, nested(768, 448, stateOf(768, 448)), true},
		"nested, few rows":                    {bitsandbytes, nested(3, 64, stateOf(3, 64)), false},
		"columns":                             {hqq, columnsOf(32, 128, 0, 4), true},
		"columns of 3 bits, with padding":     {hqq, columnsOf(32, 128, 0, 3), true},
		"rows":                                {hqq, columnsOf(32, 128, 1, 4), true},
		"columns of which outputs are no few": {hqq, columnsOf(7, 64, 0, 2), true},
	} {
		w := only(t, c.format, Params{Group: -1}, c.all)
		p, err := w.Plan(floats)
		require.NoError(t, err, name)
		_, err = p.Back()
		require.ErrorIs(t, err, layout.ErrUnsupported)
		data := map[string][]byte{}
		for i, x := range w.Tensors {
			b := make([]byte, x.bytes(w.arrays[i]))
			for j := range b {
				b[j] = byte(rng.Uint32()) & 0x3f // no scale is NaN
			}
			data[x.Name] = b
		}
		want := converted(t, s, p, data)
		pieces, err := p.Cut((p.Least() + p.Cost().Memory) / 2)
		require.NoError(t, err, name)
		require.Equal(t, c.pieces, pieces.Len > 1, name)
		require.Equal(t, want, convertPieces(t, s, pieces, data, want, p.Cost().Memory), name)
	}
}

// TestNestedNumbers: one number, by hand: NF4's 15th is 1, the scale 2 * 3 + 0.25.
func TestNestedNumbers(t *testing.T) {
	all := nested(1, 64, stateOf(1, 64))
	w := only(t, bitsandbytes, Params{Group: -1}, all)
	assert.Equal(t, []int64{1, 64}, w.Shape())
	p, err := w.Plan(floats)
	require.NoError(t, err)
	numbers := make([]byte, 1024)
	copy(numbers[4*7:], []byte{0, 0, 0, 0x40}) // 2
	data := map[string][]byte{
		"w.weight": append([]byte{0xf0}, make([]byte, 31)...), "w.weight.absmax": {7}, "w.weight.nested_absmax": {0, 0, 0x40, 0x40}, "w.weight.nested_quant_map": numbers,
	}
	got := converted(t, tensor.Host(), p, data)["w.weight"]
	assert.Equal(t, []byte{0xc8, 0x40, 0xc8, 0xc0}, got[:4]) // 6.25 and -6.25, in bfloat16
	_, err = w.Plan(packed)
	require.ErrorContains(t, err, "scales are codes")
}

// TestSaidRefused: small tensors that contradict the others, or say what nobody knows.
func TestSaidRefused(t *testing.T) {
	state := stateOf(4, 64)
	changed := func(old, to string) []Tensor {
		require.Contains(t, state, old)
		return nested(4, 64, strings.Replace(state, old, to, 1))
	}
	for rule, all := range map[string][]Tensor{
		"unexpected end":          nested(4, 64, "{"),
		"exceeded max depth":      nested(4, 64, strings.Repeat("[", 20000)),
		"invalid character 'N'":   changed("0.25", "NaN"),
		"plus 1e+300":             changed("0.25", "1e300"),
		"at most 65536 bytes":     nested(4, 64, strings.Repeat(" ", 1<<16+1)),
		"a matrix is wanted":      changed("[4,64]", "[4,64,1]"),
		"of shape [0,64]":         changed("[4,64]", "[0,64]"),
		"the last of which is":    changed("[4,64]", "[5,96]"),
		"is no U8 of n k/2":       changed("[4,64]", "[2147483648,2147483648]"),
		"is no U8 of n g":         append(nested(4, 64, state)[:1], append([]Tensor{{"w.weight.absmax", "U8", []int64{5}, nil}}, nested(4, 64, state)[2:]...)...),
		"blocks of 48":            changed("64", "48"),
		"blocks of 0":             changed(`"blocksize":64`, `"blocksize":0`),
		`codes of "fp4"`:          changed("nf4", "fp4"),
		`numbers of type "int8"`:  changed("bfloat16", "int8"),
		`scales of type "double"`: changed(`"float32"`, `"double"`),
		"in blocks of 128":        changed(`"nested_blocksize":256`, `"nested_blocksize":128`),
	} {
		_, _, err := Find(bitsandbytes, Params{Group: -1}, all)
		require.ErrorIs(t, err, layout.ErrInvalid, rule)
		require.ErrorContains(t, err, rule)
	}
	with := func(x Tensor) (out []Tensor) {
		for _, have := range columnsOf(32, 128, 0, 4) {
			if have.Name == x.Name {
				have = x
			}
			out = append(out, have)
		}
		return out
	}
	for rule, all := range map[string][]Tensor{
		"axis is 2": with(integer("w.axis", 2)), "groups of 0": with(integer("w.group_size", 0)), "groups of -1": with(integer("w.group_size", -1)),
		"128 rows in 2 parts": with(integer("w.group_size", 128)), `"4bit"`: with(text("w.packing", "4bit")), `"torch.int8"`: with(text("w.compute_dtype", "torch.int8")),
		"w.axis\" has 2 numbers": with(content("w.axis", "U8", []byte{0, 0}, 2)),
		"of type F32":            with(content("w.shape", "F32", nil, 2)),
		"unexpected EOF":         with(content("w.shape", "I64", []byte{1}, 2)),
		"no F16 of  | k":         with(Tensor{"w.zero", "F16", []int64{64, 1}, nil}),
		`no tensor "w.axis"`:     columnsOf(32, 128, 0, 4)[:4],
		`no tensor "w.zero"`:     slices.Delete(columnsOf(32, 128, 0, 4), 2, 3),
		"a multiple of 10":       columnsOf(33, 64, 1, 3),
	} {
		_, _, err := Find(hqq, Params{Group: -1}, all)
		require.ErrorContains(t, err, rule)
	}
}

// FuzzSaid: whatever small tensors say, weights are refused or can be planned.
func FuzzSaid(f *testing.F) {
	for _, s := range []string{stateOf(4, 64), stateOf(4, 64)[:40], `{"shape":[1e99]}`, `{"shape":[4,64],"dtype":"float16","quant_type":"nf4","blocksize":64}`, "NaN", strings.Repeat("[", 300)} {
		f.Add(s, int64(4), int64(64), int32(0), int32(64), "4bit_u8")
	}
	f.Add("", int64(32), int64(128), int32(1), int32(64), "3bit_32")
	f.Add("", int64(1)<<31, int64(1)<<31, int32(-1), int32(1), "8bit_u8")
	f.Fuzz(func(t *testing.T, state string, n, k int64, axis, group int32, packing string) {
		shape := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(n)), uint64(k))
		said := []Tensor{content("w.shape", "I64", shape, 2), integer("w.axis", axis), integer("w.group_size", group), text("w.packing", packing)}
		for format, all := range map[*Format][]Tensor{bitsandbytes: nested(4, 64, state), hqq: append(columnsOf(32, 128, 0, 4)[:3], said...)} {
			weights, _, err := Find(format, Params{Group: -1}, all)
			if err != nil {
				continue
			}
			for _, w := range weights {
				p, err := w.Plan(floats)
				if err != nil {
					continue
				}
				_, _ = p.Cut(p.Least())
				dims := p.To.Tensors[0].Dims
				require.LessOrEqual(t, dims[0]*dims[1], int64(1<<20))
			}
		}
	})
}
