package oracle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// trial is one run of a case on a device.
type trial[T comparable] struct {
	c   Case
	dev device.Device
	q   device.Queue
	m   memory[T]

	dst, src, b, at device.Buffer
	buffers         []device.Buffer // each of them once
	held            contents[T]     // until the operation; dst's then becomes the oracle's result
	got             contents[T]     // after the operation
	wrong           []int64         // the indices out of range that the oracle found
}

// contents are the contents of a trial's buffers. at has indices, a table or
// conditions.
type contents[T comparable] struct {
	dst, src, b []T
	at          []byte
}

// bufferSizes are their lengths, in bytes or strings.
type bufferSizes struct{ dst, src, b, at int64 }

func check[T comparable](dev device.Device, c Case, rng *rand.Rand, q device.Queue, m memory[T]) (err error) {
	n, err := c.bufferSizes(rng)
	if err != nil {
		return err
	}
	t := &trial[T]{c: c, dev: dev, q: q, m: m}
	defer func() { err = errors.Join(err, t.free()) }()
	if err := t.allocate(n); err != nil {
		return err
	}
	if err := t.write(rng, n); err != nil {
		return err
	}
	walk, err := t.launch()
	late := err == nil && c.Wrong > 0
	if late {
		err = q.Wait()
	}
	if c.Wrong <= 0 && err != nil {
		return errors.Join(err, q.Wait())
	}
	walk(t.held.dst)
	if c.Wrong > 0 {
		if err := checkNamed(err, t.wrong); err != nil {
			return err
		}
	}
	if err := t.read(late); err != nil {
		return err
	}
	return t.compare()
}

// guard is the length of a buffer behind its last element: a little, or none.
func guard(rng *rand.Rand) int64 { return max(rng.Int64N(96)-32, 0) }

// bufferSizes chooses the sizes of a case's buffers, 0 for those it does not use.
func (c Case) bufferSizes(rng *rand.Rand) (n bufferSizes, err error) {
	n.dst, n.src, n.at = c.Sizes()
	n.b = c.sizeB()
	n.dst += guard(rng)
	if c.Op != OpFill {
		n.src += guard(rng)
	}
	if c.hasIndices() || c.Op == OpMap || c.Op == OpWhere {
		n.at += guard(rng)
	}
	if c.Op == OpWhere {
		n.b += guard(rng)
	}
	if c.Shared {
		n.dst, n.src = max(n.dst, n.src), 0
	}
	if c.SharedB {
		n.dst, n.b = max(n.dst, n.b), 0
	}
	limit := int64(most)
	if c.DstType == layout.String {
		limit /= 64
	}
	if max(n.dst, n.src, n.b) > limit || n.at > most {
		err = layout.Errorf(device.ErrInvalid, "Check", "buffers of %d, %d, %d and %d bytes or strings are too large to check", n.dst, n.src, n.b, n.at)
	}
	return n, err
}

// allocate allocates the buffers; after an error, free frees the ones that there are.
func (t *trial[T]) allocate(n bufferSizes) (err error) {
	alloc := func(alloc func(int64) (device.Buffer, error), n int64) device.Buffer {
		if err != nil {
			return nil
		}
		var b device.Buffer
		if b, err = alloc(n); err == nil {
			t.buffers = append(t.buffers, b)
		}
		return b
	}
	t.dst = alloc(t.m.alloc, n.dst)
	if t.src = t.dst; !t.c.Shared {
		t.src = alloc(t.m.alloc, n.src)
	}
	if t.b = t.dst; !t.c.SharedB {
		t.b = alloc(t.m.alloc, n.b)
	}
	t.at = alloc(t.dev.Alloc, n.at)
	return err
}

func (t *trial[T]) free() (err error) {
	for _, b := range slices.Backward(t.buffers) {
		err = errors.Join(err, b.Free())
	}
	return err
}

// write fills the buffers with random data.
func (t *trial[T]) write(rng *rand.Rand, n bufferSizes) error {
	random := func() contents[T] {
		return contents[T]{t.m.random(n.dst), t.m.random(n.src), t.m.random(n.b), RandomBytes(rng, n.at)}
	}
	t.held = random()
	switch t.c.Op {
	case OpTake, OpPut:
		t.c.indices(rng, t.held.at)
	case OpWhere:
		conditions(rng, t.held.at)
	}
	if t.m.season != nil && !t.c.Shared {
		t.m.season(t.held.src)
	}
	t.got = random() // to detect a read that does nothing
	return errors.Join(t.m.write(t.dst, t.held.dst), t.m.write(t.src, t.held.src), t.m.write(t.b, t.held.b), t.q.Write(t.at, 0, t.held.at))
}

