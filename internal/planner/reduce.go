package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// reduceSpecs lists the kernels of these forms.
func reduceSpecs() []Spec {
	var all []Spec
	for _, cpu := range []bool{false, true} {
		for _, at := range []uint8{32, 64} {
			for _, bits := range []uint8{2, 4, 8, 16, 32, 64} {
				all = append(all, Spec{Form: Reduce, DstBits: bits, SrcBits: bits, AtBits: at, CPUTarget: cpu})
			}
			for _, bits := range []uint8{16, 32, 64} {
				all = append(all, Spec{Form: Fold, DstBits: bits, SrcBits: bits, AtBits: at, CPUTarget: cpu})
			}
		}
	}
	return all
}

// reduceDefines are the macros of Reduce, and foldDefines those of Fold.
func reduceDefines(s Spec) []string { return append(itemDefines(s), "FOLDS 0") }

func foldDefines(Spec) []string {
	return []string{"FOLDS 1", fmt.Sprintf("HALF %#x", number(layout.Float16, device.Rounding{Unsaturated: true}))}
}

// reducing returns the argument hi of a put that reduces elements of a type, in the format of
// source/reductions.h.
func reducing(t layout.DType, how device.Reduction) uint64 {
	kind := number(t, device.Rounding{}) & 3
	brain := uint64(0)
	if t == layout.BFloat16 {
		brain = 1
	}
	return uint64(how) | kind<<8 | brain<<16
}

// folds reports whether elements must be reduced in order: sums and products of floats are
// rounded, and suitable atomic operations may be missing.
func (t Target) folds(of layout.DType, how device.Reduction) bool {
	rounded := numeric.KindOf(of) == numeric.FloatKind && (how == device.ReduceAdd || how == device.ReduceMul)
	return rounded || t.Atomics32 && of.Bits() > 32
}

// planReduce plans a put that reduces elements of a type: see planPut.
func (p *indexed) planReduce(dst, src, at layout.Layout, of layout.DType, how device.Reduction) (Launch, error) {
	p.reduces = true
	if !p.target.folds(of, how) {
		return p.planPut(dst, src, at, of.Bits())
	}
	d, s, a := src, dst, at
	layout.Merge(&d, &s, &a)
	p.sBits = of.Bits()
	p.walk(d, s, src.Offset(), dst.Offset(), of.Bits(), 1)
	if indexing.LeadNowhere(p.by) {
		p.bytes = 0
	}
	l, err := p.problem.plan("put", func(try *problem, k *parameters) (Spec, error) {
		x := *p
		x.problem = try
		return choose([]planner[*indexed]{{"fold", false, func(p *indexed, _ *offer) (offer, refusal) {
			var k parameters
			return p.offer(Fold, &k, p.cutFold(&k, &a))
		}}}, &x, try, k)
	})
	l.exchange(moved(a, at))
	return l, err
}

// cutFold makes lines along which elements share places, and an item for each line and class.
func (p *indexed) cutFold(k *parameters, at *layout.Layout) error {
	var indices parameters // the same axes
	apart, lines, length := apart(p.axes, p.by), int64(1), int64(1)
	for i := len(p.axes) - 1; i >= 0; i-- {
		x, ofAt := p.axes[i], axis{N: p.axes[i].N, S: at.Stride(i)}
		if apart[i] && x.N < limit && lines*x.N < limit {
			lines *= x.N
			k.inner, indices.inner = append(k.inner, x), append(indices.inner, ofAt)
			continue
		}
		if length >= limit || x.N >= limit {
			return errTooLarge
		}
		length *= x.N
		k.run, indices.run = append(k.run, x), append(indices.run, ofAt)
	}
	if len(k.run) == 0 {
		k.run, indices.run = []axis{{N: 1}}, []axis{{N: 1}}
	}
	rows := length / k.run[0].N
	if rows >= limit {
		return errTooLarge
	}
	// Each loop adds a final round, and so does the loop over indices within an element.
	if err := p.target.checkRounds(length*int64(2+len(p.by)) + rows*int64(len(k.run)+2)); err != nil {
		return err
	}
	k.length, k.span, k.nb = k.run[0].N, uint32(rows), uint32(p.target.foldClasses(lines, length))
	k.cutAxis(axis{N: lines * int64(k.nb)}, int64(p.spec(Fold).group()))
	indices.outer = []axis{{N: k.outer[0].N}}
	p.appendIndices(k, &indices, 1)
	return k.setOuter()
}

// foldClasses is the number of items that share a line's places: enough for one group per
// multiprocessor. Every item reads all elements of the line, so more items would only wait.
func (t Target) foldClasses(lines, length int64) int64 {
	if t.CPU {
		return 1
	}
	const leastElements, most = 1024, 64
	return max(1, min(GroupSize*t.fewBlocks()/groupsAtOnce/lines, length/leastElements, most))
}

// apart reports along which of a put's axes elements go to different places for any indices.
func apart(axes []axis, by []layout.Index) []bool {
	type move struct {
		step, n int64
		axis    int // -1: an index
	}
	var moves []move
	add := func(step, n int64, axis int) {
		if step != 0 && n > 1 {
			moves = append(moves, move{nest.Magnitude(step), n, axis})
		}
	}
	for i, x := range axes {
		add(x.S, x.N, i)
	}
	for _, x := range by {
		add(x.Stride, x.Extent, -1)
	}
	slices.SortFunc(moves, func(a, b move) int { return cmp.Compare(b.step, a.step) })
	reach := int64(0) // of the smaller steps
	for _, m := range moves {
		reach += (m.n - 1) * m.step
	}
	all := make([]bool, len(axes))
	first, divisor := 0, int64(0)
	for i, m := range moves {
		reach -= (m.n - 1) * m.step
		if divisor = commonDivisor(divisor, m.step); divisor <= reach {
			continue
		}
		// The sum of the moves from the first one on is a multiple of divisor, which the
		// others do not reach: so a place determines this sum. For a single move, that is
		// its index.
		if i == first && m.axis >= 0 {
			all[m.axis] = true
		}
		first, divisor = i+1, 0
	}
	return all
}

func commonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
