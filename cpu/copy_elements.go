package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/restride/restride/internal/nest"
)

// elements moves elements that are a step apart on either side: one by one, or with a kernel where
// the step is small.
type elements struct {
	shuffle shuffle
	width   int64 // of an element, in bytes
	loops   *loops
	// rows writes rows of neighbours. nil: the destination's elements are not neighbours.
	rows func(e *elements, j *job, to unsafe.Pointer, d, step, s, na, nb int64)
}

func (e *elements) name() string {
	switch {
	case e.shuffle.kernel != nil && e.rows == nil:
		return "spread elements"
	case e.shuffle.kernel != nil:
		return "picked elements"
	}
	return "elements"
}

// planElements plans single elements: the last resort, which never refuses.
func planElements(j *job, _ int64) (mover, int64, refusal) {
	e := &j.memory.elements
	e.width, e.loops, e.rows = int64(j.dBits/8), loopsOf(&j.pair), nil
	j.blockRows()
	e.shuffle.plan(j, &j.b, e.width)
	j.follows = e.shuffle.picks
	switch {
	case j.b.D != e.width:
	case j.kind == broadcast:
		e.rows = (*elements).broadcast
	case j.kind == reversed:
		e.rows = (*elements).reverse
	default:
		e.rows = (*elements).step
	}
	return e, dear, ""
}

// move moves na rows of nb elements. Rows to be streamed are assembled in a buffer.
func (e *elements) move(j *job, d, s, na, nb int64, sc *scratch) {
	vectors := e.shuffle.kernel != nil && nb >= e.shuffle.Least
	if e.rows == nil {
		if vectors {
			e.shuffle.kernel(ptr(j.dst, d), ptr(j.src, s), j.a.D, j.a.S, nb, na, &e.shuffle.Shuffle)
			return
		}
		e.loops.elements(j.dst, j.src, d, s, axis{N: na, D: j.a.D, S: j.a.S}, axis{N: nb, D: j.b.D, S: j.b.S})
		return
	}
	size := nb * e.width
	path := j.pathOf(d, na, size)
	if e.picksLines(j, path, d, size) {
		for i := range na {
			at, next := s+i*j.a.S, s+(i+1)*j.a.S
			if i+1 == na {
				next = sc.next
			}
			e.pickRow(j, d+i*j.a.D, at, nb, next, path == streamed)
		}
		return
	}
	to, at, step := j.dst, d, j.a.D
	if path != cached {
		to, at, step = room(&sc.tile, na*size), 0, size
	}
	if vectors {
		e.shuffle.kernel(ptr(to, at), ptr(j.src, s), step, j.a.S, nb, na, &e.shuffle.Shuffle)
	} else {
		e.rows(e, j, to, at, step, s, na, nb)
	}
	if path != cached {
		j.streamStaged(d, to, na, size)
	}
}

func (e *elements) broadcast(j *job, to unsafe.Pointer, d, step, s, na, nb int64) {
	e.loops.broadcast(j, to, d, step, s, na, nb)
}

func (e *elements) reverse(j *job, to unsafe.Pointer, d, step, s, na, nb int64) {
	for i := range na {
		e.loops.reverse(to, j.src, d+i*step, s+i*j.a.S, nb)
	}
}

func (e *elements) step(j *job, to unsafe.Pointer, d, step, s, na, nb int64) {
	e.loops.elements(to, j.src, d, s, axis{N: na, D: step, S: j.a.S}, axis{N: nb, D: e.width, S: j.b.S})
}

// loops move elements of one width.
type loops struct {
	elements  func(dst, src unsafe.Pointer, d, s int64, a, b axis)
	row       func(dst, src unsafe.Pointer, d, s int64, x axis)
	broadcast func(j *job, to unsafe.Pointer, d, step, s, na, nb int64)
	reverse   func(dst, src unsafe.Pointer, d, s, n int64)
	gather    func(dst unsafe.Pointer, d int64, src unsafe.Pointer, s int64, from []int64)
	columns   func(buf unsafe.Pointer, stride int64, src unsafe.Pointer, s int64, rows []int64, n int64)
	stride3   func(dst, src unsafe.Pointer, d, s int64, along, three axis)
}

func loopsFor[W word]() loops {
	return loops{
		moveElements[W], moveElementRow[W], broadcastRows[W], reverseRow[W],
		gatherElements[W], transposeColumns[W], moveStride3[W],
	}
}

// allLoops is indexed by the logarithm of the width in bytes; the last entry is for strings.
var allLoops = [...]loops{
	loopsFor[uint8](), loopsFor[uint16](), loopsFor[uint32](), loopsFor[uint64](), loopsFor[[2]uint64](), loopsFor[string](),
}

