// Package cpu is the built-in device: the machine's own processor and memory.
// It needs no driver, exists on every machine, and is the only device that
// holds strings.
//
//	import _ "github.com/restride/restride/cpu" // device.Open("cpu") works
//
//	dev, err := cpu.Open()
//	b := cpu.Wrap(data)       // Go memory as a buffer, without a copy
//	m, ok := cpu.Bytes(buf)   // a buffer as Go memory, without a copy
//
// # Queues
//
// A queue executes each call before the call returns, in the calling goroutine, with
// workers for large calls. This is a valid form of the asynchronous contract: every
// event is done when it is recorded, and Wait waits only for calls of other goroutines.
// Calls of several goroutines on one queue run one after the other; queues run
// concurrently. A capture (device.Recorder) keeps calls with their plans; each run of it
// executes them all, even after one fails.
//
// User kernels are Go functions ([Kernel]), which run in order like other calls.
//
// Elements below a byte that share a byte are not independent memory: two
// queues must not write them at the same time.
//
// # How a copy runs
//
// A copy is simplified to the fewest axes and the widest elements
// ([layout.Simplify], [layout.Widen]). Its loops are of one of these kinds:
//
//	dense        one dense run on both sides
//	rows         dense rows on both sides
//	transpose    the source is dense along another axis: tiles, through registers or L1
//	reversed     the source's row runs backwards
//	broadcast    the source's row is one element
//	strided      elements a step apart along the innermost axis, on either side
//	general      anything else, element by element in square blocks at worst
//	bits.*       the same below a byte
//	bits.convert any conversion: in place, or through buffers in L1
//
// Planners (plan.go) are asked in order. Each returns a mover and its cost, or says why not; the
// cheapest mover moves the blocks of the copy. Queue.KernelName names it, with the width of an
// element in bits, beside the copy's class ([device.KernelNamer]):
//
//	fields            codes of a few bits at any pitch          bits_fields.go
//	stride3           three interleaved rows                    copy_stride3.go
//	tiles             transposes                                copy_tiles.go, below a byte bits_transpose.go
//	permutation       short axes: vectors of permuted bytes     permute.go
//	delta swaps       the same within words, by bits of indices delta_swaps.go
//	turned words      the same by rotations and masks           turned_words.go
//	unpacked blocks   short axes below a byte, through bytes    unpacked_blocks.go, nibble_blocks.go
//	conversion        between types                             convert_*.go
//	bit rows          rows of elements below a byte             bits_rows.go
//	rows              rows of dense elements                    copy_rows.go
//	elements          elements a step apart                     copy_elements.go, copy_shuffles.go
//
// The files take_*.go implement copies by index.
//
// Vector kernels (package internal/simd) move blocks where the processor has AVX2,
// AVX-512 or NEON, and loops in Go elsewhere; the environment variable RESTRIDE_SIMD
// (go, avx2, avx512 or neon) selects a lower level. Large results are written past the
// caches. Workers share large calls, and a queue keeps the plans of its small ones.
// KERNELS.md in this directory describes the methods and their thresholds.
//
// Memory is moved, never interpreted, except by conversions: the loops in Go do not
// depend on the machine's byte order. Memory is little-endian by the contract of package
// device, so on a big-endian machine the bytes of [Bytes] must be read as such.
package cpu
