package cpu

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/restride/restride/layout"
)

// word is an element of 8 to 128 bits, or a string, whose pointer the garbage collector must see
// being moved. The compiler generates separate code for each, because their shapes differ.
type word interface {
	uint8 | uint16 | uint32 | uint64 | [2]uint64 | string
}

// Kernels address memory with a base and an offset in bytes, added at each access, so that no
// pointer beyond a buffer ever exists.

func load[W word](p unsafe.Pointer, off int64) W { return *(*W)(unsafe.Add(p, off)) }

func store[W word | [16]byte](p unsafe.Pointer, off int64, v W) { *(*W)(unsafe.Add(p, off)) = v }

// load64 reads 8 bytes at any address, lowest byte first: one instruction, if the machine has it.
func load64(p unsafe.Pointer, off int64) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, off))[:])
}

func store64(p unsafe.Pointer, off int64, v uint64) {
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(p, off))[:], v)
}

// ptr returns an address for a kernel of package simd.
func ptr(p unsafe.Pointer, off int64) *byte { return (*byte)(unsafe.Add(p, off)) }

func load8(p unsafe.Pointer, off int64) byte { return *(*byte)(unsafe.Add(p, off)) }

func store8(p unsafe.Pointer, off int64, v byte) { *(*byte)(unsafe.Add(p, off)) = v }

// span returns n > 0 bytes of memory as a slice.
func span(p unsafe.Pointer, off, n int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(p, off)), n)
}

// looseAlignment says whether the machine reads words at any address. All buffers are
// aligned, except those of Wrap.
const looseAlignment = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || runtime.GOARCH == "386" ||
	runtime.GOARCH == "ppc64le" || runtime.GOARCH == "wasm"

// alignment returns the largest power of two, up to 16, that divides an address.
func alignment(p unsafe.Pointer) int {
	a := uintptr(p) | 16
	return int(a & -a)
}

func load32(p unsafe.Pointer, off int64) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, off))[:])
}

func store32(p unsafe.Pointer, off int64, v uint32) {
	binary.LittleEndian.PutUint32((*[4]byte)(unsafe.Add(p, off))[:], v)
}

// width returns the size of an element in memory, in bits.
func width(t layout.DType) int {
	if t == layout.String {
		return 8 * stringSize
	}
	return t.Bits()
}

// logWidth is the logarithm of width, which is a power of two.
func logWidth(t layout.DType) uint8 { return uint8(bits.TrailingZeros(uint(width(t)))) }
