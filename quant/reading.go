package quant

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/restride/restride/layout"
)

// A reading gives single numbers of a weight, from the tensors beside its name, by loops of
// the kind that papers and packages have: it shares the parameters of opened weights, and nothing
// with the orders of digits. Plan.Compare holds conversions against it.

// reading gives number (e, n, k) of a weight.
type reading func(e, n, k int64) float64

// tensorsOf are a file's tensors under the name of a weight. The first error of reading stays.
type tensorsOf struct {
	name   string
	lookup func(name string) (Tensor, bool)
	cached *contents
	err    error
}

// store limits the bytes of tensors that are read at once, and stay.
type store struct{ left int64 }

// contents are the tensors of a file in a store, by name.
type contents struct {
	*store
	all map[string][]byte
}

func (c *store) file() *contents { return &contents{c, map[string][]byte{}} }

// has reports whether there is a tensor.
func (t *tensorsOf) has(suffix string) bool {
	_, ok := t.lookup(joined(t.name, suffix))
	return ok
}

// tensor returns a tensor. If there is none, that is the error, and each of its Dims is 1.
func (t *tensorsOf) tensor(suffix string) Tensor {
	x, ok := t.lookup(joined(t.name, suffix))
	if !ok || x.Content == nil {
		t.fail(layout.Errorf(layout.ErrInvalid, "quant", "there is no tensor %s", joined(t.name, suffix)))
		return Tensor{Dims: []int64{1, 1, 1, 1}}
	}
	return x
}

func (t *tensorsOf) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// bytes returns n bytes of a tensor.
func (t *tensorsOf) bytes(suffix string, at, n int64) []byte {
	out := make([]byte, n)
	x := t.tensor(suffix)
	if t.err != nil {
		return out
	}
	all, ok := t.cached.all[x.Name]
	if !ok {
		if size := sizeOf(x); size <= t.cached.left {
			t.cached.left -= size
			all = make([]byte, size)
			if _, err := io.ReadFull(io.NewSectionReader(x.Content, 0, size), all); err != nil {
				t.fail(err)
			}
		}
		t.cached.all[x.Name] = all
	}
	if all != nil {
		if at >= 0 && at < int64(len(all)) {
			copy(out, all[at:])
		} else {
			t.fail(layout.Errorf(layout.ErrInvalid, "quant", "byte %d of tensor %s, which has %d", at, x.Name, len(all)))
		}
		return out
	}
	if _, err := x.Content.ReadAt(out, at); err != nil && err != io.EOF {
		t.fail(err)
	}
	return out
}

func sizeOf(t Tensor) int64 {
	kind, err := (array{typ: t.Type}).kind()
	if err != nil {
		return math.MaxInt64
	}
	n := kind.BlockBytes
	for _, d := range t.Dims {
		n *= d
	}
	return n / kind.Block
}

// code returns bits of a tensor, the lowest first.
func (t *tensorsOf) code(suffix string, at, bits int64) int64 {
	b := t.bytes(suffix, at/8, 3)
	v := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
	return v >> (at % 8) & (1<<bits - 1)
}

// rowBits returns the bits of a row of a tensor of bytes, which has at least some.
func (t *tensorsOf) rowBits(suffix string, least int64) int64 {
	if dims := t.tensor(suffix).Dims; len(dims) > 1 {
		return 8 * dims[len(dims)-1]
	}
	return (least + 7) / 8 * 8
}

// number returns element i of a tensor of numbers.
func (t *tensorsOf) number(suffix string, i int64) float64 {
	typ := t.tensor(suffix).Type
	size := bitsOf(typ) / 8
	return decoded(typ, t.bytes(suffix, i*size, size))
}

// decoded returns the number of an element of a type.
func decoded(typ string, b []byte) float64 {
	var wide [8]byte
	copy(wide[:], b)
	u := binary.LittleEndian.Uint64(wide[:])
	switch typ {
	case "F64":
		return math.Float64frombits(u)
	case "F32":
		return float64(math.Float32frombits(uint32(u)))
	case "BF16":
		return float64(math.Float32frombits(uint32(u) << 16))
	case "F16":
		return small(u, 5, 10, 15)
	case "F8_E4M3":
		return small(u, 4, 3, 7)
	case "F8_E5M2":
		return small(u, 5, 2, 15)
	case "U8", "F8_E8M0": // of a scale: a power of two
		return math.Ldexp(1, int(u)-127)
	case "I32":
		return float64(int32(u))
	case "I8":
		return float64(int8(u))
	}
	return math.NaN()
}

// small decodes a float with few bits. E4M3 has numbers in place of the infinite ones.
func small(u uint64, exponent, mantissa, bias int) float64 {
	e, m := int(u>>mantissa)&(1<<exponent-1), float64(u&(1<<mantissa-1))
	sign := 1 - 2*float64(u>>(exponent+mantissa)&1)
	unit := math.Ldexp(1, -mantissa)
	switch {
	case e == 1<<exponent-1 && (exponent == 5 || m == 7):
		if m == 0 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	case e == 0:
		return sign * math.Ldexp(m*unit, 1-bias)
	}
	return sign * math.Ldexp(1+m*unit, e-bias)
}

