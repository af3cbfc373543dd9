package opencl

import (
	_ "embed" // for the trial
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/arguments"
	"github.com/restride/restride/internal/gpu"
)

// arithmetic is a set of float operations for which a device's own instructions are exact: each
// rounds once to the nearest float, including subnormal ones. Kernels perform all others on
// integers (kernels/source/arithmetic.h), ten times slower.
type arithmetic uint

const (
	floats    arithmetic = 1 << iota // sums and products of 32 bits
	quotients                        // and quotients
	doubles                          // sums and products of 64 bits
)

// options are compiler options, each for a macro of kernels/source/opencl.h.
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

// claimed is the arithmetic that a device claims.
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

// trial has kernels whose results must have the same bits on every device.
//
//go:embed trial.cl
var trial string

// trialNumbers is the version of the numbers that are tried: another set needs another version,
// so that it does not match verdicts on disk.
const trialNumbers = "1"

// provenOf returns a function that returns how much of a claim is true, tried at its first
// call. A trial that fails, such as for lack of memory, is not a verdict: the next call tries
// again.
func (d *driver) provenOf(claim arithmetic) func() arithmetic {
	var mu sync.Mutex
	var is arithmetic
	decided := false
	return func() arithmetic {
		mu.Lock()
		defer mu.Unlock()
		if !decided {
			var err error
			is, err = d.proven(claim)
			decided = err == nil
		}
		return is
	}
}

// proven is how much of a claim is true, from the disk cache or a trial. With an error the
// result may be used, but is not a verdict.
func (d *driver) proven(claim arithmetic) (arithmetic, error) {
	if claim == 0 {
		return 0, nil
	}
	p := &d.programs
	key := p.key("trial of arithmetic "+trialNumbers, p.trial, buildOptions+claim.options())
	if b := p.disk.load(key); len(b) == 1 && arithmetic(b[0])&^claim == 0 {
		return arithmetic(b[0]), nil
	}
	is, err := d.tried(claim)
	if err == nil {
		p.disk.store(key, []byte{byte(is)})
	}
	return is, err
}

// tried tries a claim on numbers for which flushed subnormal numbers, fused products and
// inexact quotients give other bits. Where doubles or exact quotients do not compile, sums
// and products of 32 bits are tried alone.
func (d *driver) tried(claim arithmetic) (_ arithmetic, err error) {
	program, err := d.programs.compile(d.programs.trial, buildOptions+claim.options())
	switch least := claim & floats; {
	case err != nil && claim != least && !errors.Is(err, device.ErrOutOfMemory):
		return d.tried(least)
	case err != nil:
		return 0, err
	}
	defer func() { err = errors.Join(err, clReleaseProgram.call(program)) }()
	single, err := try(d, program, "try_floats", trials(23, 8, func(x uint64) float32 { return math.Float32frombits(uint32(x)) }))
	if err != nil || !single.exact {
		return 0, err
	}
	if !single.quotients {
		claim &^= quotients
	}
	if claim&doubles == 0 {
		return claim, nil
	}
	double, err := try(d, program, "try_doubles", trials(52, 11, math.Float64frombits))
	if err != nil || !double.exact {
		claim &^= doubles
	}
	return claim, err
}

type float interface{ float32 | float64 }

// trials returns numbers a, b and c of a format: those at the edges of its exponents, with
// mantissas that are exact, or halfway, or next to halfway. Every second c is -(a * b), so that
// a fused product leaves the part that was rounded off.
func trials[F float](mantissa, exponent uint, of func(uint64) F) (all [][3]F) {
	top := uint64(1)<<exponent - 1 // the exponent of infinities and NaN
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

// kept is the arithmetic whose results were right.
type kept struct{ exact, quotients bool }

// try runs a kernel of the trial, with a work-item for each case.
func try[F float](d *driver, program uintptr, name string, cases [][3]F) (k kept, err error) {
	in, err := binary.Append(nil, binary.LittleEndian, cases)
	if err != nil {
		return k, err
	}
	got := make([][4]F, len(cases)) // a + b, a * b, a * b + c, a / b
	out, err := d.runTrial(program, name, in, len(cases), binary.Size(got))
	if err != nil {
		return k, err
	}
	if _, err := binary.Decode(out, binary.LittleEndian, got); err != nil {
		return k, err
	}
	k = kept{true, true}
	for i, c := range cases {
		product := F(c[0] * c[1]) // the conversion keeps Go from fusing
		k.exact = k.exact && same(c[0]+c[1], got[i][0]) && same(product, got[i][1]) && same(product+c[2], got[i][2])
		k.quotients = k.quotients && same(c[0]/c[1], got[i][3])
	}
	return k, nil
}

// same reports whether two numbers have the same bits, or both are NaN.
func same[F float](a, b F) bool {
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) || a != a && b != b
}

// runTrial runs a kernel of the trial, of n work-items that read in and write out.
func (d *driver) runTrial(program uintptr, name string, in []byte, n, bytes int) (out []byte, err error) {
	kernel, err := kernelOf(program, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, clReleaseKernel.call(kernel)) }()
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
	pointer := arguments.Value{Kind: arguments.Pointer}
	count := arguments.Value{Kind: arguments.Integer, Bytes: binary.LittleEndian.AppendUint32(nil, uint32(n))}
	values := []gpu.Value{{Value: pointer, Mem: dst}, {Value: pointer, Mem: src}, {Value: count}}
	grid := [3]uint32{uint32(n+group-1) / group, 1, 1}
	if err := s.(*stream).LaunchProgram(&userKernel{kernel: kernel}, grid, [3]uint32{group, 1, 1}, values, 0); err != nil {
		return nil, err
	}
	out = make([]byte, bytes)
	return out, errors.Join(s.Download(out, dst, 0), s.Finish())
}
