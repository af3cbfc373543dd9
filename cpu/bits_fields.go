package cpu

import "unsafe"

const (
	// widestField is the largest number of bits of a field.
	widestField = 8
	// nearPitch is the largest pitch, in bits, with eight fields in a word.
	nearPitch = 8
	// fieldRows and fieldRow are the extents of a block.
	fieldRows, fieldRow = 64, 4096
)

// fields moves runs of a few bits, at some pitch on either side, along job.b: codes of 3, 5 or 6
// bits in a stream or in bytes, or the bits that planes add to them. It moves eight at a time from
// one pitch to the other in a word. All quantities are in bits.
type fields struct {
	width        int64
	dStep, sStep int64
	reach        int64  // from the source's first bit to the end of its last one
	dMask, sMask uint64 // of eight fields
	stages       [3]stage
	near         bool // stages move fields from the source's pitch to the destination's
}

// stage moves the bits outside a mask: towards higher bits where pitches grow.
type stage struct {
	keep uint64
	by   uint
}

func (*fields) name() string { return "fields" }

// planFields plans a job below a byte as fields.
func planFields(j *job, _ int64) (mover, int64, refusal) {
	f, last := &j.memory.fields, j.rank-1
	switch {
	case j.dBits > 2:
		return nil, 0, otherWidth
	case j.kind == reversed, j.kind == broadcast:
		return nil, 0, otherKind
	}
	unit, width := int64(j.dBits), int64(j.dBits)
	if in := j.axes[last]; in.D == 1 && in.S == 1 {
		width *= in.N
		last--
	}
	if last < 0 || width > widestField || unit == 2 && width != 6 || j.axes[last].N < 8 {
		return nil, 0, noFields
	}
	x := j.axes[last]
	f.width, f.dStep, f.sStep = width, x.D*unit, x.S*unit
	f.near = f.dStep <= nearPitch && f.sStep <= nearPitch && f.sStep >= width
	if width == 1 && !f.near {
		return nil, 0, noFields
	}
	f.reach = width
	for _, x := range j.axes[:last+1] {
		f.reach += max(0, x.N-1) * max(0, x.S) * unit
	}
	f.dMask = repeatedOnes(width, f.dStep, 8)
	if f.near {
		f.sMask = repeatedOnes(width, f.sStep, 8)
		f.stage()
	}
	j.rank = last + 1
	j.block(last-1, fieldRows, fieldRow)
	return f, 1, ""
}

// repeatedOnes is n runs of width ones, step bits apart.
func repeatedOnes(width, step, n int64) (mask uint64) {
	for i := range n {
		mask |= (1<<width - 1) << (i * step)
	}
	return mask
}

// stage plans the stages: halves of the eight fields move apart first, or come together last.
func (f *fields) stage() {
	for i := range f.stages {
		if f.dStep >= f.sStep {
			n := int64(4) >> i // fields that move as one
			f.stages[i] = stage{repeatedOnes(n*f.sStep, 2*n*f.dStep, 4/n), uint(n * (f.dStep - f.sStep))}
		} else {
			n := int64(1) << i
			f.stages[i] = stage{repeatedOnes(n*f.sStep, 2*n*f.sStep, 4/n), uint(n * (f.sStep - f.dStep))}
		}
	}
}

// move moves na rows of nb fields.
func (f *fields) move(j *job, d, s, na, nb int64, _ *scratch) {
	unit := int64(j.dBits)
	per := f.width / unit // elements of a field
	end := (j.sOff*unit + f.reach + 7) >> 3
	for i := range na {
		d, s := d+i*j.a.D, s+i*j.a.S
		// The fields whose bits are all in this goroutine's bytes.
		first := min(max(0, (j.clipLo-d+j.b.D-1)/j.b.D), nb)
		after := nb
		if left := j.clipHi - per - d; left < (nb-1)*j.b.D {
			after = max(left/j.b.D+1, first)
			if left < 0 {
				after = first
			}
		}
		f.part(j, d+(first-1)*j.b.D, s+(first-1)*j.b.S, first > 0)
		f.row(j.dst, (d+first*j.b.D)*unit, j.src, (s+first*j.b.S)*unit, after-first, end)
		f.part(j, d+after*j.b.D, s+after*j.b.S, after < nb)
	}
}

// part moves the part of a field that this goroutine owns, if there is such a field.
func (f *fields) part(j *job, d, s int64, some bool) {
	unit := int64(j.dBits)
	for k := int64(0); some && k < f.width/unit; k++ {
		if at := d + k; at >= j.clipLo && at < j.clipHi {
			putBits(j.dst, at*unit, getBits(j.src, (s+k)*unit, unit), unit)
		}
	}
}