// fours are the numbers of E2M1's codes.
var fours = []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

// readingOf returns a reading of a weight with the parameters of its configuration, or nil if
// there is none for its format. rows and columns are its extents.
func readingOf(f *Format, p Params, t *tensorsOf, rows, columns int64) reading {
	read, ok := readings[f.Name]
	if !ok {
		return nil
	}
	return read(p, t, rows, columns)
}

// groupBy returns the group of each k: as a tensor says, or in order.
func groupBy(t *tensorsOf, suffix string, size, columns int64) func(k int64) int64 {
	if t.has(suffix) {
		return func(k int64) int64 { return int64(t.number(suffix, k)) }
	}
	if size <= 0 {
		size = columns
	}
	return func(k int64) int64 { return k / size }
}

// readings are the readings of formats. Marlin's, Machete's and other orders of registers have
// none, nor have K-quants.
var readings = map[string]func(p Params, t *tensorsOf, rows, columns int64) reading{
	"gptq": readGPTQ, "gptq-v1": readGPTQ, "awq": readAWQ, "compressed-tensors": readCompressed, "packed": readPacked, "matmulnbits": readMatMulNBits,
	"mlx": readMLX, "gguf": readGGUF, "gpt-oss": readGPTOSS, "float": readFloats, "float32": readFloats, "float16": readFloats, "bfloat16": readFloats, "fp8": readFP8Numbers,
	"compressed-tensors-int8": func(p Params, t *tensorsOf, rows, columns int64) reading {
		group := groupBy(t, "", p.Group, columns)
		groups := t.tensor(".weight_scale").Dims[1]
		return func(_, n, k int64) float64 {
			at, zero := n*groups+group(k), 0.0
			if t.has(".weight_zero_point") {
				zero = t.number(".weight_zero_point", at)
			}
			return (t.number(".weight", n*columns+k) - zero) * t.number(".weight_scale", at)
		}
	},
	"nvfp4": func(p Params, t *tensorsOf, rows, columns int64) reading {
		return func(_, n, k int64) float64 {
			return fours[t.code(".weight", 4*(n*columns+k), 4)] * t.number(".weight_scale", n*(columns/16)+k/16) * t.number(".weight_scale_2", 0)
		}
	},
}

func readGPTQ(p Params, t *tensorsOf, rows, columns int64) reading {
	group := groupBy(t, ".g_idx", p.Group, columns)
	return func(_, n, k int64) float64 {
		code := int64(0)
		for j := range p.Bits {
			bit := k%32*p.Bits + j
			word := k/32*p.Bits + bit/32
			code |= t.code(".qweight", (word*rows+n)*32+bit%32, 1) << j
		}
		g, zero := group(k), int64(1)<<(p.Bits-1)
		if p.Zeros {
			if zero = t.code(".qzeros", (g*rows+n)*p.Bits, p.Bits); p.ZeroLess {
				zero = (zero + 1) & (1<<p.Bits - 1)
			}
		}
		return float64(code-zero) * t.number(".scales", g*rows+n)
	}
}

func readAWQ(p Params, t *tensorsOf, rows, columns int64) reading {
	group, places := groupBy(t, "", p.Group, columns), []int64{0, 4, 1, 5, 2, 6, 3, 7}
	return func(_, n, k int64) float64 {
		at := func(row int64) int64 { return (row*(rows/8)+n/8)*32 + 4*places[n%8] }
		zero := int64(8)
		if p.Zeros {
			zero = t.code(".qzeros", at(group(k)), 4)
		}
		return float64(t.code(".qweight", at(k), 4)-zero) * t.number(".scales", group(k)*rows+n)
	}
}

func readCompressed(p Params, t *tensorsOf, rows, columns int64) reading {
	group := groupBy(t, ".weight_g_idx", p.Group, columns)
	words, groups := t.tensor(".weight_packed").Dims[1], t.tensor(".weight_scale").Dims[1]
	return func(_, n, k int64) float64 {
		g, zero := group(k), int64(1)<<(p.Bits-1)
		if p.Zeros {
			per := 32 / p.Bits
			zero = t.code(".weight_zero_point", (n/per*groups+g)*32+n%per*p.Bits, p.Bits)
		}
		return float64(t.code(".weight_packed", n*words*32+k*p.Bits, p.Bits)-zero) * t.number(".weight_scale", n*groups+g)
	}
}

func readPacked(p Params, t *tensorsOf, rows, columns int64) reading {
	if p.Table != "" || !t.has(".scales") {
		return nil
	}
	group := groupBy(t, "", p.Group, columns)
	return func(e, n, k int64) float64 {
		row := e*rows + n
		groups := group(columns-1) + 1
		code, zero := t.code(".weight", (row*columns+k)*p.Bits, p.Bits), int64(1)<<(p.Bits-1)
		if p.Signed {
			code ^= zero // stored with a sign
		}
		if p.Zeros {
			zero = t.code(".zeros", row*t.rowBits(".zeros", groups*p.Bits)+group(k)*p.Bits, p.Bits)
		}
		return float64(code-zero) * t.number(".scales", row*groups+group(k))
	}
}

