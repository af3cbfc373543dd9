package arm64

import "fmt"

// Instructions that Go's assembler does not know are written as their encodings: all
// have the destination in bits 0 to 4, the source in bits 5 to 9, and a second one, if any, in
// bits 16 to 20. The comments use the manual's notation, from which llvm-mc makes the same
// encodings.

// second is the bit that selects the upper half of a vector: of the source for instructions
// that widen, of the destination for instructions that narrow.
const second = 1 << 30

func (f *Func) word(base uint32, m, n, d V, text string) {
	fmt.Fprintf(&f.body, "\tWORD $0x%08x // %s\n", base|uint32(m)<<16|uint32(n)<<5|uint32(d), text)
}

func (f *Func) one(base uint32, n, d V, text string) {
	f.word(base, 0, n, d, fmt.Sprintf(text, int(d), int(n)))
}

// USHL shifts each byte left by the corresponding byte of another register; right if that is
// negative.
func (f *Func) USHL(by, n, d V) {
	f.word(0x6e204400, by, n, d, fmt.Sprintf("ushl v%d.16b, v%d.16b, v%d.16b", int(d), int(n), int(by)))
}

// FCMEQ compares four floats with four others, and sets ones where they are equal: a NaN is not
// equal to itself.
func (f *Func) FCMEQ(m, n, d V) {
	f.word(0x4e20e400, m, n, d, fmt.Sprintf("fcmeq v%d.4s, v%d.4s, v%d.4s", int(d), int(n), int(m)))
}

// FCMEQZ compares four floats with zero.
func (f *Func) FCMEQZ(n, d V) { f.one(0x4ea0d800, n, d, "fcmeq v%d.4s, v%d.4s, #0.0") }

// FCVTL converts the lower four of eight 16-bit floats to 32 bits, FCVTL2 the upper four.
func (f *Func) FCVTL(n, d V)  { f.one(0x0e217800, n, d, "fcvtl v%d.4s, v%d.4h") }
func (f *Func) FCVTL2(n, d V) { f.one(0x0e217800|second, n, d, "fcvtl2 v%d.4s, v%d.8h") }

// FCVTN converts to the nearest 16-bit floats, FCVTN2 to the upper four of the destination.
func (f *Func) FCVTN(n, d V)  { f.one(0x0e216800, n, d, "fcvtn v%d.4h, v%d.4s") }
func (f *Func) FCVTN2(n, d V) { f.one(0x0e216800|second, n, d, "fcvtn2 v%d.8h, v%d.4s") }

// SCVTF converts signed integers to the nearest floats, UCVTF unsigned ones.
func (f *Func) SCVTF(n, d V) { f.one(0x4e21d800, n, d, "scvtf v%d.4s, v%d.4s") }
func (f *Func) UCVTF(n, d V) { f.one(0x6e21d800, n, d, "ucvtf v%d.4s, v%d.4s") }

// FCVTZS makes integers of floats, towards zero and the nearest there are, 0 of a NaN;
// FCVTZU those without a sign. FCVTNS makes the nearest ones, even ones if two are as near.
func (f *Func) FCVTZS(n, d V) { f.one(0x4ea1b800, n, d, "fcvtzs v%d.4s, v%d.4s") }
func (f *Func) FCVTNS(n, d V) { f.one(0x4e21a800, n, d, "fcvtns v%d.4s, v%d.4s") }
func (f *Func) FCVTZU(n, d V) { f.one(0x6ea1b800, n, d, "fcvtzu v%d.4s, v%d.4s") }

// SXTL sign-extends the lower bytes, or words of 16 bits, SXTL2 the upper.
func (f *Func) SXTL(size int, n, d V) {
	f.one(0x0f00a400|uint32(size)<<19, n, d, fmt.Sprintf("sshll v%%d.%s, v%%d.%s, #0", whole(2*size), half(size)))
}
func (f *Func) SXTL2(size int, n, d V) {
	f.one(0x0f00a400|second|uint32(size)<<19, n, d, fmt.Sprintf("sshll2 v%%d.%s, v%%d.%s, #0", whole(2*size), whole(size)))
}

// SQXTN narrows signed integers with saturation to the given number of bytes, UQXTN unsigned
// ones; SQXTN2 and UQXTN2 write the upper half of the destination.
func (f *Func) SQXTN(size int, n, d V)  { f.narrow(0, "sqxtn", half, size, n, d) }
func (f *Func) SQXTN2(size int, n, d V) { f.narrow(second, "sqxtn2", whole, size, n, d) }
func (f *Func) UQXTN(size int, n, d V)  { f.narrow(unsigned, "uqxtn", half, size, n, d) }
func (f *Func) UQXTN2(size int, n, d V) { f.narrow(unsigned|second, "uqxtn2", whole, size, n, d) }

const unsigned = 1 << 29

func (f *Func) narrow(bits uint32, name string, to func(size int) string, size int, n, d V) {
	f.one(0x0e214800|bits|uint32(size-1)<<22, n, d, fmt.Sprintf("%s v%%d.%s, v%%d.%s", name, to(size), whole(2*size)))
}

// whole and half are the manual's names for vectors of elements of the given number of bytes.
func whole(size int) string { return [...]string{1: "16b", 2: "8h", 4: "4s"}[size] }
func half(size int) string  { return [...]string{1: "8b", 2: "4h"}[size] }
