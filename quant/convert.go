package quant

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Memory maps the names of a weight's tensors to their bytes on a stream, as tensors of
// Uint8.
type Memory map[string]*tensor.Tensor

// Release releases all tensors.
func (m Memory) Release() error {
	var all []error
	for _, t := range m {
		all = append(all, t.Release())
	}
	return errors.Join(all...)
}

// Run converts src, which has the bytes of From's tensors, to the bytes of To's. Views (see
// Plan.Views) share the memory of src's tensors; views of tensors missing in src are
// omitted. On asynchronous devices it returns before the work is done.
func (p *Plan) Run(s *tensor.Stream, src Memory) (Memory, error) { return p.run(s, src, 0) }

// run is Run for a piece of a plan; at is the piece's first column in the whole.
func (p *Plan) run(s *tensor.Stream, src Memory, at int64) (dst Memory, err error) {
	if err := p.lacks(src); err != nil {
		return nil, err
	}
	switch {
	case p.carry != nil:
		return p.runCarry(s, src)
	case p.adapt != nil:
		return p.runAdapted(s, src, at)
	case p.plain == nil:
	case p.quantises():
		return p.runBlocks(s, src)
	default:
		return p.runNumbers(s, src, at)
	}
	dst, more := Memory{}, Memory{}
	defer func() {
		err = errors.Join(err, more.Release())
		if err != nil {
			err = errors.Join(err, dst.Release())
			dst = nil
		}
	}()
	r, err := p.rows(src, at)
	if err != nil {
		return dst, err
	}
	if p.sorted {
		if more[sortedName], err = p.sort(s, src, r.order); err != nil {
			return dst, err
		}
	}
	for i, t := range p.To.Tensors {
		from, view := p.views[t.Name]
		switch {
		case !view:
			dst[t.Name], err = p.room(s, i)
		case src[from] != nil:
			dst[t.Name], err = src[from].Alias()
		}
		if err != nil {
			return dst, err
		}
	}
	for _, m := range p.moves {
		if _, view := p.views[m.dst]; view {
			continue
		}
		from := src[m.src]
		if from == nil {
			from = more[m.src]
		}
		if err := m.run(s, dst[m.dst], from); err != nil {
			return dst, err
		}
	}
	for _, f := range p.fills {
		if err := p.fill(f, dst, r, at); err != nil {
			return dst, err
		}
	}
	for _, l := range p.less {
		s := p.To.arrays[l.array].slots[0]
		if err := change(dst[p.To.Tensors[l.array].Name], func(b []byte) { subtract(b, s.pitch, s.bits, l.by) }); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// room returns memory for To's tensor i: zeroed, unless moves write all of it.
func (p *Plan) room(s *tensor.Stream, i int) (*tensor.Tensor, error) {
	t := p.To.Tensors[i]
	n := t.bytes(p.To.arrays[i])
	left := 8 * n
	for _, m := range p.moves {
		if m.dst == t.Name {
			left -= m.dstLayout.Count() * m.width
		}
	}
	if left == 0 {
		return tensor.Empty(s, layout.Uint8, n)
	}
	return tensor.New(s, layout.Uint8, n)
}

// widthTypes are the element types of moves.
var widthTypes = map[int64]layout.DType{1: layout.Bit, 2: layout.Uint2, 4: layout.Uint4, 8: layout.Uint8}

// run moves elements from one tensor's bytes to another's.
func (m move) run(s *tensor.Stream, dst, src *tensor.Tensor) (err error) {
	t := widthTypes[m.width]
	d, err := tensor.BorrowBuffer(s, dst.Buffer(), t, m.dstLayout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Release()) }()
	from := t
	if m.wide {
		from = layout.Uint8
	}
	f, err := tensor.BorrowBuffer(s, src.Buffer(), from, m.srcLayout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Release()) }()
	if m.table == nil {
		return d.CopyFrom(f)
	}
	return mapTo(d, f, m.table)
}

// mapTo sets dst to the table's entries for src's elements.
func mapTo(dst, src *tensor.Tensor, numbers []byte) (err error) {
	table, err := tensor.FromBytes(dst.Stream(), dst.DType(), packedTable(numbers, int64(dst.DType().Bits())), int64(len(numbers)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Release()) }()
	return dst.Stream().Queue().Map(dst.Operand(), src.Operand(), table.Operand())
}