func readMatMulNBits(p Params, t *tensorsOf, rows, columns int64) reading {
	groups := t.tensor(".B").Dims[1]
	size := t.tensor(".B").Dims[2] * 8 / p.Bits
	return func(_, n, k int64) float64 {
		g, zero := k/size, int64(1)<<(p.Bits-1)
		if p.Zeros {
			zero = t.code(".zero_points", n*t.rowBits(".zero_points", groups*p.Bits)+g*p.Bits, p.Bits)
		}
		return float64(t.code(".B", (n*groups*size+k)*p.Bits, p.Bits)-zero) * t.number(".scales", n*groups+g)
	}
}

func readMLX(p Params, t *tensorsOf, rows, columns int64) reading {
	return func(e, n, k int64) float64 {
		row := e*rows + n
		at := row*(columns/p.Group) + k/p.Group
		return float64(t.code(".weight", (row*columns+k)*p.Bits, p.Bits))*t.number(".scales", at) + t.number(".biases", at)
	}
}

func readGPTOSS(_ Params, t *tensorsOf, rows, columns int64) reading {
	all := t.tensor("_blocks").Dims[1] // the weight may be every second of these
	return func(e, n, k int64) float64 {
		return fours[t.code("_blocks", 4*((e*all+n)*columns+k), 4)] * t.number("_scales", (e*all+n)*(columns/32)+k/32)
	}
}

func readFloats(p Params, t *tensorsOf, rows, columns int64) reading {
	suffix := ".weight"
	if !t.has(suffix) {
		suffix = ""
	}
	return func(e, n, k int64) float64 {
		if p.Transposed {
			return t.number(suffix, (e*columns+k)*rows+n)
		}
		return t.number(suffix, (e*rows+n)*columns+k)
	}
}

func readFP8Numbers(p Params, t *tensorsOf, rows, columns int64) reading {
	suffix := ""
	for _, s := range fp8Scales {
		if suffix == "" && t.has(s) {
			suffix = s
		}
	}
	if suffix == "" {
		return func(_, n, k int64) float64 { return t.number(".weight", n*columns+k) }
	}
	dims := append([]int64{1, 1}, t.tensor(suffix).Dims...)
	down, across := dims[len(dims)-2], dims[len(dims)-1]
	if len(dims) == 3 { // a number for each row
		down, across = across, 1
	}
	size := func(extent, parts, said int64) int64 {
		if said > 0 {
			return said
		}
		return (extent + parts - 1) / parts
	}
	return func(_, n, k int64) float64 {
		at := n/size(rows, down, p.Rows)*across + k/size(columns, across, p.Group)
		return t.number(".weight", n*columns+k) * t.number(suffix, at)
	}
}

// readGGUF reads the types whose blocks are of 32 numbers, or NVFP4's 64.
func readGGUF(p Params, t *tensorsOf, rows, columns int64) reading {
	suffix := ".weight"
	if !t.has(suffix) {
		suffix = ""
	}
	kind, err := (array{typ: p.Blocks}).kind()
	if err != nil || ggufReadings[p.Blocks] == nil {
		return nil
	}
	return func(e, n, k int64) float64 {
		block := t.bytes(suffix, ((e*rows+n)*(columns/kind.Block)+k/kind.Block)*kind.BlockBytes, kind.BlockBytes)
		x := ggufReadings[p.Blocks](block, int(k%kind.Block))
		if p.Blocks == "NVFP4" && t.has(".scale") {
			x *= t.number(".scale", 0)
		}
		return x
	}
}

// ggufReadings give number i of a block.
var ggufReadings = map[string]func(b []byte, i int) float64{
	"Q4_0": func(b []byte, i int) float64 { return (nibble(b[2:], i) - 8) * decoded("F16", b[:2]) },
	"Q4_1": func(b []byte, i int) float64 { return nibble(b[4:], i)*decoded("F16", b[:2]) + decoded("F16", b[2:4]) },
	"Q5_0": func(b []byte, i int) float64 {
		return (nibble(b[6:], i) + 16*float64(b[2+i/8]>>(i%8)&1) - 16) * decoded("F16", b[:2])
	},
	"Q5_1": func(b []byte, i int) float64 {
		return (nibble(b[8:], i)+16*float64(b[4+i/8]>>(i%8)&1))*decoded("F16", b[:2]) + decoded("F16", b[2:4])
	},
	"Q8_0":  func(b []byte, i int) float64 { return float64(int8(b[2+i])) * decoded("F16", b[:2]) },
	"MXFP4": func(b []byte, i int) float64 { return fours[int(nibble(b[1:], i))] * decoded("U8", b[:1]) },
	"NVFP4": func(b []byte, i int) float64 {
		high := i % 16 / 8
		return fours[b[4+i/16*8+i%8]>>(4*high)&15] * decoded("F8_E4M3", b[i/16:i/16+1])
	},
}

// nibble is code i of 32, whose halves share bytes.
func nibble(b []byte, i int) float64 { return float64(b[i%16] >> (i / 16 * 4) & 15) }
