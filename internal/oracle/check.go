package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

var (
	// ErrWrong: the device accepted the operation and its result is wrong.
	ErrWrong = errors.New("wrong result")
	// ErrSkipped: the case has strings, which the device does not hold.
	ErrSkipped = errors.New("skipped: the device holds no strings")
)

// most is the largest buffer, in bytes, that Check makes. A string counts some 64: its header,
// its text, and the oracle's.
const most = 1 << 30

// Check runs one case on a device and compares every bit of the buffers with
// the index walk's: elements of dst, gaps between them, bytes around them, and src. The seed
// chooses the data. An error is ErrWrong if the result is wrong, ErrSkipped, or the device's.
func Check(dev device.Device, c Case, seed uint64) (err error) {
	q, err := dev.NewQueue()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	return CheckOn(dev, q, c, seed)
}

// CheckOn is Check on a queue of the device that the caller provides.
func CheckOn(dev device.Device, q device.Queue, c Case, seed uint64) error {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("%v with seed %d: %v", c, seed, p)) // with the name, to reproduce it
		}
	}()
	rng := rand.New(rand.NewPCG(seed, 0))
	err := c.walkable()
	switch {
	case err != nil: // without asking the device
	case c.DstType == layout.String:
		err = checkStrings(dev, q, c, rng)
	default:
		err = checkBytes(dev, q, c, rng)
	}
	if err == nil || errors.Is(err, ErrSkipped) {
		return err
	}
	return fmt.Errorf("%v with seed %d: %w", c, seed, err)
}

// Valid checks the rules that a case breaks whatever memory it is given.
func (c Case) Valid() error {
	if err := c.walkable(); err != nil {
		return err
	}
	refuse := func(rule string) error { return layout.Errorf(device.ErrInvalid, "Check", "%s", rule) }
	if c.Op != OpPut && c.Dst.SelfOverlaps() {
		return refuse("two indices share an element of dst")
	}
	for _, side := range []layout.Layout{c.Dst, c.Src} {
		if _, ok := layout.PackedBytes(side.Count(), 128); !ok {
			return refuse("the size in bytes overflows int64")
		}
	}
	return nil
}

// walkable checks what the index walk needs. Other rules are the device's to
// refuse.
func (c Case) walkable() error {
	refuse := func(rule string) error { return layout.Errorf(device.ErrInvalid, "Check", "%s", rule) }
	switch {
	case !slices.Contains(operations, c.Op):
		return refuse("not an operation")
	case !c.DstType.Storable() || c.Op != OpFill && !c.SrcType.Storable():
		return refuse("not an element type")
	case c.Op == OpFill:
		return nil
	case !c.Dst.SameShape(&c.Src):
		return refuse("the shapes differ")
	case c.scales():
		if err := c.scaled(); err != nil {
			return refuse(err.Error())
		}
	case c.Op != OpConvert && c.Op != OpMap && c.DstType.Bits() != c.SrcType.Bits():
		return refuse("the element widths differ")
	case c.Op == OpConvert && !(isNumber(c.DstType) && isNumber(c.SrcType)):
		return refuse("strings, complex numbers and bits cannot be converted")
	case c.hasIndices() && !c.walkableIndices():
		return refuse("no indices of a take or a put")
	case c.Reduction != device.ReduceSet && !(device.Reduces(c.DstType) && c.DstType == c.SrcType):
		return refuse("no elements that can be reduced")
	case c.Op == OpMap && !c.mapped():
		return refuse("no widths of a map")
	case c.Op == OpWhere && !(c.Dst.SameShape(&c.B) && c.Dst.SameShape(&c.Cond)):
		return refuse("the shapes of a where differ")
	}
	return nil
}

// isNumber reports whether a type can be converted.
func isNumber(t layout.DType) bool {
	k := numeric.KindOf(t)
	return k != numeric.StringKind && k != numeric.ComplexKind && k != numeric.BitKind
}

