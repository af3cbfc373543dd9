package main

import (
	"fmt"

	. "github.com/restride/restride/internal/simd/asm/arm64"
)

// split writes a kernel that separates the elements of some bits in bytes: the elements at one
// position in all bytes of a row become a row.
func split(width int) {
	per := 8 / width // elements in a byte
	f := New(fmt.Sprint("split", width), "one of Transposes.Split.", "dst *byte, stride int64, src *byte, step int64, run int64, n int64")
	args := f.Args("dst", "stride", "src", "step", "run", "n")
	dst, stride, src, step, run, n := args[0], args[1], args[2], args[3], args[4], args[5]
	d, s, left, to := f.R(), f.R(), f.R(), f.R()
	crumbs := V(0)
	if width == 2 {
		crumbs = f.Every(0x33)
	}

	f.Label("row")
	f.Do("MOVD", dst, d)
	f.Do("MOVD", src, s)
	f.Do("MOVD", run, left)

	f.Label("piece")
	x := f.Vs(per) // every n-th byte
	f.Do(fmt.Sprintf("VLD%d.P", per), After(s, 16*per), List(x))
	if width == 4 {
		swapNibbles(f, x[0], x[1])
	} else {
		swapNibbles(f, x[0], x[2])
		swapNibbles(f, x[1], x[3])
		swapCrumbs(f, crumbs, x[0], x[1])
		swapCrumbs(f, crumbs, x[2], x[3])
	}
	f.Do("MOVD", d, to)
	for _, v := range x {
		f.Do("VST1.P", List([]V{v}), After(to, stride))
	}
	f.Do("ADD", Imm(16), d)
	f.Do("SUBS", Imm(int64(16*per)), left)
	f.Do("BNE", "piece")

	for range per {
		f.Do("ADD", stride, dst)
	}
	f.Do("ADD", step, src)
	f.Do("SUBS", Imm(1), n)
	f.Do("BNE", "row")
}

// swapNibbles exchanges the high halves of a's bytes with the low halves of b's.
func swapNibbles(f *Func, a, b V) {
	x := f.V()
	f.Do("VMOV", a, x)
	f.Do("VSLI", Imm(4), b, a)
	f.Do("VSRI", Imm(4), x, b)
	f.Free(x)
}

// swapCrumbs exchanges the high pairs of bits in a's nibbles with the low pairs in b's, which
// crumbs masks.
func swapCrumbs(f *Func, crumbs, a, b V) {
	up, down := f.V(), f.V()
	f.Do("VSHL", Imm(2), b, up)
	f.Do("VUSHR", Imm(2), a, down)
	f.Do("VBIF", crumbs, up, a)
	f.Do("VBIT", crumbs, down, b)
	f.Free(up, down)
}

// permute3 writes the kernel that computes three vectors from three others, any byte from any
// of them, by a table.
func permute3() {
	f := New("permute3", "Threes.Permute3.", "dst *byte, dGap int64, dStep int64, src *byte, sGap int64, sStep int64, tab *byte, n int64")
	args := f.Args("dst", "dGap", "dStep", "src", "sGap", "sStep", "tab", "n")
	dst, dGap, dStep, src, sGap, sStep, tab, n := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7]
	three := func(base, gap R) []R {
		rs := []R{base, f.R(), f.R()}
		f.Do("ADD", gap, base, rs[1])
		f.Do("ADD", gap, rs[1], rs[2])
		return rs
	}
	to, from := three(dst, dGap), three(src, sGap)
	tables := f.Vs(3)
	f.Do("VLD1", After(tab, 0), List(tables))
	x, out := f.Vs(3), f.V()

	f.Label("loop")
	for i, v := range x {
		f.Do("VLD1.P", After(from[i], sStep), List([]V{v}))
	}
	for i, table := range tables {
		f.Do("VTBL", table, List(x), out)
		f.Do("VST1.P", List([]V{out}), After(to[i], dStep))
	}
	f.Do("SUBS", Imm(1), n)
	f.Do("BNE", "loop")
}

// pick writes Rows.Pick for groups of 16 bytes that span some vectors; the last vector ends
// with the span. A tail repeats elements before it: it goes back from the last group's end on
// both sides, if there is one.
func pick(count int) {
	f := New(fmt.Sprintf("pick%d", count), fmt.Sprintf("Rows.Pick for groups that span %d vectors.", count),
		"dst *byte, src *byte, dStep int64, sStep int64, groups int64, rows int64, base int64, far int64, last int64, dBack int64, sBack int64, table *byte")
	args := f.Args("dst", "src", "dStep", "sStep", "groups", "rows", "base", "far", "last", "dBack", "sBack")
	dst, src, dStep, sStep, groups, rows := args[0], args[1], args[2], args[3], args[4], args[5]
	base, far, last, dBack, sBack := args[6], args[7], args[8], args[9], args[10]
	table := f.Load(f.Arg("table"), 0)
	d, s, left, back, at := f.R(), f.R(), f.R(), f.R(), f.R()
	f.Do("ADD", base, src)
	f.Do("CBZ", rows, "done")

	f.Label("row")
	f.Do("MOVD", dst, d)
	f.Do("MOVD", src, s)
	f.Do("MOVD", groups, left)
	f.Do("MOVD", dBack, back)

	f.Label("group")
	x := f.Vs(count)
	f.Do("ADD", last, s, at)
	for i, v := range x[:count-1] {
		f.Do("FMOVQ", At(s, 16*i), v.Q())
	}
	f.Do("FMOVQ", At(at, 0), x[count-1].Q())
	out := f.V()
	f.Do("VTBL", table, List(x), out)
	f.Do("FMOVQ.P", out.Q(), After(d, 16))
	f.Do("ADD", far, s)
	f.Do("SUBS", Imm(1), left)
	f.Do("BNE", "group")
	f.Do("CBZ", back, "next")
	f.Do("ADD", dBack, d)
	f.Do("ADD", sBack, s)
	f.Do("MOVD", Imm(0), back)
	f.Do("MOVD", Imm(1), left)
	f.Do("B", "group")

	f.Label("next")
	nextRow(f, dst, dStep, src, sStep, rows, "row")

	f.Label("done")
}
