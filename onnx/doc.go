// Package onnx implements ONNX's data movement operators, at every version, and runs models
// that use them.
//
// An operator is called by name and opset; Reshape, Flatten and Shape also have their own
// functions:
//
//	out, err := onnx.Run("Trilu", 24, onnx.Attrs{onnx.Int("upper", 0)}, x)
//	y, err := onnx.Reshape(x, 24, []int64{8, 16, -1})
//
// A model is loaded once and run many times:
//
//	m, err := model.Load("model.onnx")
//	sess, err := onnx.NewSession(stream, m)
//	out, err := sess.Run(ctx, onnx.Values{"x": x})
//	y, err := out.Tensor("y")
//
// An opset selects the newest version of an operator that is not newer than the opset, with
// the types and attributes of that version. Errors name it, as in "Reshape-13 of int4[2,3]:
// type int4 is not allowed; Reshape allows it from opset 21".
//
// The result of every operator is a view where strides can express it. For Gather and
// related operators this requires indices on the host. Shape and Size do not touch
// elements: their results are on the host ([tensor.Host]), and so are the results of
// arithmetic on them in a [Session], on any device.
//
// A session waits for its device only where a shape or axes are data there; it transfers
// nothing else. [Session.Plan] predicts the memory and the copies of a run,
// [Session.OnNode] reports the work of each node, and [Session.Capture] records a run that
// devices can replay in one call, where they support it.
//
// With [WithOperators], an engine runs the nodes that a session cannot. [Explain] reports,
// for any model, what a session would do.
package onnx
