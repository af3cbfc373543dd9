// Package arm64 writes functions in Go's assembly for arm64, which avo does not know. A
// function names its parameters, allocates registers, and emits instructions, with operands in
// the order of Go's assembler: the destination comes last.
package arm64

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
)

// R is a general register, V a vector register.
type (
	R int
	V int
)

func (r R) String() string { return fmt.Sprintf("R%d", int(r)) }

// Of names a vector's elements, of size bytes, in 16 bytes.
func (v V) Of(size int) string {
	return fmt.Sprintf("V%d.%s", int(v), [...]string{1: "B16", 2: "H8", 4: "S4", 8: "D2"}[size])
}

// String names its 16 bytes, the most frequent operand.
func (v V) String() string { return v.Of(1) }

// Half names the first elements, in 8 bytes.
func (v V) Half(size int) string {
	return fmt.Sprintf("V%d.%s", int(v), [...]string{1: "B8", 2: "H4", 4: "S2"}[size])
}

// Q names the register for FMOVQ and similar instructions.
func (v V) Q() string { return fmt.Sprintf("F%d", int(v)) }

// At is an address in memory: a register and an offset.
func At(r R, off int) string { return fmt.Sprintf("%d(%v)", off, r) }

// After is an address whose register is then increased by a number or another register: for
// instructions with .P.
func After(r R, by any) string {
	if step, ok := by.(R); ok {
		return fmt.Sprintf("(%v)(%v)", r, step)
	}
	return fmt.Sprintf("%v(%v)", by, r)
}

// Shifted is a register's value shifted left.
func Shifted(r R, bits int) string { return fmt.Sprintf("%v<<%d", r, bits) }

// Imm is a constant.
func Imm(x int64) string { return fmt.Sprintf("$%d", x) }

// List names consecutive registers and their elements.
func List(vs []V) string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = v.String()
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// Func is a function without a frame.
type Func struct {
	name, doc, signature string
	params               map[string]string
	bytes                int // of the parameters
	body                 strings.Builder
	next                 R
	taken                [32]bool
}

var all []*Func

// New begins a function whose signature is that of a Go function without results, with
// parameters of 8 bytes, or of one byte for bool.
func New(name, doc, signature string) *Func {
	f := &Func{name: name, doc: doc, signature: signature, params: map[string]string{}}
	for _, p := range strings.Split(signature, ", ") {
		name, kind, _ := strings.Cut(p, " ")
		f.params[name] = fmt.Sprintf("%s+%d(FP)", name, f.bytes)
		if f.bytes += 8; kind == "bool" {
			f.bytes -= 7
		}
	}
	all = append(all, f)
	return f
}

// R allocates a general register.
func (f *Func) R() R {
	r := f.next
	if f.next++; f.next == 18 { // reserved for the system
		f.next++
	}
	if r > 26 { // the rest belong to the assembler and Go
		log.Fatalf("%s: no register is left", f.name)
	}
	return r
}

// V allocates a vector register, and Vs several consecutive ones, until Free.
func (f *Func) V() V { return f.Vs(1)[0] }

// Vs allocates n consecutive vector registers.
func (f *Func) Vs(n int) []V {
	var vs []V
	for v := range V(len(f.taken)) {
		if f.taken[v] {
			vs = nil
		} else if vs = append(vs, v); len(vs) == n {
			for _, v := range vs {
				f.taken[v] = true
			}
			return vs
		}
	}
	log.Fatalf("%s: no %d registers are left", f.name, n)
	return nil
}

// Free frees vector registers.
func (f *Func) Free(vs ...V) {
	for _, v := range vs {
		f.taken[v] = false
	}
}

// Do emits an instruction.
func (f *Func) Do(name string, operands ...any) {
	list := make([]string, len(operands))
	for i, o := range operands {
		list[i] = fmt.Sprint(o)
	}
	fmt.Fprintf(&f.body, "\t%s %s\n", name, strings.Join(list, ", "))
}

// Label names the next instruction.
func (f *Func) Label(name string) { fmt.Fprintf(&f.body, "\n%s:\n", name) }

// Arg returns a parameter.
func (f *Func) Arg(name string) R {
	r := f.R()
	f.Do("MOVD", f.params[name], r)
	return r
}

// Args returns several.
func (f *Func) Args(names ...string) []R {
	rs := make([]R, len(names))
	for i, name := range names {
		rs[i] = f.Arg(name)
	}
	return rs
}

// Load allocates a register with the 16 bytes at an address.
func (f *Func) Load(r R, off int) V {
	v := f.V()
	f.Do("FMOVQ", At(r, off), v.Q())
	return v
}

// Every allocates a register with a byte in each position.
func (f *Func) Every(x byte) V {
	v := f.V()
	f.Do("VMOVI", Imm(int64(x)), v)
	return v
}

// Every32 allocates a register with a word in each position.
func (f *Func) Every32(x uint32) V {
	v, r := f.V(), f.R()
	f.Do("MOVD", Imm(int64(x)), r)
	f.Do("VDUP", r, v.Of(4))
	return v
}

// Bytes allocates a register with two words of eight bytes.
func (f *Func) Bytes(low, high uint64) V {
	v := f.V()
	f.Do("VMOVQ", fmt.Sprintf("$%#016x", low), fmt.Sprintf("$%#016x", high), fmt.Sprintf("V%d", int(v)))
	return v
}

// Generate writes all functions, and their declarations in Go, to the files that the
// flags name.
func Generate() {
	out, stubs, pkg := flag.String("out", "", "the assembly"), flag.String("stubs", "", "the declarations"), flag.String("pkg", "", "their package")
	flag.Parse()
	const generated = "// Code generated by internal/simd/asm/neon. DO NOT EDIT.\n\n"
	text, decls := generated+"#include \"textflag.h\"\n", generated+"package "+*pkg+"\n"
	for _, f := range all {
		text += fmt.Sprintf("\n// func %s(%s)\nTEXT ·%s(SB), NOSPLIT, $0-%d\n%s\tRET\n", f.name, f.signature, f.name, f.bytes, &f.body)
		decls += fmt.Sprintf("\n// %s is %s\n//\n//go:noescape\nfunc %s(%s)\n", f.name, f.doc, f.name, f.signature)
	}
	for name, content := range map[string]string{*out: text, *stubs: decls} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
