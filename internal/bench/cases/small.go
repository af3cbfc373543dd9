package cases

import (
	"slices"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// Small is the case at a size, or a case similar to a fixed one with at most four times as many
// bytes of memory, if possible: cases at a size need two to six times.
func (c Case) Small(bytes int64) (oracle.Case, error) {
	if c.fixed == nil {
		return c.At(bytes)
	}
	return shrunk(*c.fixed, 4*bytes)
}

// shrunk halves the extents of an operation, and of its index, first those that save the most
// memory.
func shrunk(o oracle.Case, bytes int64) (oracle.Case, error) {
	if err := near(&o); err != nil {
		return o, err
	}
	for size := memory(&o); size > bytes; {
		least := o
		for axis := range o.Dst.Rank() + len(o.By) {
			half, err := halve(o, axis)
			if err != nil {
				return o, err
			}
			if n := memory(&half); n < size {
				least, size = half, n
			}
		}
		if size == memory(&o) {
			break
		}
		o = least
	}
	return o, nil
}

// layoutsOf are the layouts of an operation, with the types of their elements.
func layoutsOf(o *oracle.Case) (all []*layout.Layout, types []layout.DType) {
	add := func(l *layout.Layout, t layout.DType) { all, types = append(all, l), append(types, t) }
	add(&o.Dst, o.DstType)
	if o.Op != oracle.OpFill {
		add(&o.Src, o.SrcType)
	}
	switch o.Op {
	case oracle.OpTake, oracle.OpPut:
		add(&o.At, o.AtType)
	case oracle.OpWhere:
		add(&o.B, o.DstType)
		add(&o.Cond, layout.Bool)
	}
	for _, t := range []*oracle.Term{&o.Terms.Scale, &o.Terms.Zero} {
		if t.Type != layout.Invalid {
			add(&t.Layout, t.Type)
		}
	}
	return all, types
}

// memory is about the number of bytes of an operation's buffers.
func memory(o *oracle.Case) int64 {
	dst, src, _ := o.Sizes() // these include an index's reach
	total := dst + src
	all, types := layoutsOf(o)
	for i, l := range all[min(2, len(all)):] {
		_, last, _ := l.Extent()
		total += last * int64(types[2+i].Bits()) / 8
	}
	return total
}

// near moves layouts to the starts of their buffers without changing alignments.
func near(o *oracle.Case) error {
	const unit = 4096
	all, _ := layoutsOf(o)
	for _, l := range all {
		low, _, _ := l.Extent()
		moved, err := l.Rebase(l.Offset() - low/unit*unit)
		if err != nil {
			return err
		}
		*l = moved
	}
	return nil
}

// halve cuts an axis of all layouts, each to the half that is nearer to the start of its
// buffer; or, behind the last axis, the extent of the index.
func halve(o oracle.Case, axis int) (oracle.Case, error) {
	if axis == o.Dst.Rank() {
		o.By = slices.Clone(o.By)
		o.By[0].Extent = max(o.By[0].Extent/2, 1)
		return o, nil
	}
	all, _ := layoutsOf(&o)
	n := o.Dst.Dim(axis)
	half := max(n/2, 1)
	for _, l := range all {
		start := int64(0)
		if l.Stride(axis) < 0 {
			start = n - half
		}
		part, err := l.Slice(axis, start, start+half, 1)
		if err != nil {
			return o, err
		}
		*l = part
	}
	return o, nil
}
