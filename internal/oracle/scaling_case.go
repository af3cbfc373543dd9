package oracle

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func (c Case) scales() bool { return c.Op == OpDequantize || c.Op == OpQuantize }

// all lists the present terms, with their names.
func (t *Terms) all() (terms []*Term, names []string) {
	for i, x := range []*Term{&t.Scale, &t.Zero, &t.Add} {
		if x.Type != layout.Invalid {
			terms, names = append(terms, x), append(names, []string{"scale", "zero", "add"}[i])
		}
	}
	return terms, names
}

// scaled checks the oracle's requirements of a case that scales; the device must refuse other
// violations.
func (c Case) scaled() error {
	terms, names := c.Terms.all()
	for i, t := range terms {
		if !isNumber(t.Type) || !c.Dst.SameShape(&t.Layout) {
			return fmt.Errorf("%s has no elements for it", names[i])
		}
	}
	switch {
	case c.Terms.Scale.Type == layout.Invalid:
		return errors.New("there is no scale")
	case c.Terms.FindScale && (c.Dst.Rank() == 0 || c.Terms.Scale.Layout.Stride(c.Dst.Rank()-1) != 0):
		return errors.New("the scale is not one of blocks along the last axis")
	case !isNumber(c.DstType) || !isNumber(c.SrcType):
		return errors.New("strings and complex numbers cannot be scaled")
	}
	return nil
}

// written writes the terms as the end of a case's name.
func (t *Terms) written() string {
	var b strings.Builder
	terms, names := t.all()
	for i, x := range terms {
		fmt.Fprintf(&b, "/%s=%v:%s", names[i], x.Type, written(x.Layout))
	}
	if t.Subtract {
		b.WriteString("/subtract")
	}
	if t.FindScale {
		b.WriteString("/find")
	}
	if t.Precision != layout.Invalid {
		fmt.Fprintf(&b, "/precision=%v", t.Precision)
	}
	return b.String()
}

// parseTerms reads the output of written, and returns the other words.
func (c *Case) parseTerms(words []string, dims []int64) (rest []string, err error) {
	t := &c.Terms
	for i, x := range []*Term{&t.Scale, &t.Zero, &t.Add} {
		role := []string{"scale=", "zero=", "add="}[i]
		if len(words) == 0 || !strings.HasPrefix(words[0], role) {
			continue
		}
		name, place, ok := strings.Cut(words[0][len(role):], ":")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form %stype:strides@offset", words[0], role)
		}
		if x.Type, err = layout.ParseDType(name); err != nil {
			return nil, err
		}
		if x.Layout, err = parseLayout(place, "", dims); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(words) > 0 && words[0] == "subtract" {
		t.Subtract, words = true, words[1:]
	}
	if len(words) > 0 && words[0] == "find" {
		t.FindScale, words = true, words[1:]
	}
	if len(words) > 0 {
		if name, ok := strings.CutPrefix(words[0], "precision="); ok {
			if t.Precision, err = layout.ParseDType(name); err != nil {
				return nil, err
			}
			words = words[1:]
		}
	}
	return words, nil
}

// termMemory is the memory of a case's terms on a device.
type termMemory struct {
	terms   Terms
	buffers []device.Buffer
}

// newTerms fills memory for the terms of a case.
func (c Case) newTerms(dev device.Device, q device.Queue, rng *rand.Rand) (m *termMemory, err error) {
	m = &termMemory{terms: c.Terms}
	terms, _ := m.terms.all()
	for _, t := range terms {
		size := slots(t.Layout, t.Type)
		if size > most {
			return m, layout.Errorf(device.ErrInvalid, "Check", "a buffer of %d bytes is too large to check", size)
		}
		t.Data = RandomBytes(rng, size+guard(rng))
		seasonTerm(rng, t, c.DstType)
		b, err := dev.Alloc(int64(len(t.Data)))
		if err != nil {
			return m, err
		}
		m.buffers = append(m.buffers, b)
		if err := q.Write(b, 0, t.Data); err != nil {
			return m, err
		}
	}
	return m, nil
}

// seasonTerm overwrites most elements of wide types: with ones whose results are finite, and
// sometimes with hard ones.
func seasonTerm(rng *rand.Rand, t *Term, dst layout.DType) {
	width := t.Type.Bits()
	if width < 16 {
		return
	}
	for at := 0; at+width/8 <= len(t.Data); at += width / 8 {
		var v uint64
		switch rng.IntN(8) {
		case 0:
			continue
		case 1:
			v = Edge(rng, dst, t.Type)
		default:
			n := number{negative: rng.IntN(4) == 0, real: math.Ldexp(1+float64(rng.IntN(1<<10))/(1<<10), rng.IntN(24)-20)}
			if rng.IntN(2) == 0 {
				n.real = float64(rng.IntN(300)) / 4
			}
			v = encode(t.Type, n, device.Rounding{})
		}
		for k := range width / 8 {
			t.Data[at+k] = byte(v >> (8 * k))
		}
	}
}

func (m *termMemory) free() (err error) {
	for _, b := range m.buffers {
		err = errors.Join(err, b.Free())
	}
	return err
}

// operands are the terms as the device's operands.
func (m *termMemory) operands() (scale, zero, add device.Operand) {
	i := 0
	of := func(t *Term) (o device.Operand) {
		if t.Type != layout.Invalid {
			o = device.Operand{Buffer: m.buffers[i], Layout: t.Layout, Type: t.Type}
			i++
		}
		return o
	}
	scale = of(&m.terms.Scale)
	zero = of(&m.terms.Zero)
	return scale, zero, of(&m.terms.Add)
}

// run runs the case on the device.
func (m *termMemory) run(q device.Queue, c Case, dst, src device.Operand) error {
	scale, zero, add := m.operands()
	if c.Op == OpQuantize {
		return q.Quantize(dst, src, device.Quantization{Scale: scale, Zero: zero, Precision: c.Terms.Precision, Unsaturated: c.How.Unsaturated, FindScale: c.Terms.FindScale})
	}
	return q.Dequantize(dst, src, device.Scaling{Scale: scale, Zero: zero, Add: add, Subtract: c.Terms.Subtract})
}

// compare checks that nothing changed except scales that were to be found.
func (m *termMemory) compare(q device.Queue) (err error) {
	terms, names := m.terms.all()
	for i, t := range terms {
		after := make([]byte, len(t.Data))
		if e := q.Read(after, m.buffers[i], 0); e != nil {
			return e
		}
		if i == 0 && m.terms.FindScale {
			err = errors.Join(err, compareFound(t, after))
			continue
		}
		err = errors.Join(err, compareSource(names[i], after, t.Data))
	}
	return err
}

// compareFound checks the scales that were found, and the bytes around them.
func compareFound(t *Term, got []byte) error {
	if i, n := firstDifference(got, t.Data); n > 0 {
		return fmt.Errorf("%w: the scales that were found, in %d bytes, the first at %d: got %#x, want %#x", ErrWrong, n, i, got[i], t.Data[i])
	}
	return nil
}
