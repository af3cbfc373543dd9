package quant

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// rules checks a weight that was found against its format's rules, which are the same as
// for writing: extents, bits, groups and scales. lookup finds tensors beside it.
func (w *Weight) rules(lookup func(string) (Tensor, bool)) error {
	f, p := w.Format, w.Params
	if slices.Contains(w.Shape(), 0) {
		return layout.Errorf(layout.ErrInvalid, f.Name, "%s has no elements: its shape is %v", quote.Name(w.Tensors[0].Name), layout.Shape(w.Shape()))
	}
	if f.accept != nil && f != gguf { // gguf's block types are the only rule
		if _, err := f.accept(f, p, w.ext); err != nil {
			return fmt.Errorf("%s: %w", quote.Name(w.Tensors[0].Name), err)
		}
	}
	if f == nvfp4 && w.has(scales) != w.has(tensorScale) {
		return layout.Errorf(layout.ErrInvalid, f.Name, "%s has one of the tensors weight_scale and weight_scale_2; both are wanted, or none", quote.Plain(w.Name))
	}
	if err := w.zeroRules(); err != nil {
		return err
	}
	return w.companions(lookup)
}

// zeroRules refuses a weight without the zero points that it is said to have, and notices zero
// points that a symmetric weight does not have: engines differ on whether they count.
func (w *Weight) zeroRules() error {
	f, p := w.Format, w.Params
	if p.Zeros && !w.has(zeros) && w.has(scales) {
		return layout.Errorf(layout.ErrInvalid, f.Name, "%s has no tensor of zero points, and is described as not symmetric", quote.Plain(w.Name))
	}
	i := slices.IndexFunc(w.arrays, func(a array) bool { return a.has(zeros) })
	if p.Zeros || i < 0 || w.Tensors[i].Content == nil || w.Tensors[i].Type != "I32" {
		return nil
	}
	t, row := w.Tensors[i], w.ext[axisN]*p.Bits
	if f == awqGEMV { // its rows are padded
		row = w.ext[axisG] * p.Bits
	}
	words, wanted := max(1, t.Dims[len(t.Dims)-1]), middles(p)
	odd := errors.New("another zero point")
	err := eachInt32(t, func(i, have int64) error {
		mask := ^uint32(0)
		if valid := row - i%words*32; valid < 32 {
			mask = 1<<max(0, valid) - 1
		}
		if (uint32(have)^wanted[i%words%int64(len(wanted))])&mask != 0 {
			return odd
		}
		return nil
	})
	if w.ZerosIgnored = errors.Is(err, odd); w.ZerosIgnored {
		return nil
	}
	return err
}

// middles are the words of zero points that are half of the range. They repeat.
func middles(p Params) []uint32 {
	out, zero := make([]uint32, p.Bits), uint32(1)<<(p.Bits-1)
	if p.ZeroLess {
		zero--
	}
	for bit := range 32 * p.Bits {
		out[bit/32] |= zero >> (bit % p.Bits) & 1 << (bit % 32)
	}
	return out
}

// companions refuses tensors beside a weight's codes that change its numbers but do not
// belong to the weight: they would be copied as if they were something else.
func (w *Weight) companions(lookup func(string) (Tensor, bool)) error {
	if w.Format.codesOnly || w.Format.numbers || !w.has(scales) && !w.has(superScales) {
		return nil
	}
	for _, suffix := range beside() {
		t, ok := lookup(joined(w.Name, suffix))
		has := func(have Tensor) bool { return have.Name == t.Name }
		if ok && !slices.ContainsFunc(w.Tensors, has) && !slices.ContainsFunc(w.Sidecars, has) {
			return layout.Errorf(layout.ErrUnsupported, w.Format.Name, "tensor %s beside the weight %s: a weight as it is described does not have it", quote.Name(t.Name), quote.Plain(w.Name))
		}
	}
	return nil
}

// beside lists the suffixes of tensors that change a weight's numbers: those of all formats
// except codes, and other known ones.
var beside = sync.OnceValue(func() (all []string) {
	for _, f := range []*Format{gptq, awq, marlin, trtLLM, packed, matMulNBits, compressedTensors, hqq, nvfp4} {
		for _, a := range f.arrays(Params{Bits: 4, Zeros: true, Sorted: true, details: details{Sidecar: sidecar{Rows: 1}}})[1:] {
			if r := a.slots[0].role; r != shape && r != scales && !slices.Contains(all, a.suffix) {
				all = append(all, a.suffix)
			}
		}
	}
	return append(all, ".perm", ".pre_quant_scale")
})

// scaleRule refuses scales of a type that is not numeric, or that does not match the codes.
func (p Params) scaleRule(f *Format, t Tensor) error {
	wanted := []string{"F16", "BF16"}
	switch f {
	case fp8:
		wanted = append(wanted, "F32", "F8_E8M0")
	case mlx, compressedInt8:
		wanted = append(wanted, "F32")
	case packed, hqq:
		wanted = append(wanted, "F32")
		switch {
		case p.Table == "e2m1":
			wanted = []string{"U8", "F8_E4M3"}
		case fourBits[p.Table] != nil:
			wanted = []string{"F32"}
		}
	}
	if !slices.Contains(wanted, t.Type) {
		return layout.Errorf(layout.ErrInvalid, f.Name, "tensor %s is of type %s; scales are of %v", quote.Name(t.Name), t.Type, wanted)
	}
	return nil
}

// Grouped reports whether the weight has scales for groups or rows.
func (w *Weight) Grouped() bool { return w.has(scales) || w.has(superScales) }
