// Package cpu is the embedded device: the machine's own processor and memory.
// It needs no driver, is there on every machine, and is the one device that
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
// A queue carries a call out before it returns, in the calling goroutine, with
// the help of others where there is much to move: a legitimate form of the
// asynchronous contract in which every event is done when it is recorded and
// Wait has nothing to wait for but calls of other goroutines. Calls of several
// goroutines on one queue follow one another; queues run side by side.
// Elements below a byte that share a byte are not independent memory: two
// queues must not write them at the same time.
//
// # How a copy runs
//
// A copy is simplified to the fewest axes and the widest elements
// ([layout.Simplify], [layout.Widen]), and then takes one of these forms, which
// Queue.KernelName tells with the width of an element:
//
//	contiguous      one dense run on both sides
//	rows            dense rows on both sides
//	transpose       dense along different axes: tiles, in registers or by a buffer in L1
//	reverse, fill   the source's row runs backwards, or is one element
//	gather          anything else, in blocks
//	bits.*          the same below a byte
//	bits.convert    any conversion: where elements lie, or by way of buffers in L1
//
// Blocks of each form are moved by vector kernels, where the processor has AVX2,
// AVX-512 or NEON and they have one for it, and else by loops in Go that do the same;
// the environment variable RESTRIDE_SIMD (go, avx2, avx512 or neon) keeps to a lower
// level.
// Large results are written past the caches. Large work is shared by workers, and a
// queue keeps the plans of its small calls. KERNELS.md beside this file says what
// the kernels are, from which sizes on they are used, and with what figures.
//
// Memory is moved, never interpreted, but by conversions: the loops in Go make no
// assumption on the machine's byte order. Memory is little-endian by the contract
// of package device, so on a big-endian machine what [Bytes] shows must be read as
// such.
package cpu
