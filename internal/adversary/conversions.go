package adversary

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

func init() {
	register(Generator{
		Name:  "conversions",
		About: "weights of every format to every other: the whole against pieces, there and back; checks must find damage",
		Try:   tryConversion,
	})
}

// tryConversion converts a random weight to a format that can hold it.
func tryConversion(t *Trial) error {
	for range 100 {
		w, data := RandomWeight(t.Rand)
		if w == nil {
			continue
		}
		formats := quant.Formats()
		t.Rand.Shuffle(len(formats), func(i, j int) { formats[i], formats[j] = formats[j], formats[i] })
		for _, to := range formats {
			p, err := w.Plan(to)
			if err == nil {
				err = holdConversion(t, p, data)
			} else if expected(err) == nil {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s of %v, %+v, to %s: %w", w.Format.Name, w.Shape(), w.Params, to.Name, err)
			}
			return nil
		}
	}
	return errors.New("of 100 weights none can have another format")
}

// expected returns nil for an error that describes a fault of a weight, and the error itself
// otherwise.
func expected(err error) error {
	if errors.Is(err, layout.ErrInvalid) || errors.Is(err, layout.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("an error of no kind: %w", err)
}

// holdConversion compares a conversion by pieces with that of the whole, both with the checks'
// results, and converts back.
func holdConversion(t *Trial, p *quant.Plan, data content) error {
	want, first := convert(t, p, p.Cost().Memory, data)
	most := cutMemory(t, p)
	got, second := convert(t, p, most, data)
	switch {
	case (first == nil) != (second == nil) || errors.Is(first, quant.ErrDiffers) != errors.Is(second, quant.ErrDiffers):
		return fmt.Errorf("the whole gives the error %w; pieces of %d bytes %w", first, most, second)
	case first != nil && !errors.Is(first, quant.ErrDiffers):
		return errors.Join(expected(first), expected(second))
	}
	if err := got.equal(want); err != nil {
		return fmt.Errorf("pieces of %d bytes against the whole: %w", most, err)
	}
	back, err := p.Back()
	if err != nil || first != nil {
		return nil // there is no way back, or the check has reported that it gives other bytes
	}
	if err := findsDamage(t, p, most, data, want); err != nil {
		return err
	}
	return holdBack(t, p, back, data, want)
}

// holdBack compares the way back, whole and by pieces, with the source.
func holdBack(t *Trial, p, back *quant.Plan, data, made content) error {
	want := content{}
	for i, x := range back.To.Tensors { // which may have other names than the source's
		want[x.Name] = data[p.From.Tensors[i].Name]
	}
	for _, most := range []int64{back.Cost().Memory, cutMemory(t, back)} {
		got, err := convert(t, back, most, made)
		if err == nil || errors.Is(err, quant.ErrDiffers) {
			err = got.equal(want)
		}
		if err != nil {
			return fmt.Errorf("the way back by pieces of %d bytes: %w", most, err)
		}
	}
	return nil
}

// findsDamage damages a bit of the source: the result cannot then be turned back into it.
func findsDamage(t *Trial, p *quant.Plan, most int64, data, made content) error {
	x := p.From.Tensors[t.Rand.IntN(len(p.From.Tensors))]
	if len(data[x.Name]) == 0 {
		return nil
	}
	at, bit := t.Rand.IntN(len(data[x.Name])), byte(1)<<t.Rand.IntN(8)
	data[x.Name][at] ^= bit
	defer func() { data[x.Name][at] ^= bit }()
	pieces, err := p.Cut(most)
	if err != nil {
		return err
	}
	for i := range pieces.Len {
		one := pieces.At(i)
		src, first := data.parts(one.From, one.Src)
		dst, second := made.parts(one.To, whereRead(pieces, i))
		err := cmp.Or(first, second)
		if err == nil {
			err = checkPiece(t.Stream, one, src, dst)
		}
		if err != nil && !errors.Is(err, quant.ErrDiffers) {
			return expected(err)
		}
		if err != nil {
			return nil
		}
	}
	return fmt.Errorf("byte %d of tensor %s is damaged, and the check says that all is the same", at, x.Name)
}

// whereRead is the place of the tensors of a piece's result, including those that only the
// first piece writes.
func whereRead(pieces *quant.Pieces, i int) []quant.Region {
	first, all := pieces.At(0).Dst, slices.Clone(pieces.At(i).Dst)
	for j := range all {
		if all[j].Count == 0 {
			all[j] = first[j]
		}
	}
	return all
}

// checkPiece checks a piece that was converted.
func checkPiece(s *tensor.Stream, p quant.Piece, src, dst content) (err error) {
	from, err := src.upload(s)
	defer func() { err = errors.Join(err, from.Release()) }()
	if err != nil {
		return err
	}
	to, err := dst.upload(s)
	defer func() { err = errors.Join(err, to.Release()) }()
	if err != nil {
		return err
	}
	return p.Check(s, from, to)
}

// mostPieces is the most pieces of a conversion, to keep tries short.
const mostPieces = 300

// cutMemory is memory for pieces of the plan: the least, or more.
func cutMemory(t *Trial, p *quant.Plan) int64 {
	most, all := p.Least(), p.Cost().Memory
	if t.Rand.IntN(2) == 0 {
		most += t.Rand.Int64N(all - most + 1)
	}
	for {
		if pieces, err := p.Cut(most); err != nil || pieces.Len <= mostPieces {
			return most // convert returns the error
		}
		most *= 2
	}
}

// convert converts by pieces of the given memory, in any order, and checks each that can be
// turned back. It returns the last error of a check, with the result.
func convert(t *Trial, p *quant.Plan, most int64, data content) (content, error) {
	pieces, err := p.Cut(most)
	if err != nil {
		return nil, fmt.Errorf("no pieces of %d bytes: %w", most, err)
	}
	all, differs := newGather(p), error(nil)
	for _, i := range t.Rand.Perm(pieces.Len) {
		one := pieces.At(i)
		src, err := data.parts(one.From, one.Src)
		if err == nil {
			err = all.run(t.Stream, one, src)
		}
		if errors.Is(err, quant.ErrDiffers) {
			differs, err = err, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if err := all.complete(); err != nil {
		return nil, err
	}
	return all.bytes, differs
}

// content is the bytes of tensors, by name.
type content map[string][]byte

// parts are the bytes of a piece of a weight.
func (c content) parts(w *quant.Weight, where []quant.Region) (content, error) {
	out := content{}
	for i, x := range w.Tensors {
		if r := where[i]; r.Count > 0 && r.At+(r.Count-1)*r.Step+r.Bytes > int64(len(c[x.Name])) {
			return nil, fmt.Errorf("a piece has %+v of tensor %s, which has %d bytes", r, x.Name, len(c[x.Name]))
		}
		out[x.Name] = []byte{}
		for n := range where[i].Count {
			out[x.Name] = append(out[x.Name], c[x.Name][where[i].At+n*where[i].Step:][:where[i].Bytes]...)
		}
	}
	return out, nil
}

// upload returns tensors of the bytes.
func (c content) upload(s *tensor.Stream) (quant.Memory, error) {
	m := quant.Memory{}
	for name, b := range c {
		x, err := tensor.FromBytes(s, layout.Uint8, b, int64(len(b)))
		if err != nil {
			return m, err
		}
		m[name] = x
	}
	return m, nil
}

// equal describes where the content differs.
func (c content) equal(want content) error {
	if len(c) != len(want) {
		return fmt.Errorf("%d tensors; there must be %d", len(c), len(want))
	}
	for name, b := range want {
		if len(b) != len(c[name]) {
			return fmt.Errorf("tensor %s has %d bytes; there must be %d", name, len(c[name]), len(b))
		}
		if !bytes.Equal(b, c[name]) {
			at := 0
			for b[at] == c[name][at] {
				at++
			}
			return fmt.Errorf("byte %d of tensor %s is %#x; it must be %#x", at, name, c[name][at], b[at])
		}
	}
	return nil
}

// gather collects the output of pieces; one of them must give each byte.
type gather struct {
	bytes content
	given map[string][]bool
}

func newGather(p *quant.Plan) *gather {
	g := &gather{bytes: content{}, given: map[string][]bool{}}
	whole, _ := p.Cut(p.Cost().Memory) // the plan itself
	for i, r := range whole.At(0).Dst {
		name := p.To.Tensors[i].Name
		g.bytes[name], g.given[name] = make([]byte, r.Size()), make([]bool, r.Size())
	}
	return g
}

// run converts a piece, and checks it if it can be turned back.
func (g *gather) run(s *tensor.Stream, p quant.Piece, data content) (err error) {
	src, err := data.upload(s)
	defer func() { err = errors.Join(err, src.Release()) }()
	if err != nil {
		return err
	}
	for _, b := range data {
		if err := p.Finite(b); err != nil {
			return err
		}
	}
	dst, err := p.Run(s, src)
	defer func() { err = errors.Join(err, dst.Release()) }()
	if err != nil {
		return err
	}
	for i, x := range p.To.Tensors {
		b, err := dst[x.Name].Bytes()
		if err != nil {
			return err
		}
		if err := g.add(x.Name, p.Dst[i], b); err != nil {
			return err
		}
	}
	if _, err := p.Back(); err != nil {
		return expected(err)
	}
	return p.Check(s, src, dst)
}

// add adds the bytes of a tensor that a piece gives.
func (g *gather) add(name string, r quant.Region, b []byte) error {
	if r.Count > 0 && int64(len(b)) != r.Size() {
		return fmt.Errorf("a piece gives %d bytes of tensor %s, for a place of %d", len(b), name, r.Size())
	}
	for n := range r.Count {
		at := r.At + n*r.Step
		copy(g.bytes[name][at:], b[n*r.Bytes:][:r.Bytes])
		for i := range g.given[name][at:][:r.Bytes] {
			if g.given[name][at+int64(i)] {
				return fmt.Errorf("two pieces give byte %d of tensor %s", at+int64(i), name)
			}
			g.given[name][at+int64(i)] = true
		}
	}
	return nil
}

// complete names a byte that no piece has given.
func (g *gather) complete() error {
	for name, given := range g.given {
		if i := slices.Index(given, false); i >= 0 {
			return fmt.Errorf("no piece gives byte %d of tensor %s", i, name)
		}
	}
	return nil
}