func loopsOf(p *pair) *loops {
	if p.strings {
		return &allLoops[len(allLoops)-1]
	}
	return &allLoops[bits.TrailingZeros(uint(p.dBits/8))]
}

// farStep is the step, in bytes, from which elements of 8 bytes and more are faster one by one
// than in groups of four.
const farStep = 4 << 10

// moveElements moves a block element by element. The longer axis is the inner loop.
func moveElements[W word](dst, src unsafe.Pointer, d, s int64, a, b axis) {
	if a.N > b.N {
		a, b = b, a
	}
	for i := range a.N {
		moveElementRow[W](dst, src, d+i*a.D, s+i*a.S, b)
	}
}

// moveElementRow moves elements along one axis.
func moveElementRow[W word](dst, src unsafe.Pointer, d, s int64, x axis) {
	n, ds, ss := x.N, x.D, x.S
	size := int64(unsafe.Sizeof(*new(W)))
	if ds == size && ss == 0 && n > 4 {
		broadcastRow[W](dst, src, d, s, n)
		return
	}
	if ds == size && (size < 8 || nest.Magnitude(ss) < farStep) {
		for ; n >= 4; n -= 4 {
			v0 := load[W](src, s)
			v1 := load[W](src, s+ss)
			v2 := load[W](src, s+2*ss)
			v3 := load[W](src, s+3*ss)
			p := (*[4]W)(unsafe.Add(dst, d))
			p[0], p[1], p[2], p[3] = v0, v1, v2, v3
			d += 4 * size
			s += 4 * ss
		}
	}
	for ; n > 0; n-- {
		store(dst, d, load[W](src, s))
		d += ds
		s += ss
	}
}

// broadcastRows sets each of na rows of nb neighbours to its own element: the first row's is at s.
func broadcastRows[W word](j *job, to unsafe.Pointer, d, step, s, na, nb int64) {
	size := nb * int64(unsafe.Sizeof(*new(W)))
	if j.a.S == 0 && na > 1 && kernels.Move != nil && size <= longRow && !j.strings {
		// All rows repeat one element: copies of the first row, which stays in L1.
		broadcastRow[W](to, j.src, d, s, nb)
		kernels.Move(ptr(to, d+step), ptr(to, d), step, 0, size, na-1)
		return
	}
	for i := range na {
		broadcastRow[W](to, j.src, d+i*step, s+i*j.a.S, nb)
	}
}

// broadcastRow sets n neighbours to the element at s.
func broadcastRow[W word](dst, src unsafe.Pointer, d, s, n int64) {
	row := unsafe.Slice((*W)(unsafe.Add(dst, d)), n)
	v := load[W](src, s)
	// The first elements in a loop, the rest by copying these: memmove out of L1, in pieces of
	// the best size.
	size := int64(unsafe.Sizeof(v))
	head := min(n, 256/size)
	_, text := any(v).(string) // the garbage collector must see these being written
	if head*size == 256 && looseAlignment && !text {
		var some [16]byte
		for at := int64(0); at < 16; at += size {
			store(unsafe.Pointer(&some), at, v)
		}
		for at := int64(0); at < 256; at += 16 {
			store(dst, d+at, some)
		}
	} else {
		for i := range row[:head] {
			row[i] = v
		}
	}
	if more := n/(256/size) - 1; more > 0 && n*size <= blockBytes && kernels.Move != nil && !text {
		kernels.Move(ptr(dst, d+256), ptr(dst, d), 256, 0, 256, more)
		head *= more + 1
	}
	for at := head; at < n; {
		at += int64(copy(row[at:], row[:min(at, 2*head)]))
	}
}

// reverseRow moves n neighbours in reverse; s is the last of them in memory.
func reverseRow[W word](dst, src unsafe.Pointer, d, s, n int64) {
	size := int64(unsafe.Sizeof(*new(W)))
	s += size // the end of what is left, going down
	switch size {
	case 1:
		for ; n >= 8; n -= 8 {
			s -= 8
			store64(dst, d, bits.ReverseBytes64(load64(src, s)))
			d += 8
		}
	case 2:
		for ; n >= 4; n -= 4 {
			s -= 8
			v := bits.RotateLeft64(load64(src, s), 32)
			store64(dst, d, v&mask16<<16|v>>16&mask16)
			d += 8
		}
	case 4:
		for ; n >= 4; n -= 4 {
			s -= 16
			v1, v0 := load64(src, s), load64(src, s+8)
			store64(dst, d, bits.RotateLeft64(v0, 32))
			store64(dst, d+8, bits.RotateLeft64(v1, 32))
			d += 16
		}
	}
	for ; n > 0; n-- {
		s -= size
		store(dst, d, load[W](src, s))
		d += size
	}
}