// memory holds the differences between bytes and strings.
type memory[T comparable] struct {
	alloc  func(n int64) (device.Buffer, error)
	random func(n int64) []T
	season func(src []T) // changes random elements; nil: they need no change
	write  func(b device.Buffer, data []T) error
	read   func(data []T, b device.Buffer) error
	// fill fills dst with a pattern on the device, and returns the oracle's.
	fill func(dst device.Operand) (walk func(dst []T), err error)
	// walk is the oracle's Copy, Convert, Take, Put, Map or Where. b and at are their operands
	// besides src. It returns indices out of range.
	walk func(dst, src, b []T, at []byte) (wrong []int64)
	// settle sets an element of want to which several went to the one in got, if it is among
	// them.
	settle func(want, got, src []T, at []byte)
	// keep copies the elements of dst: other differences are outside them.
	keep func(to, from []T, at []byte)
	// differ describes the first element that differs.
	differ func(got, want []T, at []byte) (first string, elements int64)
	terms  *termMemory // the terms of scalings
}

// byteMemory is memory of bytes, without the parts that depend on the case.
func byteMemory(dev device.Device, q device.Queue, rng *rand.Rand) memory[byte] {
	return memory[byte]{
		alloc:  dev.Alloc,
		random: func(n int64) []byte { return RandomBytes(rng, n) },
		write:  func(b device.Buffer, data []byte) error { return q.Write(b, 0, data) },
		read:   func(data []byte, b device.Buffer) error { return q.Read(data, b, 0) },
	}
}

// stringMemory is byteMemory for strings; ErrSkipped: the device does not hold them.
func stringMemory(dev device.Device, q device.Queue, rng *rand.Rand) (memory[string], error) {
	allocator, ok := device.As[device.StringAllocator](dev)
	queue, ok2 := device.As[device.StringQueue](q)
	switch {
	case !dev.Info().Strings:
		return memory[string]{}, ErrSkipped
	case !ok || !ok2:
		return memory[string]{}, fmt.Errorf("%w: the device says that it holds strings, and lacks the methods", ErrWrong)
	}
	return memory[string]{
		alloc: allocator.AllocStrings,
		random: func(n int64) []string {
			words := make([]string, n)
			for i := range words {
				words[i] = strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 36)
			}
			return words
		},
		write: func(b device.Buffer, data []string) error { return queue.WriteStrings(b, 0, data) },
		read:  func(data []string, b device.Buffer) error { return queue.ReadStrings(data, b, 0) },
	}, nil
}

func checkBytes(dev device.Device, q device.Queue, c Case, rng *rand.Rand) error {
	width := c.DstType.Bits()
	m := byteMemory(dev, q, rng)
	m.season = func(src []byte) { c.season(rng, src) }
	m.fill = func(dst device.Operand) (func([]byte), error) {
		pattern := RandomBytes(rng, int64(width+7)/8)
		return func(dst []byte) { Fill(dst, c.Dst, pattern, width) }, q.Fill(dst, pattern)
	}
	var err error
	if m.terms, err = c.newTerms(dev, q, rng); err != nil {
		return errors.Join(err, m.terms.free())
	}
	m.walk = func(dst, src, b, at []byte) (wrong []int64) {
		switch c.Op {
		case OpDequantize, OpQuantize:
			Scale(c.Op, dst, c.Dst, c.DstType, src, c.Src, c.SrcType, &m.terms.terms, c.How)
		case OpConvert:
			Convert(dst, c.Dst, c.DstType, src, c.Src, c.SrcType, c.How)
		case OpTake, OpPut:
			return c.byIndices(at, func(p, q int64) { Reduce(dst, p, src, q, c.DstType, c.Reduction) })
		case OpMap:
			Map(dst, c.Dst, width, src, c.Src, c.SrcType.Bits(), at, c.Table)
		case OpWhere:
			sides := map[bool][]byte{false: src, true: b}
			Where(c.Dst, c.Src, c.B, c.Cond, at, func(p, q int64, other bool) { move(dst, p, sides[other], q, width) })
		default:
			Copy(dst, c.Dst, src, c.Src, width)
		}
		return nil
	}
	m.settle = func(want, got, src []byte, at []byte) {
		c.byIndices(at, func(p, q int64) {
			if same(got, p, src, q, width) {
				move(want, p, src, q, width)
			}
		})
	}
	m.keep = func(to, from, at []byte) { c.written(at, func(p int64) { move(to, p, from, p, width) }) }
	m.differ = func(got, want, at []byte) (string, int64) {
		size := int64(width+7) / 8
		g, w := make([]byte, size), make([]byte, size)
		return c.differ(at, func(p int64) bool {
			move(g, 0, got, p, width)
			move(w, 0, want, p, width)
			return string(g) == string(w)
		}, func() string { return fmt.Sprintf("got %#x, want %#x", g, w) })
	}
	return errors.Join(check(dev, c, rng, q, m), m.terms.free())
}

