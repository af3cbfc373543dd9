package main

import (
	"fmt"
	"math/bits"

	. "github.com/restride/restride/internal/simd/asm/arm64"
)

// transposer describes a kernel that transposes blocks within registers. With e the elements in
// 16 bytes, a part is e registers, each with 16 bytes of another row. Interleaving instructions
// turn it into e registers with a column each. A block has several parts, with consecutive
// rows.
type transposer struct {
	size  int // bytes of an element
	parts int // limited by the number of registers
}

// write writes the loops: over blocks of rows, and within over columns. The last block of
// columns overlaps the previous one.
func (t transposer) write() {
	e := 16 / t.size
	count := e * t.parts
	f := New(fmt.Sprintf("transpose%dx%d", t.size*8, t.parts*128), "one of Transposes.Transpose.", "dst *byte, stride int64, src *byte, rows *int64, m int64, n int64, fetch *byte, fetched *int64")
	args := f.Args("dst", "stride", "src", "rows", "m", "n")
	dst, stride, src, rows, m, n := args[0], args[1], args[2], args[3], args[4], args[5]
	d, left := f.R(), f.R()
	from := make([]R, count)
	for r := range from {
		from[r] = f.R()
	}

	f.Label("block")
	for r, s := range from {
		f.Do("MOVD", At(rows, 8*r), s)
		f.Do("ADD", src, s)
	}
	f.Do("MOVD", dst, d)
	f.Do("MOVD", n, left)

	f.Label("columns")
	v := make([][]V, t.parts)
	for r, s := range from {
		x := f.V()
		f.Do("FMOVQ.P", After(s, 16), x.Q())
		v[r/e] = append(v[r/e], x)
	}
	transpose(f, t.size, v, func(column []V) { storeRow(f, column, d, stride) })
	f.Do("SUBS", Imm(int64(e)), left)
	if e > 1 {
		f.Do("BEQ", "next")
		f.Do("CMP", Imm(int64(e)), left)
		f.Do("BGE", "columns")
		t.back(f, left, d, stride, from)
		f.Do("B", "columns")
	} else {
		f.Do("BNE", "columns")
	}

	f.Label("next")
	f.Do("ADD", Imm(int64(8*count)), rows)
	f.Do("ADD", Imm(int64(count*t.size)), dst)
	f.Do("SUBS", Imm(int64(count)), m)
	f.Do("BNE", "block")
}

// back goes back to the last block of columns.
func (t transposer) back(f *Func, left, d, stride R, from []R) {
	e := 16 / t.size
	by := f.R()
	f.Do("SUB", Imm(int64(e)), left)
	f.Do("MUL", left, stride, by)
	f.Do("ADD", by, d)
	for _, s := range from {
		f.Do("ADD", Shifted(left, bits.TrailingZeros(uint(t.size))), s)
	}
	f.Do("MOVD", Imm(int64(e)), left)
}

// pair is the unit of FLDPQ and FSTPQ.
func pair(a, b V) string { return fmt.Sprintf("(%s, %s)", a.Q(), b.Q()) }

// storeRow writes contiguous registers, and moves to by a step.
func storeRow(f *Func, vs []V, to, step R) {
	if len(vs) == 1 {
		f.Do("VST1.P", List(vs), After(to, step))
		return
	}
	for i := 0; i < len(vs); i += 2 {
		f.Do("FSTPQ", pair(vs[i], vs[i+1]), At(to, 16*i))
	}
	f.Do("ADD", step, to)
}

// transpose transposes the elements of each part, and calls store with the parts' registers of
// a column, in their order. Pairs of rows become rows of half the columns, whose elements are
// pairs.
func transpose(f *Func, size int, parts [][]V, store func(column []V)) {
	if len(parts[0]) == 1 {
		var column []V
		for _, v := range parts {
			column = append(column, v[0])
		}
		store(column)
		return
	}
	for _, zip := range []string{"VZIP1", "VZIP2"} {
		half := make([][]V, len(parts))
		for p, v := range parts {
			for r := 0; r < len(v); r += 2 {
				x := f.V()
				f.Do(zip, v[r+1].Of(size), v[r].Of(size), x.Of(size))
				half[p] = append(half[p], x)
			}
		}
		transpose(f, 2*size, half, store)
		for _, v := range half {
			f.Free(v...)
		}
	}
}
