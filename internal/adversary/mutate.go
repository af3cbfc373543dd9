package adversary

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// mutated returns a file with some changes, of a few of its bytes or fields. Parts of other may
// be inserted.
func mutated(rng *rand.Rand, file, other []byte) []byte {
	file = slices.Clone(file)
	for range 1 + rng.IntN(4) {
		if rng.IntN(2) == 0 {
			file = changeBytes(rng, file, other)
		} else {
			file = changeField(rng, file, other, 0)
		}
	}
	return file
}

// piece is a part of b: short ones are as likely as long ones.
func piece(rng *rand.Rand, b []byte) (from, to int) {
	if len(b) == 0 {
		return 0, 0
	}
	from = rng.IntN(len(b))
	n := 1 << rng.IntN(16)
	return from, min(from+1+rng.IntN(n), len(b))
}

// changeBytes changes a file without regard to its form.
func changeBytes(rng *rand.Rand, b, other []byte) []byte {
	if len(b) == 0 {
		return slices.Clone(other)
	}
	from, to := piece(rng, b)
	switch rng.IntN(8) {
	case 0:
		b[from] ^= 1 << rng.IntN(8)
	case 1:
		b[from] = byte(rng.Uint32())
	case 2:
		return b[:from] // cut off
	case 3:
		return slices.Delete(b, from, to)
	case 4: // twice
		return slices.Insert(b, from, slices.Clone(b[from:to])...)
	case 5: // swapped with its neighbour
		return slices.Concat(b[:from], b[to:min(2*to-from, len(b))], b[from:to], b[min(2*to-from, len(b)):])
	case 6: // spliced
		start, end := piece(rng, other)
		return slices.Concat(b[:from], other[start:end], b[to:])
	default: // a number
		for i, v := 0, hugeNumber(rng); i < 8 && from+i < len(b); i++ {
			b[from+i] = byte(v >> (8 * i))
		}
	}
	return b
}

// hugeNumber is a number near a limit of some type.
func hugeNumber(rng *rand.Rand) uint64 {
	edges := []uint64{0, 1, 127, 1 << 16, 1 << 24, 1 << 31, 1 << 32, 1 << 40, 1 << 62, 1 << 63, math.MaxUint64}
	return edges[rng.IntN(len(edges))] + rng.Uint64N(3) - 1
}

// deepest is the depth to which changeField descends.
const deepest = 12

// changeField changes a field of a protobuf message, or of one inside it, whose lengths it
// keeps right, so that readers see the change.
func changeField(rng *rand.Rand, b, other []byte, depth int) []byte {
	fields := fieldsOf(b)
	if len(fields) == 0 {
		return changeBytes(rng, b, other)
	}
	i := rng.IntN(len(fields))
	f := &fields[i]
	switch inside := f.typ == protowire.BytesType; {
	case inside && depth < deepest && len(fieldsOf(f.value)) > 0 && rng.IntN(8) > 0:
		f.value = changeField(rng, slices.Clone(f.value), other, depth+1)
	case rng.IntN(8) == 0:
		fields = slices.Delete(fields, i, i+1)
	case rng.IntN(8) == 0: // many times
		fields = slices.Insert(fields, i, slices.Repeat(fields[i:i+1], 1<<rng.IntN(10))...)
	case rng.IntN(8) == 0:
		j := rng.IntN(len(fields))
		fields[i], fields[j] = fields[j], fields[i]
	case rng.IntN(8) == 0: // another field
		f.num = protowire.Number(1 + rng.IntN(26))
	case rng.IntN(8) == 0: // of another wire type
		f.typ = protowire.Type(rng.IntN(6))
	case f.typ == protowire.VarintType:
		f.number = hugeNumber(rng)
		if rng.IntN(2) == 0 {
			f.number = rng.Uint64N(32)
		}
	case inside && rng.IntN(2) == 0: // part of another file, maybe a field
		start, end := piece(rng, other)
		f.value = other[start:end]
		if more := fieldsOf(other); len(more) > 0 {
			f.value = more[rng.IntN(len(more))].value
		}
	case inside && rng.IntN(2) == 0:
		f.value = []byte(texts[rng.IntN(len(texts))])
	case inside && rng.IntN(4) == 0: // a list of varints, or text
		f.value = slices.Repeat([]byte{byte(rng.Uint32())}, 1<<rng.IntN(20))
	default:
		f.value = changeBytes(rng, slices.Clone(f.value), other)
	}
	return join(fields)
}

// field is a field of a message on the wire.
type field struct {
	num    protowire.Number
	typ    protowire.Type
	number uint64 // of a varint
	value  []byte // of other types: without a length
}

// fieldsOf splits a message; nil: it is not one.
func fieldsOf(b []byte) (fields []field) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		f, m := field{num: num, typ: typ}, 0
		switch b = b[n:]; typ {
		case protowire.VarintType:
			f.number, m = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.value, m = protowire.ConsumeBytes(b)
		case protowire.Fixed32Type, protowire.Fixed64Type:
			m = protowire.ConsumeFieldValue(num, typ, b)
			f.value = b[:max(m, 0)]
		default:
			return nil // groups do not occur in these files
		}
		if m < 0 {
			return nil
		}
		fields, b = append(fields, f), b[m:]
	}
	return fields
}

// join builds a message from fields.
func join(fields []field) []byte {
	var b []byte
	for _, f := range fields {
		b = protowire.AppendVarint(b, uint64(f.num)<<3|uint64(f.typ))
		switch f.typ {
		case protowire.VarintType:
			b = protowire.AppendVarint(b, f.number)
		case protowire.BytesType:
			b = protowire.AppendBytes(b, f.value)
		case protowire.Fixed32Type, protowire.Fixed64Type:
			var room [8]byte
			copy(room[:], f.value)
			b = append(b, room[:8-4*(int(f.typ)/5)]...)
		default:
			b = append(b, f.value...)
		}
	}
	return b
}

// le is a number in the given number of bytes, little-endian.
func le(v uint64, bytes int) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)[:bytes]
}

func le64(b [8]byte) uint64 { return binary.LittleEndian.Uint64(b[:]) }
