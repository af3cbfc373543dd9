package quant

import (
	"errors"
	"maps"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// quantised is a target for numbers: blocks of a GGUF type with computed scales.
func quantised(name, about, blocks string) *Format {
	return &Format{
		Name:     name,
		About:    about,
		anyCodes: true,
		signs:    true,
		suffix:   gguf.suffix,
		blocks:   blocks,
		arrays: func(p Params) []array {
			p.Blocks = blocks
			return gguf.arrays(p)
		},
		unread: "it is what numbers become; blocks of GGUF's are read as gguf",
		accept: func(f *Format, p Params, ext extents) (Params, error) {
			q := ggufBlocks()[blocks].params
			q.Blocks, q.Batch, q.Head = blocks, p.Batch, p.Head
			if p.Type == "" {
				return q, f.refuse("the weight has codes; it is made of numbers (--from float)")
			}
			if t := dtypeOf(p.Type); t.Bits() > 32 {
				return q, f.refuse("numbers of type %s; F32, F16 and BF16 are quantised", p.Type)
			}
			return q, f.widths(q, ext, map[byte]int64{axisK: q.Group}, q.Bits)
		},
	}
}

var (
	q40   = quantised("q4_0", "ggml's Q4_0, from numbers: rounded to 4 bits, with a scale for each 32 of them", "Q4_0")
	q80   = quantised("q8_0", "ggml's Q8_0, from numbers: rounded to 8 bits, with a scale for each 32 of them", "Q8_0")
	mxfp4 = quantised("mxfp4", "ggml's MXFP4, from numbers: rounded to floats of 4 bits, with a power of two for each 32", "MXFP4")
)

// quantises reports whether the plan converts numbers to codes.
func (p *Plan) quantises() bool { return p.From.Format.numbers && !p.To.Format.numbers }

// planBlocks plans the conversion of numbers to GGUF's blocks: codes and scales are
// computed in plain order, and then moved to their places.
func (w *Weight) planBlocks(out *Weight) (*Plan, error) {
	arrays := gguf.arrays(out.Params)
	found := &Weight{Name: w.Name, Format: plain, Params: out.Params, ext: maps.Clone(w.ext)}
	found.ext.group(out.Params)
	for _, a := range plainArrays(&Weight{Params: out.Params, arrays: arrays}) {
		dims, err := a.dims(found.ext)
		if err != nil {
			return nil, err
		}
		found.arrays = append(found.arrays, a)
		found.Tensors = append(found.Tensors, Tensor{Name: joined(w.Name, a.suffix), Type: a.typ, Dims: dims})
	}
	blocks, err := found.plan(&Weight{Name: out.Name, Format: gguf, Params: out.Params}, arrays)
	if err != nil {
		return nil, err
	}
	return &Plan{From: w, To: blocks.To, groupRatio: 1, plain: blocks}, nil
}

// runBlocks is Run for a plan from numbers to blocks.
func (p *Plan) runBlocks(s *tensor.Stream, src Memory) (dst Memory, err error) {
	from := p.From
	k, rows := from.ext[axisK], from.ext[axisN]
	if from.Params.Batch {
		rows *= from.ext[axisE]
	}
	l, err := layout.Contiguous(rows, k)
	if err != nil {
		return nil, err
	}
	all, err := p.together(s, src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.Release()) }()
	x, err := tensor.BorrowBuffer(s, all.Buffer(), dtypeOf(from.Params.Type), l)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Release()) }()
	params := p.plain.From.Params
	codes, scales, err := x.QuantizeBlocks(params.codeType(), scaleType(params.Scale), params.Group)
	if err != nil {
		return nil, err
	}
	found := Memory{p.plain.From.Tensors[0].Name: codes, p.plain.From.Tensors[1].Name: scales}
	defer func() { err = errors.Join(err, found.Release()) }()
	return p.plain.Run(s, found)
}

// together returns the bytes of From's tensors one after the other: of several experts.
func (p *Plan) together(s *tensor.Stream, src Memory) (all *tensor.Tensor, err error) {
	if len(p.From.Tensors) == 1 {
		return src[p.From.Tensors[0].Name].Alias()
	}
	total := int64(0)
	for _, t := range p.From.Tensors {
		total += src[t.Name].Count()
	}
	if all, err = tensor.Empty(s, layout.Uint8, total); err != nil {
		return nil, err
	}
	at := int64(0)
	for _, t := range p.From.Tensors {
		one := src[t.Name]
		l, err := layout.Strided([]int64{one.Count()}, []int64{1}, at)
		if err != nil {
			return nil, errors.Join(err, all.Release())
		}
		part, err := tensor.BorrowBuffer(s, all.Buffer(), layout.Uint8, l)
		if err == nil {
			err = errors.Join(part.CopyFrom(one), part.Release())
		}
		if err != nil {
			return nil, errors.Join(err, all.Release())
		}
		at += one.Count()
	}
	return all, nil
}
