package tensor

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/ndformat"
	"github.com/restride/restride/internal/numeric"
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

// fromText reads numbers: for an integer type integers of 64 bits, of which the
// low bits are kept, as in a cast between integers; for a float type the nearest
// float32 or float64, which is then cast on.
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
	}
	if k := numeric.KindOf(to); k == numeric.IntKind || k == numeric.UintKind {
		return readWords(t, op, to, words, how, parseInteger)
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
