// Package tensor is a device buffer seen through a layout.
//
//	s, err := tensor.Open("auto")                         // the first GPU or accelerator, else cpu
//	x, err := tensor.FromSlice(s, data, 8, 512, 16, 64)   // one transfer
//	y, err := x.Transpose(0, 2, 1, 3)                     // a view: no bytes move
//	z, err := y.Reshape(8, 16, -1)                        // cannot be a view: one copy on the device
//	err = z.ReadInto(host)                                // one transfer
//
// A call returns a view if strides can express its result, and otherwise a copy that one kernel
// makes on the device. Only FromSlice, FromBytes, ReadInto, To and related calls move elements
// between host and device. [Tensor.Verdict] says what the call that made a tensor did,
// [Stream.Trace] reports every call, and [Stream.ForbidCopies] turns silent copies into errors.
//
// # Ownership
//
// The caller must release every tensor that a call returns, including views: each holds a
// reference to the memory, which is freed with the last one. A tensor that is not released keeps
// its memory; [CheckLeaks] finds such tensors in tests.
//
//	x (float[2,3])  ----+
//	                    +--> memory (2 references): 0 1 2 3 4 5
//	xT (view, [3,2]) ---+
//
// Shapes are on the host: reading them is free. [Host] is the stream of the small tensors that
// hold shapes.
package tensor