// row moves n fields from bit s to bit d. The source is readable up to byte sEnd.
func (f *fields) row(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, sEnd int64) {
	dEnd := (d + (n-1)*f.dStep + f.width + 7) >> 3
	if f.dStep > nearPitch {
		for ; n > 0; n-- {
			putSpan(dst, d, spanBits(src, s, f.width, sEnd), 1<<f.width-1, f.width, dEnd)
			d += f.dStep
			s += f.sStep
		}
		return
	}
	if fast := f.groups(d, s, n, (d+(n-1)*f.dStep+f.width)>>3, sEnd); fast > 0 {
		if f.dStep >= f.sStep {
			f.spread(dst, d, src, s, fast)
		} else {
			f.gather(dst, d, src, s, fast)
		}
		d, s, n = d+8*f.dStep*fast, s+8*f.sStep*fast, n-8*fast
	}
	for ; n >= 8; n -= 8 {
		x := uint64(0)
		if f.near {
			x = f.moved(spanBits(src, s, 7*f.sStep+f.width, sEnd))
		} else {
			for i := range int64(8) {
				x |= spanBits(src, s+i*f.sStep, f.width, sEnd) & (1<<f.width - 1) << (i * f.dStep)
			}
		}
		putSpan(dst, d, x, f.dMask, 7*f.dStep+f.width, dEnd)
		d += 8 * f.dStep
		s += 8 * f.sStep
	}
	for ; n > 0; n-- {
		putSpan(dst, d, spanBits(src, s, f.width, sEnd), 1<<f.width-1, f.width, dEnd)
		d += f.dStep
		s += f.sStep
	}
}

// moved changes the pitch of eight fields from the source's to the destination's.
func (f *fields) moved(x uint64) uint64 {
	x &= f.sMask
	a, b, c := &f.stages[0], &f.stages[1], &f.stages[2]
	if f.dStep >= f.sStep {
		x = x&a.keep | x&^a.keep<<(a.by&63)
		x = x&b.keep | x&^b.keep<<(b.by&63)
		return x&c.keep | x&^c.keep<<(c.by&63)
	}
	x = x&a.keep | x&^a.keep>>(a.by&63)
	x = x&b.keep | x&^b.keep>>(b.by&63)
	return x&c.keep | x&^c.keep>>(c.by&63)
}

// groups returns how many groups of eight of n fields may be read and written as words of 8 bytes
// before either side's end: a word must hold all bits of its group.
func (f *fields) groups(d, s, n, dEnd, sEnd int64) int64 {
	if !f.near || d&7+7*f.dStep+f.width > 64 || s&7+7*f.sStep+f.width > 64 {
		return 0
	}
	dRoom, sRoom := dEnd-8-d>>3, sEnd-8-s>>3
	if dRoom < 0 || sRoom < 0 {
		return 0
	}
	return min(n/8, dRoom/f.dStep+1, sRoom/f.sStep+1)
}

// spread moves n groups to the same or a larger pitch.
func (f *fields) spread(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n int64) {
	to, from, dShift, sShift := d>>3, s>>3, uint(d&7), uint(s&7)
	mask, keep := f.sMask, ^(f.dMask << dShift)
	a, b, c := f.stages[0], f.stages[1], f.stages[2]
	for ; n > 0; n-- {
		x := load64(src, from) >> (sShift & 63) & mask
		x = x&a.keep | x&^a.keep<<(a.by&63)
		x = x&b.keep | x&^b.keep<<(b.by&63)
		x = x&c.keep | x&^c.keep<<(c.by&63)
		store64(dst, to, load64(dst, to)&keep|x<<(dShift&63))
		from += f.sStep
		to += f.dStep
	}
}

// gather moves n groups to a smaller pitch.
func (f *fields) gather(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n int64) {
	to, from, dShift, sShift := d>>3, s>>3, uint(d&7), uint(s&7)
	mask, keep := f.sMask, ^(f.dMask << dShift)
	if f.width == f.dStep { // the next group, or single fields, overwrite what follows
		keep = 1<<dShift - 1
	}
	a, b, c := f.stages[0], f.stages[1], f.stages[2]
	for ; n > 0; n-- {
		x := load64(src, from) >> (sShift & 63) & mask
		x = x&a.keep | x&^a.keep>>(a.by&63)
		x = x&b.keep | x&^b.keep>>(b.by&63)
		x = x&c.keep | x&^c.keep>>(c.by&63)
		x <<= dShift & 63
		if keep != 0 {
			x |= load64(dst, to) & keep
		}
		store64(dst, to, x)
		from += f.sStep
		to += f.dStep
	}
}

// spanBits returns n bits at any bit position, with other bits above them. Memory is readable up
// to byte end.
func spanBits(src unsafe.Pointer, at, n, end int64) uint64 {
	p, shift := at>>3, uint(at&7)
	if p+8 <= end {
		v := load64(src, p) >> shift
		if int64(shift)+n > 64 {
			v |= uint64(load8(src, p+8)) << (64 - shift)
		}
		return v
	}
	v := uint64(load8(src, p)) >> shift
	for have := 8 - shift; int64(have) < n; have += 8 {
		p++
		v |= uint64(load8(src, p)) << have
	}
	return v
}

// putSpan sets the bits that mask selects, among n bits at any bit position. This goroutine owns
// the memory up to byte end.
func putSpan(dst unsafe.Pointer, at int64, v, mask uint64, n, end int64) {
	v &= mask
	p, shift := at>>3, uint(at&7)
	if p+8 <= end {
		store64(dst, p, load64(dst, p)&^(mask<<shift)|v<<shift)
		if int64(shift)+n > 64 {
			over := 64 - shift
			store8(dst, p+8, load8(dst, p+8)&^byte(mask>>over)|byte(v>>over))
		}
		return
	}
	store8(dst, p, load8(dst, p)&^byte(mask<<shift)|byte(v<<shift))
	for done := 8 - shift; int64(done) < n; done += 8 {
		p++
		store8(dst, p, load8(dst, p)&^byte(mask>>done)|byte(v>>done))
	}
}