func checkStrings(dev device.Device, q device.Queue, c Case, rng *rand.Rand) error {
	m, err := stringMemory(dev, q, rng)
	if err != nil {
		return err
	}
	queue, _ := device.As[device.StringQueue](q)
	m.fill = func(dst device.Operand) (func([]string), error) {
		return func(dst []string) { FillStrings(dst, c.Dst, "filled") }, queue.FillString(dst, "filled")
	}
	m.walk = func(dst, src, b []string, at []byte) (wrong []int64) {
		switch c.Op {
		case OpTake, OpPut:
			return c.byIndices(at, func(p, q int64) { dst[p] = src[q] })
		case OpWhere:
			sides := map[bool][]string{false: src, true: b}
			Where(c.Dst, c.Src, c.B, c.Cond, at, func(p, q int64, other bool) { dst[p] = sides[other][q] })
		default:
			CopyStrings(dst, c.Dst, src, c.Src)
		}
		return nil
	}
	m.settle = func(want, got, src []string, at []byte) {
		c.byIndices(at, func(p, q int64) {
			if got[p] == src[q] {
				want[p] = src[q]
			}
		})
	}
	m.keep = func(to, from []string, at []byte) { c.written(at, func(p int64) { to[p] = from[p] }) }
	m.differ = func(got, want []string, at []byte) (string, int64) {
		var g, w string
		return c.differ(at, func(p int64) bool {
			g, w = got[p], want[p]
			return g == w
		}, func() string { return fmt.Sprintf("got %q, want %q", g, w) })
	}
	return check(dev, c, rng, q, m)
}

// same reports whether element p of one memory is element q of another, both of width bits.
func same(a []byte, p int64, b []byte, q int64, width int) bool {
	x, y := make([]byte, 16), make([]byte, 16)
	move(x, 0, a, p, width)
	move(y, 0, b, q, width)
	return string(x) == string(y)
}

// RandomBytes returns n random bytes.
func RandomBytes(rng *rand.Rand, n int64) []byte {
	b := make([]byte, 0, n+8)
	for int64(len(b)) < n {
		b = binary.LittleEndian.AppendUint64(b, rng.Uint64())
	}
	return b[:n]
}

// firstDifference returns where two slices of one length differ first, and in
// how many positions.
func firstDifference[T comparable](a, b []T) (first, n int) {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			first = i
			n++
		}
	}
	return first, n
}

// written visits the positions of dst's elements that the operation writes.
func (c Case) written(at []byte, visit func(p int64)) {
	if c.Op == OpPut {
		c.byIndices(at, func(p, _ int64) { visit(p) })
		return
	}
	walk(c.Dst, c.Dst, func(p, _ int64) { visit(p) })
}

// differ counts the elements that differ, and describes the first; words describe the position
// last passed to same.
func (c Case) differ(at []byte, same func(p int64) bool, words func() string) (first string, elements int64) {
	number := int64(0)
	c.written(at, func(p int64) {
		if !same(p) {
			if elements == 0 && c.Op == OpPut {
				first = fmt.Sprintf("element %d of dst's buffer: %s", p, words())
			} else if elements == 0 {
				first = fmt.Sprintf("element %d, at %v: %s", number, index(c.Dst, number), words())
			}
			elements++
		}
		number++
	})
	return first, elements
}

// index returns the indices of an element from its number in row-major order.
func index(l layout.Layout, number int64) []int64 {
	at := make([]int64, l.Rank())
	for axis := l.Rank() - 1; axis >= 0; axis-- {
		at[axis] = number % l.Dim(axis)
		number /= l.Dim(axis)
	}
	return at
}
