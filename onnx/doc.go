// Package onnx has ONNX's data movement operators, at every version, and runs
// models of them.
//
// An operator is called by name, with the opset whose rules are to hold; Reshape, Flatten
// and Shape have functions of their own, too:
//
//	out, err := onnx.Run("Trilu", 24, onnx.Attrs{onnx.Int("upper", 0)}, x)
//	y, err := onnx.Reshape(x, 24, []int64{8, 16, -1})
//
// A model is loaded once and run often:
//
//	m, err := model.Load("model.onnx")
//	sess, err := onnx.NewSession(stream, m)
//	out, err := sess.Run(ctx, onnx.Values{"x": x})
//	y, err := out.Tensor("y")
//
// The newest version of an operator that is not newer than the opset is run,
// with the types and attributes that this version has; errors name it, as in
// "Reshape-13 of int4[2,3]: type int4 is not allowed; Reshape allows it from
// opset 21".
//
// The result of every operator is a view where strides can express it; of Gather and
// its kin, only if the indices are on the host. Shape and
// Size touch no element: their results live on the host ([tensor.Host]), and so
// does the arithmetic on them in a [Session], whatever the device.
//
// A session waits for its device only where a shape or axes lie there as data; it
// transfers nothing else. [Session.Plan] is the memory and the copies of a run before
// it, [Session.OnNode] reports the work of each node, and [Session.Capture] makes a
// run that devices repeat in one call, where they can.
//
// [WithOperators] has an engine run what a session cannot, and [Explain] says of any
// model what a session would do.
package onnx
