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

// all lists the formats in the order in which they are shown.
var all = []*Format{
	gptq, gptqV1, awq, awqGEMV, marlin, machete, trtLLM, packed, matMulNBits, compressedTensors,
	gguf, q40, q80, mxfp4, q40x4x4, q40x4x8, q40x8x8, q4Kx8x8, gptOSS, tritonHopperMX, tritonBlackwellMX, nvfp4, tilePacked, hqq, bitsandbytes,
	floats, floats32, floats16, bfloats16,
	scalesPlain, tiles128x4, tritonBlackwell, tritonHopper,
	kvNHD, kvHND, kvPaged, kvPagedV,
}

// Formats returns all formats.
func Formats() []*Format { return slices.Clone(all) }

// Lookup returns the format of a name.
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

// File returns the kind of file that the format's weights are in.
func (f *Format) File() checkpoint.Format {
	if f == gguf || f.blocks != "" {
		return checkpoint.GGUF
	}
	return checkpoint.Safetensors
}

// Readable is nil, or says why weights of the format cannot be read: it can be written alone.
func (f *Format) Readable() error {
	if f.unread == "" {
		return nil
	}
	return f.refuse("%s", f.unread)
}

// refuse is the error of a format that cannot take a weight.
func (f *Format) refuse(format string, args ...any) error {
	return layout.Errorf(layout.ErrUnsupported, f.Name, format, args...)
}

// wordCodes returns the fewest codes of so many bits that make words of 32 bits.
func wordCodes(bits int64) int64 { return lcm(32, max(1, bits)) / max(1, bits) }

// byteCodes returns the fewest that make bytes.
func byteCodes(bits int64) int64 { return lcm(8, max(1, bits)) / max(1, bits) }

// word is the order of an axis in words of 32 bits of so many bits each.
func word(axis byte, bits int64) (words, within string) {
	per := 32 / bits
	return fmt.Sprintf("%c/%d", axis, per), fmt.Sprintf("%c%%%d", axis, per)
}

// widths refuses codes of other widths than those given, and extents that are no multiples.
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
