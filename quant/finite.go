package quant

import (
	"encoding/binary"

	"github.com/restride/restride/layout"
)

// Finite returns an error if a number to be converted to a code is NaN or infinite. No code
// represents these, and devices silently convert them to other numbers (see
// device.Quantization). b has bytes of From's tensor, in whole numbers. For plans that do
// not convert numbers to codes it reads nothing.
func (p *Plan) Finite(b []byte) error {
	if !p.quantises() {
		return nil
	}
	t := dtypeOf(p.From.Params.Type)
	// In a number that is not finite all exponent bits are set: adding one at the lowest
	// carries into the sign bit.
	size, lowest := 2, uint64(0x0400_0400_0400_0400)
	exponent, sign := uint64(0x7c00_7c00_7c00_7c00), uint64(0x8000_8000_8000_8000)
	switch t {
	case layout.BFloat16:
		exponent, lowest = 0x7f80_7f80_7f80_7f80, 0x0080_0080_0080_0080
	case layout.Float32:
		size, exponent, lowest, sign = 4, 0x7f80_0000_7f80_0000, 0x0080_0000_0080_0000, 0x8000_0000_8000_0000
	}
	for ; len(b) >= 8; b = b[8:] {
		if w := binary.LittleEndian.Uint64(b); (w&exponent+lowest)&sign != 0 {
			break
		}
	}
	for ; len(b) >= size; b = b[size:] {
		var w [8]byte
		copy(w[:], b[:size])
		if x := binary.LittleEndian.Uint64(w[:]); (x&exponent+lowest)&sign != 0 {
			kind := "infinite"
			if x&^(exponent|sign) != 0 {
				kind = "NaN"
			}
			return layout.Errorf(layout.ErrInvalid, p.From.Format.Name, "a number is %s; %s has finite ones", kind, p.To.Params.Blocks)
		}
	}
	return nil
}
