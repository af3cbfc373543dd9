package quant

import (
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// fp8Tables are the tables of floats of 8 bits, by the types that safetensors has for them.
var fp8Tables = map[string]string{"F8_E4M3": "e4m3", "F8_E5M2": "e5m2"}

// fp8Scales are the suffixes of FP8's scales: weight_scale_inv has scales, too, not their
// inverses.
var fp8Scales = []string{".weight_scale_inv", ".weight_scale", ".scale_weight"}

var fp8 = &Format{
	Name:   "fp8",
	About:  "FP8, E4M3 or E5M2: rows of n, scales of the tensor, of rows or groups, or of blocks of n and k",
	suffix: ".weight",
	also:   []map[role]string{{codes: ".weight", scales: fp8Scales[1]}, {codes: ".weight", scales: fp8Scales[2]}},
	arrays: func(p Params) []array {
		typ := "F8_E4M3"
		if p.Table == "e5m2" {
			typ = "F8_E5M2"
		}
		out := []array{dense(codes, ".weight", typ, "n | k", 8)}
		if p.ScaleAxes == unscaled {
			return out
		}
		order := p.scaleOrder()
		return append(out, shaped(scales, fp8Scales[0], p.Scale, p.ScaleAxes, bitsOf(p.Scale), order, bitsOf(p.Scale)))
	},
	onlyNumbers: true,
	bits:        func(Tensor) []int64 { return []int64{8} },
	params: func(p Params, t Tensor, _ extents) (Params, error) {
		p.Bits, p.Table = 8, fp8Tables[t.Type]
		if p.Table == "" || len(t.Dims) != 2 {
			return p, layout.Errorf(layout.ErrInvalid, "fp8", "tensor %s of type %s and shape %v; a matrix of F8_E4M3 or F8_E5M2 is wanted", quote.Name(t.Name), t.Type, layout.Shape(t.Dims))
		}
		return p, nil
	},
	said: readFP8,
}

// unscaled are the ScaleAxes of numbers that are not scaled.
const unscaled = "-"

// fp8Params are the parameters of FP8 that a configuration describes.
func fp8Params() Params { return Params{Group: -1, details: details{Scaled: true}} }

// scaleOrder is the order of FP8's scales, whose axes in the file may be more.
func (p Params) scaleOrder() string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(p.ScaleAxes, "x%1", ""), "|", "")), " ")
}

// readFP8 determines which numbers share a scale from the scales' shape.
func readFP8(s *sayings, p Params) (Params, error) {
	var t Tensor
	found := false
	for _, suffix := range fp8Scales {
		if !found {
			t, found = s.lookup(joined(s.weight.Name, suffix))
		}
	}
	if !found && p.Scaled {
		s.refuse("there is no tensor of scales beside %s (%s), which the configuration describes as FP8", quote.Name(joined(s.weight.Name, ".weight")), strings.Join(fp8Scales, ", "))
	}
	p.Scaled = false
	if !found {
		p.ScaleAxes, p.Group, p.Rows = unscaled, 0, 0
		return p, s.err
	}
	codes, _ := s.lookup(joined(s.weight.Name, ".weight"))
	n, k := s.matrix(codes.Dims)
	rows, size := p.Rows, p.Group
	p.Rows, p.Group = 0, 0
	if r := max(1, rows); size > 0 && len(t.Dims) == 2 && (t.Dims[0] != (n+r-1)/r || t.Dims[1] != (k+size-1)/size) {
		s.refuse("scales of shape %v for numbers of shape %v in blocks of %d by %d", layout.Shape(t.Dims), layout.Shape(codes.Dims), r, size)
	}
	ones := 0
	for _, extent := range t.Dims {
		if extent == 1 {
			ones++
		}
	}
	switch {
	case ones == len(t.Dims) && len(t.Dims) <= 2:
		p.ScaleAxes = []string{"", "x%1", "x%1 | x%1"}[len(t.Dims)]
	case len(t.Dims) == 1 && t.Dims[0] == n:
		p.ScaleAxes = "n"
	case len(t.Dims) == 2 && t.Dims[0] == n && t.Dims[1] == 1:
		p.ScaleAxes = "n | x%1"
	case len(t.Dims) == 2 && t.Dims[0] == n && rows <= 1:
		p.ScaleAxes = "n | g"
		if p.Group = size; size <= 0 {
			p.Group = k / max(1, t.Dims[1])
		}
	case len(t.Dims) == 2:
		if rows <= 0 {
			rows, size = 128, 128
		}
		p.ScaleAxes, p.Rows, p.Group = "r | g", rows, size
		s.weight.ext[axisR] = (n + rows - 1) / rows
	default:
		s.refuse("scales of shape %v for numbers of shape %v", layout.Shape(t.Dims), layout.Shape(codes.Dims))
	}
	if g := p.Group; g > 0 && (len(t.Dims) != 2 || (k+g-1)/g != t.Dims[1]) {
		s.refuse("scales of shape %v for numbers of shape %v in groups of %d", layout.Shape(t.Dims), layout.Shape(codes.Dims), g)
	}
	return p, s.err
}
