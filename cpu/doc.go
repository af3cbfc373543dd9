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
// Queue.KernelName tells:
//
//	contiguous      one dense run on both sides
//	rows            dense rows on both sides
//	transpose       dense along different axes: tiles through a buffer in L1
//	reverse, fill   the source's row runs backwards, or is one element
//	gather          anything else, element by element, in blocks
//	bits.*          the same below a byte, in 64-bit words with masked edges
//
// A conversion takes elements in short rows: it brings a row's next to each other,
// converts them, by a table, a straight loop or the general rule, and puts them
// in their places.
//
// Else memory is moved, never interpreted: the code makes no assumption on the
// machine's byte order. Memory is little-endian by the contract of package
// device, so on a big-endian machine what [Bytes] shows must be read as such.
package cpu
