// Package device is the contract that every device keeps: memory, queues that
// work on it, events between queues, and the errors they give.
//
// A device is reached by name:
//
//	dev, err := device.Open("auto")     // a GPU of cuda, else of opencl, else cpu
//	dev, err := device.Open("opencl:0") // the first OpenCL device
//
// Backends register themselves when their package is imported, as image
// formats do:
//
//	import _ "github.com/restride/restride/cpu"
//
// A few operations on memory are enough for every layout operator, because an
// [Operand] is a buffer seen through a [layout.Layout]: Copy (any strides, any
// width), Fill, Convert (between number types), Take (a copy whose positions
// depend on indices in memory), Map (by a table), and Where (from one source or
// another, by conditions). Only Convert looks at what an element means:
// [Rounding] says its rules. What only some devices have is a small optional
// interface, such as [StringAllocator], [HostAllocator] or [Recorder], which [As]
// finds: docs/embedding.md lists them.
//
// # Bytes
//
// Elements of 8 bits and more are little-endian and lie on multiples of their
// size. Elements of 2 and 4 bits are packed, low bits first, across axes:
//
//	            byte 0            byte 1
//	bits   7654 3210         7654 3210
//	int4   [e1] [e0]         [e3] [e2]
//	int2   e3 e2 e1 e0       e7 e6 e5 e4
//
// An operation on packed elements changes those bits and no others, at any
// offset.
package device
