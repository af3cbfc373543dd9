package opencl

import (
	_ "embed" // for the trial
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/restride/restride/internal/gpu"
)

// arithmetic is a set of operations on floats that a device's own instructions do, each
// rounded once to the nearest float, subnormal ones among them. Kernels do all others on
// integers (kernels/source/arithmetic.h), ten times as slow.
type arithmetic uint

const (
	floats    arithmetic = 1 << iota // sums and products of 32 bits
	quotients                        // and quotients
	doubles                          // sums and products of 64 bits
)

// options are the compiler's, each for a macro of kernels/source/opencl.h.
func (a arithmetic) options() string {
	var all strings.Builder
	for _, o := range []struct {
		has  arithmetic
		text string
	}{
		{floats, " -D FLOATS"},
		{quotients, " -D QUOTIENTS -cl-fp32-correctly-rounded-divide-sqrt"},
		{doubles, " -D DOUBLES"},
	} {
		if a&o.has != 0 {
			all.WriteString(o.text)
		}
	}
	return all.String()
}

// claimed is what a device says that it does.
func claimed(single, double uint64, hasDoubles bool) arithmetic {
	const exact = fpDenorm | fpInfNaN | fpRoundToNearest
	if single&exact != exact {
		return 0
	}
	a := floats
	if single&fpCorrectlyRoundedDivide != 0 {
		a |= quotients
	}
	if hasDoubles && double&exact == exact {
		a |= doubles
	}
	return a
}

// arithmetic is what a device with these options claims.
func (o Options) arithmetic(p properties) arithmetic {
	if o.integers {
		return 0
	}
	return p.arithmetic
}

// trial has kernels that compute what has to have the same bits everywhere.
//
//go:embed trial.cl
var trial string

// proven is that of a claim which the device keeps: it is tried on numbers for which
// flushed subnormal numbers, fused products and inexact quotients give other bits. What
// fails in any way is not proven.
func (d *driver) proven(claim arithmetic) arithmetic {
	if claim == 0 {
		return 0
	}
	kept, err := tried(d, "try_floats", claim, trials(23, 8, func(x uint64) float32 { return math.Float32frombits(uint32(x)) }))
	if err != nil || !kept.exact {
		return 0
	}
	if !kept.quotients {
		claim &^= quotients
	}
	if claim&doubles != 0 {
		if kept, err = tried(d, "try_doubles", claim, trials(52, 11, math.Float64frombits)); err != nil || !kept.exact {
			claim &^= doubles
		}
	}
	return claim
}

type float interface{ float32 | float64 }

// trials returns numbers a, b and c of a format: those at the edges of its exponents, with
// mantissas that are exact, or halfway, or just beside. c is a * b with the other sign every
// second time, which leaves of a fused product what was rounded off.
func trials[F float](mantissa, exponent uint, of func(uint64) F) (all [][3]F) {
	top := uint64(1)<<exponent - 1 // of infinities and NaN
	bias, half, ones := top/2, uint64(1)<<(mantissa-1), uint64(1)<<mantissa-1
	var patterns []uint64
	for _, e := range []uint64{0, 1, 2, uint64(mantissa), bias / 2, bias/2 + 1, bias - uint64(mantissa) - 1, bias - uint64(mantissa), bias - 1, bias, bias + 1, bias + uint64(mantissa), bias + bias/2, top - 1} {
		for _, m := range []uint64{0, 1, 2, 3, half - 1, half, half + 1, ones - 1, ones, ones / 3, ones / 7, ones / 5 * 3} {
			patterns = append(patterns, e<<mantissa|m)
		}
	}
	patterns = append(patterns, top<<mantissa, top<<mantissa|half)
	for i, x := range patterns {
		for j, y := range patterns {
			a, b := of(x), of(y)
			if (i+j)%3 == 0 {
				a = -a
			}
			c := -F(a * b)
			if j%2 == 0 {
				c = of(patterns[(i*5+j)%len(patterns)])
			}
			all = append(all, [3]F{a, b, c})
		}
	}
	return all
}

// kept is what results were right.
type kept struct{ exact, quotients bool }

// tried runs a kernel of the trial, of a work-item for each case.
func tried[F float](d *driver, name string, claim arithmetic, cases [][3]F) (k kept, err error) {
	in, err := binary.Append(nil, binary.LittleEndian, cases)
	if err != nil {
		return k, err
	}
	got := make([][4]F, len(cases)) // a + b, a * b, a * b + c, a / b
	out, err := d.try(name, claim, in, len(cases), binary.Size(got))
	if err != nil {
		return k, err
	}
	if _, err := binary.Decode(out, binary.LittleEndian, got); err != nil {
		return k, err
	}
	k = kept{true, true}
	for i, c := range cases {
		product := F(c[0] * c[1]) // by a conversion: Go fuses nothing with it
		k.exact = k.exact && same(c[0]+c[1], got[i][0]) && same(product, got[i][1]) && same(product+c[2], got[i][2])
		k.quotients = k.quotients && same(c[0]/c[1], got[i][3])
	}
	return k, nil
}

// same reports whether two numbers have the same bits, or neither is a number.
func same[F float](a, b F) bool {
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) || a != a && b != b
}

// try runs a kernel of the trial, of n work-items that read in and write out.
func (d *driver) try(name string, claim arithmetic, in []byte, n, bytes int) (out []byte, err error) {
	u, err := d.compile(d.programs.trial, name, buildOptions+claim.options())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, u.Release()) }()
	s, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	src, err := d.LoadParameters(in)
	if err != nil {
		return nil, err
	}
	defer d.FreeParameters(src)
	dst, err := d.Alloc(int64(bytes))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Free(dst)) }()
	const group = 64
	values := []gpu.Value{{Kind: gpu.Pointer, Mem: dst}, {Kind: gpu.Pointer, Mem: src}, {Kind: gpu.Integer, Bytes: binary.LittleEndian.AppendUint32(nil, uint32(n))}}
	grid := [3]uint32{uint32(n+group-1) / group, 1, 1}
	if err := s.(*stream).LaunchProgram(u, grid, [3]uint32{group, 1, 1}, values, 0); err != nil {
		return nil, err
	}
	out = make([]byte, bytes)
	return out, errors.Join(s.Download(out, dst, 0), s.Finish())
}
