package cpu

import (
	"math/bits"
	"unsafe"
)

// Elements below a byte. Positions count elements, and the low bits of a byte come first. The
// functions here access only the bytes of their elements, and change only their elements' bits in
// a byte at an edge.

// putBits sets n <= 8 bits of one byte, at a bit position.
func putBits(dst unsafe.Pointer, at int64, v byte, n int64) {
	shift := at & 7
	mask := byte(1<<n-1) << shift
	b := ptr(dst, at>>3)
	*b = *b&^mask | v<<shift&mask
}

// getBits returns w <= 8 bits of one byte, at a bit position.
func getBits(src unsafe.Pointer, at, w int64) byte {
	return load8(src, at>>3) >> (at & 7) & byte(1<<w-1)
}

// someBits returns n < 64 bits at any bit position.
func someBits(src unsafe.Pointer, at, n int64) uint64 {
	p, shift := at>>3, uint(at&7)
	v := uint64(load8(src, p)) >> shift
	for have := 8 - shift; int64(have) < n; have += 8 {
		p++
		v |= uint64(load8(src, p)) << have
	}
	return v & (1<<n - 1)
}

// wordBits returns the 64 bits at any bit position.
func wordBits(src unsafe.Pointer, at int64) uint64 {
	p, shift := at>>3, uint(at&7)
	if shift == 0 {
		return load64(src, p)
	}
	return load64(src, p)>>shift | uint64(load8(src, p+8))<<(64-shift)
}

// copyBits moves n bits between any bit positions.
func copyBits(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n int64) {
	moveBits(dst, d, src, s, n, false)
}

// moveBits is copyBits; if past is set, it writes past the caches where that pays off.
func moveBits(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n int64, past bool) {
	if head := min(-d&7, n); head > 0 {
		putBits(dst, d, byte(someBits(src, s, head)), head)
		d, s, n = d+head, s+head, n-head
	}
	if whole := n &^ 7; whole > 0 {
		if s&7 == 0 {
			moveRun(dst, d>>3, src, s>>3, whole>>3, past)
		} else {
			shiftBytes(dst, d>>3, src, s, whole>>3, past)
		}
		d, s, n = d+whole, s+whole, n-whole
	}
	if n > 0 {
		putBits(dst, d, byte(someBits(src, s, n)), n)
	}
}

// moveRun moves n bytes.
func moveRun(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n int64, past bool) {
	if past && kernels.Stream != nil && n >= leastPast {
		kernels.Stream(ptr(dst, d), ptr(src, s), 0, 0, n, 1)
		return
	}
	copy(span(dst, d, n), span(src, s, n))
}

// leastPast is the size, in bytes, that makes up for the wait until data is in memory.
const leastPast = 1 << 10

// linesOf returns how a kernel writes n bytes: the lines, the bytes before them, and whether past
// the caches, which needs addresses that are multiples of a line.
func linesOf(dst unsafe.Pointer, to, n int64, past bool) (lines, head int64, _ bool) {
	if past && n >= leastPast {
		head = -int64(uintptr(unsafe.Add(dst, to))) & (cacheLine - 1)
		return (n - head) / cacheLine, head, true
	}
	return n / cacheLine, 0, false
}

// shiftBytes moves n bytes from a bit position to whole bytes.
func shiftBytes(dst unsafe.Pointer, to int64, src unsafe.Pointer, s, n int64, past bool) {
	if n >= cacheLine && kernels.ShiftBits != nil {
		lines, head, past := linesOf(dst, to, n, past)
		shiftWords(dst, to, src, s, head)
		kernels.ShiftBits(ptr(dst, to+head), ptr(src, s>>3+head), lines, s&7, past)
		done := head + lines*cacheLine
		to, s, n = to+done, s+done*8, n-done
	}
	shiftWords(dst, to, src, s, n)
}

// shiftWords is shiftBytes by words.
func shiftWords(dst unsafe.Pointer, to int64, src unsafe.Pointer, s, n int64) {
	from, shift := s>>3, uint(s&7) // not 0: &63 tells the compiler so
	for ; n >= 8; n -= 8 {
		v := load64(src, from)>>shift | uint64(load8(src, from+8))<<((64-shift)&63)
		store64(dst, to, v)
		from += 8
		to += 8
	}
	if n > 0 {
		v := someBits(src, from<<3|int64(shift), n*8)
		for ; n > 0; n-- {
			store8(dst, to, byte(v))
			v >>= 8
			to++
		}
	}
}

