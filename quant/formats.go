package quant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/nearest"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// all lists the formats in display order.
var all = []*Format{
	gptq, gptqV1, awq, awqGEMV, marlin, machete, trtLLM, packed, matMulNBits, compressedTensors, compressedInt8, mlx,
	gguf, q40, q80, mxfp4, q40x4x4, q40x4x8, q40x8x8, q4Kx8x8, gptOSS, tritonHopperMX, tritonBlackwellMX, mlxMXFP4, compressedMXFP4,
	nvfp4, compressedNVFP4, fp8, tilePacked, hqq, bitsandbytes, llmInt8,
	floats, floats32, floats16, bfloats16,
	scalesPlain, tiles128x4, tritonBlackwell, tritonHopper,
	kvNHD, kvHND, kvPaged, kvPagedV,
}

// Formats returns all formats.
func Formats() []*Format { return slices.Clone(all) }

// Lookup returns the format with the given name.
func Lookup(name string) (*Format, error) {
	var names []string
	for _, f := range all {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return nil, layout.Errorf(layout.ErrInvalid, "quant", "no format is named %s%s; there are %s", quote.Name(name), nearest.Meant(name, names), strings.Join(names, ", "))
}

// File returns the file format for the format's weights.
func (f *Format) File() checkpoint.Format {
	if f == gguf || f.blocks != "" {
		return checkpoint.GGUF
	}
	return checkpoint.Safetensors
}

// Readable returns nil, or why weights of the format cannot be read; it can only be
// written.
func (f *Format) Readable() error {
	if f.unread == "" {
		return nil
	}
	return f.refuse("%s", f.unread)
}

// refuse returns the error of a format that does not accept a weight.
func (f *Format) refuse(format string, args ...any) error {
	return layout.Errorf(layout.ErrUnsupported, f.Name, format, args...)
}

// wordCodes returns the smallest number of codes of the given bits that fills whole 32-bit
// words.
func wordCodes(bits int64) int64 { return lcm(32, max(1, bits)) / max(1, bits) }

// byteCodes returns the smallest number of codes that fills whole bytes.
func byteCodes(bits int64) int64 { return lcm(8, max(1, bits)) / max(1, bits) }

// word is the order of an axis in 32-bit words of codes of the given bits.
func word(axis byte, bits int64) (words, within string) {
	per := 32 / bits
	return fmt.Sprintf("%c/%d", axis, per), fmt.Sprintf("%c%%%d", axis, per)
}

// widths refuses codes of widths other than the given bits, and extents that are not
// multiples of the given ones.
func (f *Format) widths(p Params, ext extents, multiples map[byte]int64, bits ...int64) error {
	if !slices.Contains(bits, p.Bits) {
		return f.refuse("codes of %d bits; it has %v", p.Bits, bits)
	}
	for axis, of := range multiples {
		if n, ok := ext[axis]; ok && n%of != 0 {
			return f.refuse("%c is %d; a multiple of %d is wanted", axis-'a'+'A', ext[axis], of)
		}
	}
	return nil
}
