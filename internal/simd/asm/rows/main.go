// Command rows writes the kernels for dense rows.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

func main() {
	fence()
	vendor()
	streamAVX2()
	streamAVX512()
	join(emit.AVX2)
	join(emit.AVX512)
	moveAVX2()
	moveAVX512()
	for count := 1; count <= vectors; count++ {
		pickAVX2(count)
		pickAVX512(count)
		pickLines(emit.AVX2, count)
		pickLines(emit.AVX512, count)
		spreadAVX512(count)
	}
	pickSeconds()
	pickReversed()
	for _, w := range []int{1, 2, 4, 8, 16} {
		spreadAVX2(w)
	}
	emit.WriteFiles()
}

// at is the byte at an offset from a register's address.
func at(r reg.GPVirtual, off int) Mem { return Mem{Base: r, Disp: off} }

// param loads a parameter.
func param(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// arg is the address of a parameter, for those that are not worth a register.
func arg(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// copyOf returns a register with the value of another.
func copyOf(r reg.GPVirtual) reg.GPVirtual {
	c := GP64()
	MOVQ(r, c)
	return c
}

// first sets k to a mask of the first n bytes, 0 <= n < 256; ones is a register of ones, t a
// scratch register.
func first(n, ones, t reg.GPVirtual, k reg.OpmaskVirtual) {
	BZHIQ(n, ones, t)
	KMOVQ(t, k)
}
