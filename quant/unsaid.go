package quant

import (
	"cmp"
	"errors"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// ErrUnsaid means that neither the tensors nor the given parameters determine a weight's
// numbers. The error names the missing parameter.
var ErrUnsaid = errors.New("not said")

// possible lists the bits that codes may have, likeliest first.
func (f *Format) possible(t Tensor) []int64 {
	if f.bits != nil {
		return f.bits(t)
	}
	return []int64{4, 8, 2, 3, 1, 5, 6, 7}
}

// openUnsaid is Open without given bits: the tensors must agree with exactly one possible
// number of bits.
func (f *Format) openUnsaid(p Params, first Tensor, lookup func(string) (Tensor, bool)) (*Weight, error) {
	var found *Weight
	var fits []int64
	var refused, unsaid error
	for _, p.Bits = range f.possible(first) {
		w, err := f.open(p, first, lookup)
		switch {
		case errors.Is(err, ErrUnsaid):
			unsaid = cmp.Or(unsaid, err)
			fits = append(fits, p.Bits)
		case err != nil:
			refused = cmp.Or(refused, err)
		case !slices.Contains(fits, w.Params.Bits): // the tensor itself may say so
			found = w
			fits = append(fits, w.Params.Bits)
		}
	}
	switch {
	case len(fits) > 1:
		slices.Sort(fits)
		return nil, layout.Errorf(ErrUnsaid, f.Name, "tensor %s may have codes of %v bits: say which (--bits, or bits in quantization_config)", quote.Name(first.Name), fits)
	case unsaid != nil:
		return nil, unsaid
	case found == nil:
		return nil, refused
	}
	return found, nil
}

// groupOf returns the group size for the number of groups, if it is certain: rows may end
// in a smaller group, and sizes are usually powers of two.
func groupOf(p Params, ext extents) (int64, error) {
	k, g := ext[axisK], ext[axisG]
	fits := func(size int64) bool { return max(0, k-1)/size+1 == g }
	switch hint := p.GroupHint; {
	case g == 0: // codes only
		return 0, nil
	case hint > 0 && !fits(hint):
		return 0, layout.Errorf(layout.ErrInvalid, "quant", "scales for %d groups of %d columns; groups of %d are said", g, k, hint)
	case hint > 0 && g > 1:
		return hint, nil
	case hint < 0 && g > 1:
		return 0, layout.Errorf(layout.ErrInvalid, "quant", "scales for %d groups of %d columns; one group is said", g, k)
	case g == 1:
		return 0, nil
	case k%g != 0:
		return 0, layout.Errorf(ErrUnsaid, "quant", "scales for %d groups of %d columns, the last of which is smaller: say of how many the others are (--group, or group_size in quantization_config)", g, k)
	}
	size := k / g
	for other := int64(1); other <= k; other *= 2 {
		if size&(size-1) != 0 && fits(other) {
			return 0, layout.Errorf(ErrUnsaid, "quant", "scales for %d groups of %d columns, which may be of %d or of %d: say which (--group, or group_size in quantization_config)", g, k, size, other)
		}
	}
	return size, nil
}

// Claims reports whether a tensor may hold the codes of a weight of the format: its name
// and type match.
func (f *Format) Claims(p Params, t Tensor) bool {
	lookup := func(name string) (Tensor, bool) { return t, name == t.Name }
	_, ok := f.naming(t.Name, lookup)
	return ok && f.has(p, t)
}
