package main

import (
	"fmt"
	"slices"

	. "github.com/restride/restride/internal/simd/asm/arm64"
)

// unit describes how a number of bytes is moved by one instruction.
type unit struct {
	bytes       int
	load, store string
}

// move writes Rows.Move: rows of any size are two or more pieces of one unit, the largest that
// fits; the last piece may overlap the previous one.
func move() {
	f := New("move", "Rows.Move.", "dst *byte, src *byte, dStep int64, sStep int64, size int64, rows int64")
	args := f.Args("dst", "src", "dStep", "sStep", "size", "rows")
	dst, src, dStep, sStep, size, rows := args[0], args[1], args[2], args[3], args[4], args[5]
	d, s, left, last, x, y := f.R(), f.R(), f.R(), f.R(), f.R(), f.R()
	v := f.Vs(4)
	low, high := pair(v[0], v[1]), pair(v[2], v[3])
	f.Do("CBZ", rows, "done")
	units := []unit{{16, "FMOVQ", "FMOVQ"}, {8, "MOVD", "MOVD"}, {4, "MOVWU", "MOVW"}, {2, "MOVHU", "MOVH"}, {1, "MOVBU", "MOVB"}}
	f.Do("CMP", Imm(32), size)
	f.Do("BGE", "rows32")
	for _, u := range units[:4] {
		f.Do("CMP", Imm(int64(u.bytes)), size)
		f.Do("BGE", fmt.Sprintf("rows%d", u.bytes))
	}
	for _, u := range slices.Backward(units) { // the smallest, without a jump to it, is first
		a, b := x.String(), y.String()
		if u.bytes == 16 {
			a, b = v[0].Q(), v[1].Q()
		}
		label := fmt.Sprintf("rows%d", u.bytes)
		f.Label(label)
		f.Do("ADD", size, src, s)
		f.Do("ADD", size, dst, d)
		f.Do(u.load, At(src, 0), a)
		f.Do(u.load, At(s, -u.bytes), b)
		f.Do(u.store, a, At(dst, 0))
		f.Do(u.store, b, At(d, -u.bytes))
		nextRow(f, dst, dStep, src, sStep, rows, label)
		f.Do("B", "done")
	}

	f.Label("rows32")
	f.Do("MOVD", dst, d)
	f.Do("MOVD", src, s)
	f.Do("SUBS", Imm(32), size, left)
	f.Do("ADD", left, src, last)
	f.Do("FLDPQ", At(last, 0), high)
	f.Do("ADD", left, dst, last)
	f.Do("BEQ", "last")

	f.Label("pieces")
	f.Do("FLDPQ.P", After(s, 32), low)
	f.Do("FSTPQ.P", low, After(d, 32))
	f.Do("SUBS", Imm(32), left)
	f.Do("BGT", "pieces")

	f.Label("last")
	f.Do("FSTPQ", high, At(last, 0))
	nextRow(f, dst, dStep, src, sStep, rows, "rows32")

	f.Label("done")
}

// nextRow continues with the next row, if any.
func nextRow(f *Func, dst, dStep, src, sStep, rows R, label string) {
	f.Do("ADD", dStep, dst)
	f.Do("ADD", sStep, src)
	f.Do("SUBS", Imm(1), rows)
	f.Do("BNE", label)
}