// fillBits sets n elements of w bits.
func fillBits(dst unsafe.Pointer, d, n, w int64, v byte, past bool) {
	v *= [...]byte{1: 0xff, 2: 0x55, 4: 0x11}[w]
	d, n = d*w, n*w
	if head := min(-d&7, n); head > 0 {
		putBits(dst, d, v, head)
		d, n = d+head, n-head
	}
	if n >= 8 {
		fillSpan(span(dst, d>>3, n>>3), v, past)
	}
	if tail := n & 7; tail > 0 {
		putBits(dst, d+n&^7, v, tail)
	}
}

// fillSpan sets bytes: the first few in a loop, the rest by copying these, out of L1.
func fillSpan(b []byte, v byte, past bool) {
	const most = 8 << 10
	past = past && kernels.ShiftBits != nil && len(b) >= 2*most
	at := min(len(b), cacheLine)
	for i := range b[:at] {
		b[i] = v
	}
	for at < len(b) && !(past && at >= most) {
		at += copy(b[at:], b[:min(at, most)])
	}
	if at == len(b) {
		return
	}
	lines, skip, _ := linesOf(unsafe.Pointer(&b[at]), 0, int64(len(b)-at), true)
	at += copy(b[at:], b[:skip])
	for ; lines > 0; lines -= most / cacheLine {
		m := min(lines, most/cacheLine)
		kernels.ShiftBits(&b[at], &b[0], m, 0, true)
		at += int(m) * cacheLine
	}
	copy(b[at:], b)
}

// reversedTables are the tables of ReverseBits: they exchange the halves of a byte and, for
// narrower elements, those in each half.
var reversedTables = [...]*[32]byte{1: reversedTable(1), 2: reversedTable(2), 4: reversedTable(4)}

func reversedTable(w int) *[32]byte {
	t := new([32]byte)
	for x := range byte(16) {
		y := x
		if w <= 2 {
			y = x<<2&15 | x>>2
		}
		if w == 1 {
			y = y<<1&10 | y>>1&5
		}
		t[x], t[16+x] = y<<4, y
	}
	return t
}

// reverseBits moves n elements of w bits in reverse; s is the last of them in memory.
func reverseBits(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, w int64, past bool) {
	d, s, n = d*w, (s+1)*w, n*w // s is the end of what is left, going down
	if n >= 9*cacheLine && kernels.ReverseBits != nil {
		head := -d & 7
		lines, more, past := linesOf(dst, (d+head)>>3, (n-head)>>3, past)
		head += more * 8
		reverseWords(dst, d, src, s, head, w)
		d, s, n = d+head, s-head, n-head
		done := lines * cacheLine * 8
		s, n = s-done, n-done
		kernels.ReverseBits(ptr(dst, d>>3), ptr(src, s>>3), lines, s&7, &reversedTables[w][0], past)
		d += done
	}
	reverseWords(dst, d, src, s, n, w)
}

// reverseWords is reverseBits with words; all quantities are in bits.
func reverseWords(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, w int64) {
	for ; n > 0 && d&7 != 0; n -= w {
		s -= w
		putBits(dst, d, getBits(src, s, w), w)
		d += w
	}
	for ; n >= 64; n -= 64 {
		s -= 64
		v := bits.ReverseBytes64(wordBits(src, s))
		v = v&mask4<<4 | v>>4&mask4
		if w <= 2 {
			v = v&mask2<<2 | v>>2&mask2
		}
		if w == 1 {
			v = v&mask1<<1 | v>>1&mask1
		}
		store64(dst, d>>3, v)
		d += 64
	}
	for ; n > 0; n -= w {
		s -= w
		putBits(dst, d, getBits(src, s, w), w)
		d += w
	}
}

// moveSteppedBits moves every step-th element of the source, n elements of w bits, to
// neighbours.
func moveSteppedBits(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, step, n, w int64) {
	d, s, step = d*w, s*w, step*w
	for ; n > 0 && d&7 != 0; n-- {
		putBits(dst, d, getBits(src, s, w), w)
		d += w
		s += step
	}
	if done := extractBits(dst, d>>3, src, s, step, n, w); done > 0 {
		d, s, n = d+done*w, s+done*step, n-done
	}
	mask := uint64(1)<<w - 1
	for ; n*w >= 64; n -= 64 / w {
		v := uint64(0)
		for shift := uint(0); shift < 64; shift += uint(w) {
			v |= uint64(load8(src, s>>3)) >> (s & 7) & mask << shift
			s += step
		}
		store64(dst, d>>3, v)
		d += 64
	}
	for ; n > 0; n-- {
		putBits(dst, d, getBits(src, s, w), w)
		d += w
		s += step
	}
}

