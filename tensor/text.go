package tensor

import (
	"errors"
	"strings"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/ndformat"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// castText casts to or from strings, by the rules of ONNX's Cast. It runs on the host, which
// holds strings.
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
	out.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(to, out.Count()), Class: "text"}}, t)
	return out, nil
}

// textPiece is the number of elements that are cast to or from strings at once.
const textPiece = 1 << 12

// longText is the length in bytes from which parsing a text again costs more time, and more
// memory, than caching its value.
const longText = 256

// toText writes numbers: floats with the fewest digits that distinguish them from their
// neighbours, without an exponent; infinities and NaN as fromText reads them.
func (t *Tensor) toText(op string) (*Tensor, error) {
	out, err := allocate(t.stream, op, layout.String, t.layout.Shape())
	if err != nil {
		return nil, err
	}
	var (
		width = int64(t.dtype.Bits())
		room  []byte
		words = make([]string, min(t.Count(), textPiece))
		done  int64
	)
	err = t.byPieces(op, textPiece, func(b device.Buffer, off, n int64) error {
		first := off * width / 8
		size := ((off+n)*width+7)/8 - first
		if int64(len(room)) < size {
			room = make([]byte, size)
		}
		if err := t.stream.queue.Read(room[:size], b, first); err != nil {
			return err
		}
		skip := off - first*8/width // earlier elements in the same byte
		for i := range n {
			if i > 0 && numeric.Bits(room, int(width), skip+i) == numeric.Bits(room, int(width), skip+i-1) {
				words[i] = words[i-1] // probably a broadcast
				continue
			}
			words[i] = ndformat.Plain(t.dtype, room, skip+i)
		}
		if err := pack("the strings of "+op, words[:n]); err != nil {
			return err
		}
		done += n
		return t.stream.words.WriteStrings(out.memory.buffer, done-n, words[:n])
	})
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

// pack moves words to one piece of memory, which counts as in use while one of them lives.
func pack(what string, words []string) error {
	size := 0
	for _, s := range words {
		size += len(s)
	}
	if size == 0 {
		return nil
	}
	var b strings.Builder // not strings.Join, which returns a single word as it is
	b.Grow(size)
	for _, s := range words {
		b.WriteString(s)
	}
	all := b.String()
	if err := budget.TakeFor(budget.Process(), unsafe.StringData(all), what, int64(size)); err != nil {
		return err
	}
	for i, s := range words {
		words[i], all = all[:len(s)], all[len(s):]
	}
	return nil
}

// fromText reads numbers: for an integer type as 64-bit integers, whose low bits are kept, as in
// a cast between integers; for a float type as the nearest float32 or float64, which is then
// cast.
func (t *Tensor) fromText(op string, to layout.DType, how device.Rounding) (*Tensor, error) {
	switch to {
	case layout.Float32:
		return readWords(t, op, to, how, func(s string) (float32, bool) {
			v, ok := parseFloat(s, 32)
			return float32(v), ok
		})
	case layout.Bool:
		return readWords(t, op, to, how, parseBool)
	}
	if k := numeric.KindOf(to); k == numeric.IntKind || k == numeric.UintKind {
		return readWords(t, op, to, how, parseInteger)
	}
	return readWords(t, op, to, how, func(s string) (float64, bool) { return parseFloat(s, 64) })
}

// readWords makes a tensor of the results of parse, and casts it to the type to.
func readWords[T layout.Element](t *Tensor, op string, to layout.DType, how device.Rounding, parse func(string) (T, bool)) (*Tensor, error) {
	shape := t.layout.Shape()
	x, err := allocate(t.stream, op, layout.TypeOf[T](), shape)
	if err != nil {
		return nil, err
	}
	var done int64
	values := make([]T, 0, min(t.Count(), textPiece))
	flush := func() error {
		err := t.stream.queue.Write(x.memory.buffer, bytesOf(x.dtype, done), bytesOfSlice(values))
		done, values = done+int64(len(values)), values[:0]
		return err
	}
	var last string
	v, ok := parse(last)
	type text struct {
		at *byte
		n  int
	}
	known := map[text]T{} // values of long texts, which a broadcast may repeat
	err = t.eachString(op, textPiece, func(s string) error {
		if len(s) >= longText {
			at := text{unsafe.StringData(s), len(s)}
			if v, ok = known[at]; !ok {
				if v, ok = parse(s); ok {
					known[at] = v
				}
			}
		} else if s != last {
			v, ok = parse(s)
		}
		last = s
		if !ok {
			return layout.Errorf(device.ErrInvalid, op, "string %d, %s, is not a number that can be cast to %v", done+int64(len(values)), quote.Name(s), to)
		}
		if values = append(values, v); len(values) < textPiece {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return nil, errors.Join(err, x.Release())
	}
	if x.dtype == to {
		return x, nil
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
