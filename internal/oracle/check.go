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

// guard is the length of a buffer behind its last element: a little, or none.
func guard(rng *rand.Rand) int64 { return max(rng.Int64N(96)-32, 0) }

func check[T comparable](dev device.Device, c Case, rng *rand.Rand, q device.Queue, m memory[T]) (err error) {
	dstSize, srcSize, atSize := c.Sizes()
	bSize := c.sizeB()
	dstSize += guard(rng)
	if c.Op != OpFill {
		srcSize += guard(rng)
	}
	if c.hasIndices() || c.Op == OpMap || c.Op == OpWhere {
		atSize += guard(rng)
	}
	if c.Op == OpWhere {
		bSize += guard(rng)
	}
	if c.Shared {
		dstSize, srcSize = max(dstSize, srcSize), 0
	}
	if c.SharedB {
		dstSize, bSize = max(dstSize, bSize), 0
	}
	limit := int64(most)
	if c.DstType == layout.String {
		limit /= 64
	}
	if max(dstSize, srcSize, bSize) > limit || atSize > most {
		return layout.Errorf(device.ErrInvalid, "Check", "buffers of %d, %d, %d and %d bytes or strings are too large to check", dstSize, srcSize, bSize, atSize)
	}
	var dst, src, b, at device.Buffer
	if dst, err = m.alloc(dstSize); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Free()) }()
	if src = dst; !c.Shared {
		if src, err = m.alloc(srcSize); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, src.Free()) }()
	}
	if b = dst; !c.SharedB {
		if b, err = m.alloc(bSize); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Free()) }()
	}
	if at, err = dev.Alloc(atSize); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.Free()) }()

	want, from, other, more := m.random(dstSize), m.random(srcSize), m.random(bSize), RandomBytes(rng, atSize)
	switch c.Op {
	case OpTake, OpPut:
		c.indices(rng, more)
	case OpWhere:
		conditions(rng, more)
	}
	if m.season != nil && !c.Shared {
		m.season(from)
	}
	// To detect a read that does nothing.
	got, fromAfter, otherAfter, moreAfter := m.random(dstSize), m.random(srcSize), m.random(bSize), RandomBytes(rng, atSize)
	if err := errors.Join(m.write(dst, want), m.write(src, from), m.write(b, other), q.Write(at, 0, more)); err != nil {
		return err
	}
	to := device.Operand{Buffer: dst, Layout: c.Dst, Type: c.DstType}
	source := device.Operand{Buffer: src, Layout: c.Src, Type: c.SrcType}
	var wrong []int64
	walk := func(dst []T) {
		if c.Shared {
			from = append([]T(nil), dst...)
		}
		if c.SharedB {
			other = append([]T(nil), dst...)
		}
		wrong = m.walk(dst, from, other, more)
	}
	switch c.Op {
	case OpCopy:
		err = q.Copy(to, source)
	case OpConvert:
		err = q.Convert(to, source, c.How)
	case OpFill:
		walk, err = m.fill(to)
	case OpTake:
		err = q.Take(to, source, device.Operand{Buffer: at, Layout: c.At, Type: c.AtType}, c.By...)
	case OpPut:
		err = q.Put(to, source, device.Operand{Buffer: at, Layout: c.At, Type: c.AtType}, c.Reduction, c.By...)
	case OpDequantize, OpQuantize:
		err = m.terms.run(q, c, to, source)
	case OpMap:
		l, _ := c.table() // its size is known
		err = q.Map(to, source, device.Operand{Buffer: at, Layout: l, Type: c.DstType})
	case OpWhere:
		err = q.Where(to, device.Operand{Buffer: at, Layout: c.Cond, Type: layout.Bool}, source, device.Operand{Buffer: b, Layout: c.B, Type: c.DstType})
	}
	late := err == nil && c.Wrong > 0
	if late {
		err = q.Wait()
	}
	if c.Wrong <= 0 && err != nil {
		return errors.Join(err, q.Wait())
	}
	walk(want)
	if c.Wrong > 0 {
		if err := checkNamed(err, wrong); err != nil {
			return err
		}
	}
	unread := m.read(got, dst)
	if len(wrong) > 0 && (late || unread != nil) { // every read returns the error, and the elements even so
		unread = checkNamed(unread, wrong)
	}
	if err := errors.Join(unread, m.read(fromAfter, src), m.read(otherAfter, b), q.Read(moreAfter, at, 0), q.Wait()); err != nil {
		return err
	}
	if c.Op == OpPut && c.Reduction == device.ReduceSet && !dev.Info().PutsInOrder {
		m.settle(want, got, from, more)
	}
	err = errors.Join(compareDst(m, c, got, want, more), compareSource(c.readBeside(), moreAfter, more))
	if m.terms != nil {
		err = errors.Join(err, m.terms.compare(q))
	}
	if !c.Shared { // otherwise src is compared with dst
		err = errors.Join(err, compareSource("src", fromAfter, from))
	}
	if !c.SharedB {
		err = errors.Join(err, compareSource("b", otherAfter, other))
	}
	if namer, ok := device.As[device.KernelNamer](q); ok && err != nil && c.Op == OpCopy {
		class, kernel := namer.KernelName(to, source)
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