// extractBits is moveSteppedBits to whole bytes, with kernels that extract several elements from a
// word. It returns the number of elements moved: none if they are too far apart. s and step count
// bits.
func extractBits(dst unsafe.Pointer, to int64, src unsafe.Pointer, s, step, n, w int64) int64 {
	if kernels.ExtractBits8 == nil || step <= 0 {
		return 0
	}
	kernel := kernels.ExtractBits32
	per := 32 / w // elements of a word
	for ; ; per /= 2 {
		phase := int64(7)
		if per*step&7 == 0 {
			phase = s & 7 // of all words
		}
		if phase+(per-1)*step+w <= 64 {
			break
		}
		switch per * w {
		case 32:
			kernel = kernels.ExtractBits16
		case 16:
			kernel = kernels.ExtractBits8
		default:
			return 0
		}
	}
	// As many words as can be read within the bytes of the source's elements.
	end := (s + (n-1)*step + w + 7) >> 3
	words := min(n/per, ((end-8)<<3+7-s)/(per*step)+1)
	if words <= 0 || end-8 < s>>3 {
		return 0
	}
	mask := int64(0)
	for i := range per {
		mask |= (1<<w - 1) << (i * step)
	}
	kernel(ptr(dst, to), (*byte)(src), words, s, per*step, mask)
	return words * per
}

// bitRows moves rows of elements below a byte.
type bitRows struct {
	row     func(j *job, d, s, n int64) // n elements along b
	fetches bool                        // prefetches the next row, which is read backwards
	kind    string
}

func (r *bitRows) name() string { return r.kind }

// planBitRows plans rows of elements below a byte.
func planBitRows(j *job, _ int64) (mover, int64, refusal) {
	r := &j.memory.bitRows
	j.blockRows()
	r.fetches = false
	switch {
	case j.b.D != 1:
		r.row, r.kind = singleBits, "single bits"
	case j.kind == dense || j.kind == rows:
		r.row, r.kind = denseBits, "bit rows"
	case j.kind == broadcast:
		r.row, r.kind = broadcastBits, "broadcast bits"
	case j.kind == reversed:
		r.row, r.kind, r.fetches = backwardBits, "reversed bits", j.streams()
	default:
		r.row, r.kind = steppedBits, "stepped bits"
	}
	return r, dear, ""
}

// move moves na rows of nb elements.
func (r *bitRows) move(j *job, d, s, na, nb int64, _ *scratch) {
	for i := range na {
		d, s, n := j.owned(d+i*j.a.D, s+i*j.a.S, nb)
		if n <= 0 {
			continue
		}
		if r.fetches && i+1 < na {
			w := int64(j.dBits)
			j.fetch((s+j.a.S-n+1)*w/8, min(n*w/8, fetchedRow))
		}
		r.row(j, d, s, n)
	}
}

// owned returns which of n elements along b a goroutine may write, if they are neighbours.
func (j *job) owned(d, s, n int64) (_, _, some int64) {
	if j.b.D != 1 {
		return d, s, n
	}
	if skip := j.clipLo - d; skip > 0 {
		d, s, n = d+skip, s+skip*j.b.S, n-skip
	}
	return d, s, min(n, j.clipHi-d)
}

func singleBits(j *job, d, s, n int64) {
	w := int64(j.dBits)
	for k := range n {
		if at := d + k*j.b.D; at >= j.clipLo && at < j.clipHi {
			putBits(j.dst, at*w, getBits(j.src, (s+k*j.b.S)*w, w), w)
		}
	}
}

func denseBits(j *job, d, s, n int64) {
	w := int64(j.dBits)
	moveBits(j.dst, d*w, j.src, s*w, n*w, j.past)
}

func broadcastBits(j *job, d, s, n int64) {
	w := int64(j.dBits)
	fillBits(j.dst, d, n, w, getBits(j.src, s*w, w), j.past)
}

func backwardBits(j *job, d, s, n int64) {
	reverseBits(j.dst, d, j.src, s, n, int64(j.dBits), j.past)
}

func steppedBits(j *job, d, s, n int64) {
	moveSteppedBits(j.dst, d, j.src, s, j.b.S, n, int64(j.dBits))
}
