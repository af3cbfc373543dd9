package adversary

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/restride/restride/quant"
)

// described is a weight whose shape and scales other tensors describe.
type described struct {
	tensors []quant.Tensor
	said    map[string][]byte // content of the tensors that describe it
}

// describedKinds are the kinds of the formats with such weights.
var describedKinds = map[string]func(*rand.Rand) described{"hqq": describedHQQ, "bitsandbytes": describedBitsandbytes}

func (d *described) add(suffix, typ string, dims ...int64) {
	d.tensors = append(d.tensors, quant.Tensor{Name: "w" + suffix, Type: typ, Dims: dims})
}

// say adds a tensor that describes the weight.
func (d *described) say(suffix, typ string, content []byte, dims ...int64) {
	d.add(suffix, typ, dims...)
	d.tensors[len(d.tensors)-1].Content = bytes.NewReader(content)
	if d.said == nil {
		d.said = map[string][]byte{}
	}
	d.said["w"+suffix] = content
}

func (d *described) sayText(suffix, text string) {
	d.say(suffix, "U8", []byte(text), int64(len(text)))
}

func (d *described) sayNumber(suffix string, n int64) {
	d.say(suffix, "I32", binary.LittleEndian.AppendUint32(nil, uint32(n)), 1)
}

// describedHQQ has groups that are columns or rows of the matrix in another shape.
func describedHQQ(rng *rand.Rand) (d described) {
	bits, axis, group := pick[int64](rng, 1, 2, 3, 4, 8), rng.Int64N(2), pick[int64](rng, 8, 16, 64, 80)
	n, k := pick[int64](rng, 8, 20, 64), group*pick[int64](rng, 1, 2, 5)
	rows, columns := group, n*k/group
	if axis == 1 {
		rows, columns = columns, rows
	}
	parts, typ, scale := 8/bits, "U8", pick(rng, "F16", "BF16", "F32")
	if bits == 3 {
		parts, typ = 10, "I32"
	}
	scales := []int64{1, columns}
	if axis == 1 {
		scales = []int64{rows, 1}
	}
	d.add(".W_q", typ, (rows+parts-1)/parts, columns)
	d.add(".scale", scale, scales...)
	d.add(".zero", scale, scales...)
	shape := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(n)), uint32(k))
	d.say(".shape", "I32", shape, 2)
	d.sayNumber(".axis", axis)
	d.sayNumber(".group_size", group)
	d.sayText(".packing", map[int64]string{1: "1bit_u8", 2: "2bit_u8", 3: "3bit_32", 4: "4bit_u8", 8: "8bit_u8"}[bits])
	d.sayText(".compute_dtype", pick(rng, "torch.float16", "torch.bfloat16", "torch.float32"))
	return d
}

// describedBitsandbytes has scales of blocks, or codes of these.
func describedBitsandbytes(rng *rand.Rand) (d described) {
	block := pick[int64](rng, 32, 64, 128)
	n, k := pick[int64](rng, 1, 8, 24, 64, 256), block*pick[int64](rng, 1, 2, 8)
	g, table := n*k/block, pick(rng, "nf4", "fp4")
	state := fmt.Sprintf(`"quant_type":%q,"blocksize":%d,"shape":[%d,%d],"dtype":%q`, table, block, n, k, pick(rng, "float16", "bfloat16", "float32"))
	d.add(".weight", "U8", n*k/2, 1)
	if rng.IntN(2) == 0 {
		d.add(".weight.absmax", "F32", g)
	} else {
		d.add(".weight.absmax", "U8", g)
		d.add(".weight.nested_absmax", "F32", (g+255)/256)
		d.add(".weight.nested_quant_map", "F32", 256)
		state += `,"nested_blocksize":256,"nested_dtype":"float32","nested_offset":0.25`
	}
	d.add(".weight.quant_map", "F32", 16)
	d.sayText(".weight.quant_state.bitsandbytes__"+table, "{"+state+"}")
	return d
}