// lacks refuses memory without a tensor that is read. Tensors used only for views may be
// missing, except those with the order of rows, which are checked.
func (p *Plan) lacks(src Memory) error {
	w := p.From
	viewed := slices.Collect(maps.Values(p.views))
	for i, t := range w.Tensors {
		isRows := w.arrays[i].has(groups) || w.arrays[i].has(sorting)
		if src[t.Name] == nil && (p.plain != nil || isRows || !slices.Contains(viewed, t.Name)) {
			return layout.Errorf(layout.ErrInvalid, w.Format.Name, "tensor %s of the weight is missing", quote.Name(t.Name))
		}
	}
	return nil
}

func int32s(b []byte) []int32 {
	out := make([]int32, len(b)/4)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// sort returns the codes with rows of k sorted by group.
func (p *Plan) sort(s *tensor.Stream, src Memory, order []int32) (out *tensor.Tensor, err error) {
	name := joined(p.From.Name, p.From.suffix(codes))
	var from []place
	for i, a := range p.From.arrays {
		if p.From.Tensors[i].Name == name {
			for _, c := range a.slots {
				from = append(from, c.place(name, p.From.ext))
			}
		}
	}
	ext := extents{axisK: p.From.ext[axisK], axisN: p.From.ext[axisN]}
	all, err := moves([]place{slot{order: "k n", pitch: p.From.Params.Bits, bits: p.From.Params.Bits}.place("", ext)}, from, ext)
	if err != nil {
		return nil, err
	}
	// Formats with groups in any order use whole words.
	plain, err := tensor.Empty(s, layout.Uint8, ext[axisK], ext[axisN]*p.From.Params.Bits/8)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plain.Release()) }()
	for _, m := range all {
		if err := m.run(s, plain, src[name]); err != nil {
			return nil, err
		}
	}
	index, err := tensor.FromSlice(s, order, int64(len(order)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, index.Release()) }()
	return plain.Gather(0, index, layout.OutOfRangeError)
}

// change modifies a small tensor's bytes on the host.
func change(t *tensor.Tensor, do func([]byte)) (err error) {
	b, err := t.Bytes()
	if err != nil {
		return err
	}
	do(b)
	c, err := tensor.FromBytes(t.Stream(), layout.Uint8, b, int64(len(b)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Release()) }()
	return t.CopyFrom(c)
}

// fill generates the numbers that the source does not have.
func (p *Plan) fill(f fill, dst Memory, r rows, at int64) error {
	a, t := p.To.arrays[f.array], dst[p.To.Tensors[f.array].Name]
	return change(t, func(b []byte) {
		switch f.role {
		case zeros:
			half := int64(1)<<(a.bits-1) - a.slots[0].less
			eachOf(b, a.bits, a.bits, func(uint64) uint64 { return uint64(half) })
		case shape:
			ext := p.whole().To.ext
			binary.LittleEndian.PutUint64(b, uint64(ext[axisN]))
			binary.LittleEndian.PutUint64(b[8:], uint64(ext[axisK]))
		case groups:
			for i := range len(b) / 4 {
				g := uint32(p.To.Params.groupOf(at + int64(i)))
				if p.sorted {
					g = uint32(r.group[r.order[i]])
				}
				binary.LittleEndian.PutUint32(b[4*i:], g)
			}
		case sorting:
			for i, k := range r.order {
				binary.LittleEndian.PutUint32(b[4*i:], uint32(k))
			}
		}
	})
}

// subtract subtracts by from all elements of the given bits, pitch bits apart.
func subtract(b []byte, pitch, bits, by int64) {
	eachOf(b, pitch, bits, func(x uint64) uint64 { return x - uint64(by) })
}

// eachOf modifies all elements of the given bits (up to 8), pitch bits apart.
func eachOf(b []byte, pitch, bits int64, change func(uint64) uint64) {
	mask := uint16(1)<<bits - 1
	for at := int64(0); at+bits <= 8*int64(len(b)); at += pitch {
		in, shift := b[at/8:], at%8 // an element spans at most two bytes
		x := uint16(in[0])
		if len(in) > 1 {
			x |= uint16(in[1]) << 8
		}
		x = x&^(mask<<shift) | uint16(change(uint64(x>>shift&mask)))&mask<<shift
		in[0] = byte(x)
		if len(in) > 1 {
			in[1] = byte(x >> 8)
		}
	}
}