// operands are dst and src.
func (t *trial[T]) operands() (dst, src device.Operand) {
	return device.Operand{Buffer: t.dst, Layout: t.c.Dst, Type: t.c.DstType}, device.Operand{Buffer: t.src, Layout: t.c.Src, Type: t.c.SrcType}
}

// launch starts the operation, and returns the oracle's walk for it.
func (t *trial[T]) launch() (walk func(dst []T), err error) {
	c, q := t.c, t.q
	dst, src := t.operands()
	at := device.Operand{Buffer: t.at, Layout: c.At, Type: c.AtType}
	switch c.Op {
	case OpCopy:
		err = q.Copy(dst, src)
	case OpConvert:
		err = q.Convert(dst, src, c.How)
	case OpFill:
		return t.m.fill(dst)
	case OpTake:
		err = q.Take(dst, src, at, c.By...)
	case OpPut:
		err = q.Put(dst, src, at, c.Reduction, c.By...)
	case OpDequantize, OpQuantize:
		err = t.m.terms.run(q, c, dst, src)
	case OpMap:
		l, _ := c.table() // its size is known
		err = q.Map(dst, src, device.Operand{Buffer: t.at, Layout: l, Type: c.DstType})
	case OpWhere:
		err = q.Where(dst, device.Operand{Buffer: t.at, Layout: c.Cond, Type: layout.Bool}, src, device.Operand{Buffer: t.b, Layout: c.B, Type: c.DstType})
	}
	return t.walk, err
}

// walk is the oracle's operation on the contents of dst.
func (t *trial[T]) walk(dst []T) {
	if t.c.Shared {
		t.held.src = append([]T(nil), dst...)
	}
	if t.c.SharedB {
		t.held.b = append([]T(nil), dst...)
	}
	t.wrong = t.m.walk(dst, t.held.src, t.held.b, t.held.at)
}

// read reads all buffers. Reads of dst return the error of an index out of range along with the
// elements: they must where only a wait has reported it.
func (t *trial[T]) read(late bool) error {
	err := t.m.read(t.got.dst, t.dst)
	if len(t.wrong) > 0 && (late || err != nil) {
		err = checkNamed(err, t.wrong)
	}
	return errors.Join(err, t.m.read(t.got.src, t.src), t.m.read(t.got.b, t.b), t.q.Read(t.got.at, t.at, 0), t.q.Wait())
}

// compare compares all buffers with the oracle's.
func (t *trial[T]) compare() error {
	c, got, want := t.c, t.got, t.held
	if c.Op == OpPut && c.Reduction == device.ReduceSet && !t.dev.Info().PutsInOrder {
		t.m.settle(want.dst, got.dst, want.src, want.at)
	}
	err := errors.Join(compareDst(t.m, c, got.dst, want.dst, want.at), compareSource(c.readBeside(), got.at, want.at))
	if t.m.terms != nil {
		err = errors.Join(err, t.m.terms.compare(t.q))
	}
	if !c.Shared { // otherwise src is compared with dst
		err = errors.Join(err, compareSource("src", got.src, want.src))
	}
	if !c.SharedB {
		err = errors.Join(err, compareSource("b", got.b, want.b))
	}
	if namer, ok := device.As[device.KernelNamer](t.q); ok && err != nil && c.Op == OpCopy {
		class, kernel := namer.KernelName(t.operands())
		err = fmt.Errorf("%s by %s: %w", class, kernel, err)
	}
	return err
}

// readBeside names the operands that an operation reads besides values.
func (c Case) readBeside() string {
	switch c.Op {
	case OpMap:
		return "the table"
	case OpWhere:
		return "cond"
	}
	return "at"
}

func compareDst[T comparable](m memory[T], c Case, got, want []T, at []byte) error {
	if _, n := firstDifference(got, want); n == 0 {
		return nil
	}
	var errs []error
	if first, n := m.differ(got, want, at); n > 0 {
		errs = append(errs, fmt.Errorf("%w: %s; %d of %d elements differ", ErrWrong, first, n, c.Dst.Count()))
	}
	m.keep(want, got, at)
	if i, n := firstDifference(got, want); n > 0 {
		errs = append(errs, fmt.Errorf("%w: changed outside dst's elements, in %d bytes, the first at %d: got %v, was %v", ErrWrong, n, i, got[i], want[i]))
	}
	return errors.Join(errs...)
}

func compareSource[T comparable](what string, got, want []T) error {
	if i, n := firstDifference(got, want); n > 0 {
		return fmt.Errorf("%w: %s was changed, in %d bytes, the first at %d: got %v, was %v", ErrWrong, what, n, i, got[i], want[i])
	}
	return nil
}
