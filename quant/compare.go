package quant

import (
	"math"
	"math/rand/v2"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// mostCompared is the most numbers of a weight that are compared; of larger weights, some at
// random.
const mostCompared = 1 << 14

// CompareBytes is the memory that Plan.Compare needs for the content of tensors.
const CompareBytes = 4 << 20

// Compare reads numbers of a weight of the plan's kind in the source and in the target, from the
// tensors of both files, whose content must be available. It shares the parameters of the weight
// with conversions, but neither code nor orders of elements. Of large weights it compares some
// numbers. A difference is ErrDiffers. done is false if a format has no such definition, or the plan rounds
// numbers by an unknown amount: to fewer bits, or numbers that are added.
func (p *Plan) Compare(from, to *Weight, src, dst func(name string) (Tensor, bool)) (done bool, err error) {
	if p.carry != nil || p.quantises() || from.Params.Sidecar != (sidecar{}) {
		return false, nil
	}
	if p.Rounded() != "" || from.Params.Mins && from.Params.Scale == "F32" {
		return false, nil
	}
	if from.Params.Flat || !from.has(scales) && !from.Format.numbers && from.Params.ScaleAxes != unscaled {
		return false, nil // codes alone
	}
	experts, rows, columns := max(1, to.ext[axisE]), to.ext[axisN], to.ext[axisK]
	if to.Params.Rank == 4 {
		rows, experts = rows*experts*max(1, to.ext[axisU]), 1
	}
	cached := &store{left: CompareBytes}
	a := from.sourceReading(src, rows, columns, cached)
	t := &tensorsOf{name: to.Name, lookup: dst, cached: cached.file()}
	b := readingOf(to.Format, to.Params, t, rows, columns)
	if a == nil || b == nil {
		return false, nil
	}
	differ := p.differ()
	rng, all := rand.New(rand.NewPCG(1, uint64(rows*columns))), experts*rows*columns
	for i := range min(all, mostCompared) {
		at := i
		if all > mostCompared {
			at = rng.Int64N(all)
		}
		e, n, k := at/columns/rows, at/columns%rows, at%columns
		x, err := a(e, to.Params.sourceRow(n), k)
		y := b(e, n, k)
		if err == nil {
			err = t.err
		}
		if err != nil {
			return false, err
		}
		if differ(x, y) {
			return false, layout.Errorf(ErrDiffers, "quant", "%s: number %d of row %d, expert %d, is %v in the source, and %v in the output", quote.Plain(from.Name), k, n, e, x, y)
		}
	}
	return true, nil
}

// sourceRow is the source's row for a row in llama.cpp's order.
func (p Params) sourceRow(n int64) int64 {
	d := p.Head
	if d == 0 {
		return n
	}
	return n/d*d + n%d%2*(d/2) + n%d/2
}

// differ returns whether numbers are further apart than the target's type rounds them.
func (p *Plan) differ() func(x, y float64) bool {
	// Devices may compute without the numbers below the smallest normal one, of float32 or bfloat16.
	relative, least := 0x1p-23, 0x1p-126
	switch p.To.Params.Type {
	case "F16":
		relative, least = 0x1p-10, 0x1p-24
	case "BF16":
		relative = 0x1p-7
	}
	return func(x, y float64) bool {
		switch {
		case x == y, math.IsNaN(x) && math.IsNaN(y):
			return false
		case math.IsInf(x, 0), math.IsInf(y, 0):
			return true
		}
		return !(math.Abs(x-y) <= relative*math.Max(math.Abs(x), math.Abs(y))+least)
	}
}

// sourceReading is a reading of the source: of one weight, of every second row, or of experts one
// by one.
func (w *Weight) sourceReading(src func(name string) (Tensor, bool), rows, columns int64, cached *store) func(e, n, k int64) (float64, error) {
	names := w.experts
	if names == nil {
		names = []string{w.Name}
		if w.whole != "" {
			names[0] = w.whole
		}
	}
	var all []reading
	var of []*tensorsOf
	file := cached.file()
	for _, name := range names {
		t := &tensorsOf{name: name, lookup: src, cached: file}
		params := w.Params
		params.Batch = params.Batch && w.experts == nil
		r := readingOf(w.Format, params, t, rows, columns)
		if r == nil {
			return nil
		}
		all, of = append(all, r), append(of, t)
	}
	return func(e, n, k int64) (float64, error) {
		i := int64(0)
		if w.experts != nil {
			i, e = e, 0
		}
		if w.whole != "" {
			n = 2*n + w.first
		}
		return all[i](e, n, k), of[i].err
	}
}
