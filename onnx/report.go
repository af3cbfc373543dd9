package onnx

import (
	"fmt"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A NodeReport says what one node did in one run.
type NodeReport struct {
	Index  int    // in the file's list of nodes
	Name   string // of the node; may be empty
	Op     string // "Reshape-14"
	Output string // the name of the value
	Type   layout.DType
	Shape  layout.Shape
	tensor.Verdict
	Host bool   // worked out on the host, beside the device
	Why  string // the reason for the verdict
	// Read is how many bytes the node read from the device to know a shape or
	// axes: a transfer, which also waits for the device.
	Read int64
	// Container is the type of a value that is no tensor: "sequence(float)".
	// Such a value has no Type and no Shape.
	Container string
}

// TypeString writes the type of what the node made: "float[2,3]" or
// "sequence(float)".
func (n NodeReport) TypeString() string {
	if n.Container != "" {
		return n.Container
	}
	return n.Type.String() + n.Shape.String()
}

// OnNode calls hook, in the goroutine of Run, after each node; nil ends that.
func (s *Session) OnNode(hook func(NodeReport)) {
	if hook == nil {
		s.hook.Store(nil)
		return
	}
	s.hook.Store(&hook)
}

// report says what a call that has just run did.
func (st *step) report(c *call) NodeReport {
	n := NodeReport{Index: st.index, Name: st.name, Op: st.d.name, Output: st.output}
	for i, v := range c.in {
		if t, ok := v.(*tensor.Tensor); ok && st.d.host>>i&1 == 1 && !t.Stream().IsHost() {
			n.Read += t.Count() * int64(t.DType().Bits()/8)
		}
	}
	x, ok := c.out[0].(*tensor.Tensor)
	if !ok {
		n.Container = typeString(c.out[0])
		n.Why = "a reference to " + describe(c.out[0])
		return n
	}
	n.Type, n.Shape, n.Verdict, n.Host = x.DType(), x.Shape(), x.Verdict(), x.Stream() == tensor.Host()
	in := c.x // a tensor, or the output would not be one
	switch {
	case in.Buffer() != x.Buffer() && n.Kind == tensor.View:
		n.Why = "worked out from the shape: no element is read"
	case n.Kind == tensor.View:
		n.Why = viewReason(in.Layout(), x.Layout())
	case n.Kind == tensor.Copy:
		n.Why = fmt.Sprintf("no strides over %v make it %v", in.Layout(), x.Shape())
	}
	if n.Read > 0 {
		n.Why += fmt.Sprintf("; %d bytes of shape or axes were read from the device", n.Read)
	}
	return n
}

// viewReason says what of the layout a view changed.
func viewReason(in, out layout.Layout) string {
	switch {
	case in.Equal(out):
		return "nothing changes"
	case in.Offset() != out.Offset():
		return fmt.Sprintf("a window: offset %d, strides %v", out.Offset(), layout.Shape(out.Strides()))
	case in.IsContiguous() && out.IsContiguous():
		return "contiguous: only the extents change"
	}
	return fmt.Sprintf("strides %v over the same elements", layout.Shape(out.Strides()))
}
