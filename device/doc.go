// Package device defines what every device provides: memory, queues that work on it, events
// between queues, and their errors.
//
// A device is opened by name:
//
//	dev, err := device.Open("auto")     // a GPU of cuda, else of opencl, else cpu
//	dev, err := device.Open("opencl:0") // the first OpenCL device
//
// Backends register themselves when their package is imported, like image formats:
//
//	import _ "github.com/restride/restride/cpu"
//
// An [Operand] is a buffer seen through a [layout.Layout], so a few operations on memory are
// enough for every layout operator: Copy (any strides, any width), Fill, Convert (between number
// types), Take (a copy from positions that indices in memory select), Map (through a table), and
// Where (from one of two sources, chosen by conditions). Convert, whose rules are in [Rounding],
// is the only one that interprets elements. Features that only some devices have are small
// optional interfaces, such as [StringAllocator], [HostAllocator] or [Recorder], which [As]
// finds: docs/embedding.md lists them.
//
// # Bytes
//
// Elements of 8 bits and more are little-endian and aligned to their size. Elements of 2 and 4
// bits are packed, low bits first, across axes:
//
//	            byte 0            byte 1
//	bits   7654 3210         7654 3210
//	int4   [e1] [e0]         [e3] [e2]
//	int2   e3 e2 e1 e0       e7 e6 e5 e4
//
// An operation on packed elements changes those bits and no others, at any offset.
package device
