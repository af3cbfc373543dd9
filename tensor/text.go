package tensor

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/ndformat"
	"github.com/restride/restride/layout"
)

// Casts from and to strings, by what ONNX's Cast says of them. They run on the
// host, where strings are.

// castText casts to or from strings.
func (t *Tensor) castText(op string, to layout.DType, how device.Rounding) (*Tensor, error) {
	if !t.stream.IsHost() {
		return nil, t.fail(op, layout.Errorf(device.ErrUnsupported, op,
			"to %v: strings are cast on the cpu device only, and this tensor is on %s: To(tensor.Host()) brings it there", to, t.stream.dev.Info().ID()))
	}
	var out *Tensor
	var err error
	if to == layout.String {
		out, err = t.toText(op)
	} else {
		out, err = t.fromText(op, to, how)
	}
	if err != nil {
		return nil, t.fail(op, err)
	}
	out.note(op, move{verdict: Verdict{Copy, bytesOf(to, out.Count()), "text"}}, t)
	return out, nil
}

// toText writes numbers: floats with the fewest digits that tell them from their
// neighbours, without an exponent, infinities and NaN as fromText reads them.
func (t *Tensor) toText(op string) (*Tensor, error) {
	packed, err := t.packed()
	if err != nil {
		return nil, err
	}
	words := make([]string, t.Count())
	for i := range words {
		words[i] = ndformat.Plain(t.dtype, packed, int64(i))
	}
	out, err := allocate(t.stream, op, layout.String, t.layout.Shape())
	if err != nil {
		return nil, err
	}
	if err := t.stream.queue.(device.StringQueue).WriteStrings(out.memory.buffer, 0, words); err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

// packed returns a copy of the packed elements of a host tensor.
func (t *Tensor) packed() (out []byte, err error) {
	x, err := t.copyOut("Clone", t.layout.Shape())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Release()) }()
	out = make([]byte, x.memory.buffer.Size())
	return out, x.load(out)
}

// fromText reads numbers: for an integer type integers of 64 bits, or floats that
// are truncated to such, of which the low bits are kept; for a float type the
// nearest float32 or float64, which is then cast on.
func (t *Tensor) fromText(op string, to layout.DType, how device.Rounding) (*Tensor, error) {
	x, err := t.copyOut("Clone", t.layout.Shape())
	if err != nil {
		return nil, err
	}
	words := make([]string, x.Count())
	if err := errors.Join(x.load(words), x.Release()); err != nil {
		return nil, err
	}
	switch to {
	case layout.Float32:
		return readWords(t, op, to, words, how, func(s string) (float32, bool) {
			v, ok := parseFloat(s, 32)
			return float32(v), ok
		})
	case layout.Bool:
		return readWords(t, op, to, words, how, parseBool)
	case layout.Uint64:
		return readWords(t, op, to, words, how, parseUint)
	case layout.Int8, layout.Int16, layout.Int32, layout.Int64, layout.Int4, layout.Int2,
		layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint4, layout.Uint2:
		return readWords(t, op, to, words, how, parseInt)
	}
	return readWords(t, op, to, words, how, func(s string) (float64, bool) { return parseFloat(s, 64) })
}

// readWords makes a tensor of what parse reads, and casts it on.
func readWords[T layout.Element](t *Tensor, op string, to layout.DType, words []string, how device.Rounding, parse func(string) (T, bool)) (*Tensor, error) {
	values := make([]T, len(words))
	for i, s := range words {
		v, ok := parse(s)
		if !ok {
			const most = 40
			if len(s) > most {
				s = s[:most] + "..."
			}
			return nil, layout.Errorf(device.ErrInvalid, op, "string %d, %q, is not a number that can be cast to %v", i, s, to)
		}
		values[i] = v
	}
	shape := t.layout.Shape()
	x, err := fromSlice(t.stream, op, values, shape)
	if err != nil || x.dtype == to {
		return x, err
	}
	out, err := allocate(t.stream, op, to, shape)
	if err == nil {
		err = t.stream.queue.Convert(out.Operand(), x.Operand(), how)
	}
	if err = errors.Join(err, x.Release()); err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

// parseFloat reads a number in plain or scientific notation, or one of INF, +INF,
// -INF and NaN in letters of any case. What is too large is an infinity.
func parseFloat(s string, bits int) (float64, bool) {
	unsigned := strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	switch {
	case strings.EqualFold(s, "nan"):
		return math.NaN(), true
	case strings.EqualFold(s, "-inf"):
		return math.Inf(-1), true
	case strings.EqualFold(s, "inf"), strings.EqualFold(s, "+inf"):
		return math.Inf(1), true
	case strings.Trim(unsigned, "0123456789.eE+-") != "" || unsigned == "": // no hexadecimal, no _
		return 0, false
	}
	v, err := strconv.ParseFloat(s, bits)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}

// parseInt reads an integer. Text that is none is read as a float, and truncated.
func parseInt(s string) (int64, bool) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, true
	}
	v, ok := parseFloat(s, 64)
	switch {
	case math.IsNaN(v):
		return 0, ok
	case v >= math.MaxInt64:
		return math.MaxInt64, ok
	case v <= math.MinInt64:
		return math.MinInt64, ok
	}
	return int64(v), ok
}

func parseUint(s string) (uint64, bool) {
	if v, err := strconv.ParseUint(s, 10, 64); err == nil {
		return v, true
	}
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return uint64(v), true
	}
	v, ok := parseFloat(s, 64)
	switch {
	case !(v > 0):
		return 0, ok
	case v >= math.MaxUint64:
		return math.MaxUint64, ok
	}
	return uint64(v), ok
}

// parseBool reads True and False in letters of any case, and numbers.
func parseBool(s string) (bool, bool) {
	switch {
	case strings.EqualFold(s, "true"):
		return true, true
	case strings.EqualFold(s, "false"):
		return false, true
	}
	v, ok := parseFloat(s, 64)
	return v != 0, ok
}
