package quant

import (
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// rows gives the group of each row of k, and the source row of each row of sorted codes, or
// of codes put back.
type rows struct{ group, order []int32 }

// ordered refuses a weight whose rows belong to groups in arbitrary order, without a tensor
// that gives the order.
func (w *Weight) ordered() error {
	if !w.Params.Sorted {
		return nil
	}
	wanted := []role{groups}
	if slices.ContainsFunc(w.Format.arrays(w.Params), func(a array) bool { return a.has(sorting) }) {
		wanted = append(wanted, sorting)
	}
	for _, r := range wanted {
		if !w.has(r) {
			return layout.Errorf(layout.ErrInvalid, w.Format.Name, "%s has rows in the order of their groups (desc_act), and no tensor of the %v", quote.Name(w.Name), r)
		}
	}
	return nil
}

// whole returns the plan that this one is a piece of, or the plan itself.
func (p *Plan) whole() *Plan {
	if p.of != nil {
		return p.of
	}
	return p
}

// rows reads the groups and the order of rows; the first row is row at of the whole. Groups
// out of order are an error in a weight that does not declare them and cannot store them.
func (p *Plan) rows(src Memory, at int64) (r rows, err error) {
	w := p.From
	if !w.has(groups) || w.ext[axisK] == 0 {
		return r, nil
	}
	if r.group, err = w.int32s(src, groups); err != nil {
		return r, err
	}
	inOrder, count := true, p.whole().From.ext[axisG]
	for i, g := range r.group {
		if g < 0 || int64(g) >= count {
			return r, layout.Errorf(layout.ErrInvalid, w.Format.Name, "row %d is of group %d; there are %d", at+int64(i), g, count)
		}
		inOrder = inOrder && int64(g) == w.Params.groupOf(at+int64(i))
	}
	if !inOrder && !w.Params.Sorted && !p.To.has(groups) {
		return r, p.To.Format.refuse("the weight's groups are not in order (g_idx), for which it has no place")
	}
	if w.has(sorting) {
		r.order, err = p.sortedRows(src)
		return r, err
	}
	r.order = make([]int32, len(r.group))
	for i := range r.order {
		r.order[i] = int32(i)
	}
	slices.SortStableFunc(r.order, func(a, b int32) int { return int(r.group[a]) - int(r.group[b]) })
	return r, nil
}

// sortedRows reads the sorted position of each row of the weight.
func (p *Plan) sortedRows(src Memory) (order []int32, err error) {
	sorted, err := p.From.int32s(src, sorting)
	if err != nil {
		return nil, err
	}
	order = make([]int32, len(sorted))
	for i := range order {
		order[i] = -1
	}
	for i, k := range sorted {
		if k < 0 || int(k) >= len(order) || order[k] >= 0 {
			return nil, layout.Errorf(layout.ErrInvalid, p.From.Format.Name, "sorted row %d is row %d: of %d rows each is wanted once", i, k, len(order))
		}
		order[k] = int32(i)
	}
	return order, nil
}

// int32s reads the numbers of a role that has its own tensor.
func (w *Weight) int32s(src Memory, r role) ([]int32, error) {
	b, err := src[joined(w.Name, w.suffix(r))].Bytes()
	return int32s(b), err
}

// groupOf returns the group of row k, if groups are in order.
func (p Params) groupOf(k int64) int64 {
	if p.Group == 0 {
		return 0
	}
	return k / p.Group
}
