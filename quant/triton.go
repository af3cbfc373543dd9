package quant

import "fmt"

// tritonMX is a format of MXFP4 for Triton's matrix products: values and scales of experts.
func tritonMX(name, about string, multiples map[byte]int64, values func() array, scaleOrder string) *Format {
	return &Format{
		Name:   name,
		About:  about,
		suffix: gptOSS.suffix,
		table:  "e2m1",
		name:   gptOSS.name,
		arrays: func(Params) []array { return []array{values(), dense(scales, "_scales", "U8", scaleOrder, 8)} },
		bits:   func(Tensor) []int64 { return []int64{4} },
		params: gptOSS.params,
		accept: func(f *Format, p Params, ext extents) (Params, error) {
			if p.Group != 32 || p.Scale != "U8" {
				return p, f.refuse("numbers that are no MXFP4")
			}
			return p, f.widths(p, ext, multiples, 4)
		},
	}
}

var (
	tritonHopperMX = tritonMX("triton-hopper-mxfp4", "Triton's MXFP4 for Hopper: values by bits, in the order of a warp's registers; scales as triton-hopper",
		map[byte]int64{axisN: 16, axisK: 64}, hopperValues, "e | n/128 n/16%4 | g/2 n/64%2 n%8 g%2 n/8%2")
	tritonBlackwellMX = tritonMX("triton-blackwell-mxfp4", "Triton's MXFP4 for Blackwell: values as rows of n; scales as triton-blackwell",
		map[byte]int64{axisK: 256}, func() array { return dense(codes, "_blocks", "U8", "e | n | k", 4) }, "e | n/128 | g/4 | n/16%2 | n%16 n/32%4 g%4")
)

// hopperValues is the array of Triton's values for Hopper. A 32-bit word has 8 values, with
// an even k's in its lower half and the next k's in the upper, so that a shift and a mask
// give two BFloat16 values. In each half the first three values have their sign 6 bits
// above the rest, each 3 bits below its predecessor; the bits of the fourth are in the
// gaps.
func hopperValues() array {
	a := array{"_blocks", "U8", "e | n/16 n/2%4 | k/64 n%2 k/2%4 k/16%4", 32, nil}
	add := func(value, at, lo, bits int64) {
		a.slots = append(a.slots, slot{
			role: codes, rows: "e n/16 n/2%4 k/64 n%2 k/2%4 k/16%4", block: 32, at: at,
			order: fmt.Sprintf("k%%2 k/8%%2=%d n/8%%2=%d", value/2, value%2), pitch: 16, lo: lo, bits: bits,
		})
	}
	for value := range int64(3) {
		add(value, 6-3*value, 0, 3)
		add(value, 15-3*value, 3, 1)
	}
	add(3, 13, 0, 1)
	add(3, 10, 1, 2)
	add(3, 14, 3, 1)
	return a
}
