// Package tensor is a device buffer seen through a layout.
//
//	s, err := tensor.Open("auto")                         // the first GPU or accelerator, else cpu
//	x, err := tensor.FromSlice(s, data, 8, 512, 16, 64)   // one transfer
//	y, err := x.Transpose(0, 2, 1, 3)                     // a view: no bytes move
//	z, err := y.Reshape(8, 16, -1)                        // no view can be: one copy on the device
//	err = z.ReadInto(host)                                // one transfer
//
// A call makes a view wherever strides can express its result, and otherwise a
// copy by one kernel on the device; nothing but FromSlice, FromBytes, ReadInto, To
// and their kin moves elements between host and device. [Tensor.Verdict] says
// what the call did that made a tensor, [Stream.Trace] reports every call, and
// [Stream.ForbidCopies] turns silent copies into errors.
//
// # Ownership
//
// Every tensor that a call returns is the caller's to release, views too: each
// holds a reference to the memory, which is freed with the last one. A tensor
// that is not released keeps its memory; [CheckLeaks] finds those in tests.
//
//	x (float[2,3])  ----+
//	                    +--> memory (2 references): 0 1 2 3 4 5
//	xT (view, [3,2]) ---+
//
// Shapes live on the host: asking for them is free, and [Host] is the stream of
// the small tensors that hold them.
package tensor
