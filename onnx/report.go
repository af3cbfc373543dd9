package onnx

import (
	"cmp"
	"context"
	"fmt"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A NodeReport is the work of one node in one run.
type NodeReport struct {
	// Graph is empty for the model's graph. For functions and for graphs in nodes it is the
	// path of nodes and attributes, as in Explained.
	Graph      string
	Index      int          // in the file's list of nodes; -1: the copy of an output (Into)
	Name       string       // the node's name; may be empty
	Op         string       // "Reshape-14"
	OutputInfo              // first output
	More       []OutputInfo // other outputs
	tensor.Verdict
	Host bool // computed on the host, beside the device
	// Foreign: an engine ran the node. Bytes counts operands made contiguous for it.
	Foreign bool
	// Group lists the nodes that an engine ran as one unit, in the file's order: the report
	// covers all of them. Index and Name belong to the first one that runs.
	Group []int
	// Keeps are the nodes of the group that the session could run, but left to the engine.
	Keeps  []Kept
	Elided bool   // not made: its only user writes it directly, or reports that it could not
	Why    string // the reason for the verdict
	// Read is the number of bytes read from the device: shapes, axes, and casts to strings.
	// Each read is a transfer and waits for the device.
	Read int64
	// Sent is the number of operand bytes sent from the host to the device of the other
	// operands: a transfer.
	Sent int64
	// HostTime is when the host ran the node, including waits for elements that it needs.
	// DeviceTime is when the device ran it, from the start to the end of the node's work in
	// the queue: if the device was idle, it includes waits for the host. They are nil
	// unless Session.Profile measured them; see Profile.Wait.
	HostTime, DeviceTime *Span

	around bool // other nodes ran within it, those of its graphs
}

// Kept is a node that the session left to an engine, and why.
type Kept struct {
	Index         int // in the file's list of nodes
	Name, Op, Why string
}

// OutputInfo is an output of a node.
type OutputInfo struct {
	Output string // the value's name; may be empty if nothing uses it
	Type   layout.DType
	Shape  layout.Shape
	// Container is the type of a value that is not a tensor: "sequence(float)". Such a
	// value has no Type and no Shape.
	Container string
}

// TypeString formats the type of the output: "float[2,3]" or "sequence(float)".
func (m OutputInfo) TypeString() string {
	if m.Container != "" {
		return m.Container
	}
	return m.Type.String() + m.Shape.String()
}

// infoOf describes an output.
func infoOf(name string, v Value) OutputInfo {
	switch v := v.(type) {
	case *tensor.Tensor:
		return OutputInfo{Output: name, Type: v.DType(), Shape: v.Shape()}
	case *pending:
		return OutputInfo{Output: name, Type: v.dtype, Shape: layout.Shape(v.dims)}
	}
	return OutputInfo{Output: name, Container: typeString(v)}
}

// reporter returns a hook that adds a run's reports to a list in holder, and charges memory for
// them. If there is none, it stops the run: loops make many reports.
func reporter[T any](op string, holder *T, list *[]NodeReport, stop context.CancelCauseFunc) func(NodeReport) {
	const each = 1 << 10 // bytes, about the size of a report
	take := budget.Steps(func(bytes int64) error { return budget.TakeFor(budget.Process(), holder, op, bytes) })
	return func(n NodeReport) {
		*list = append(*list, n)
		if err := take(each); err != nil {
			stop(err)
		}
	}
}

// OnNode makes Run call hook after each node, in its own goroutine; nil removes the hook.
func (s *Session) OnNode(hook func(NodeReport)) {
	if hook == nil {
		s.hook.Store(nil)
		return
	}
	s.hook.Store(&hook)
}

// report describes the work of a call that has just run.
func (st *step) report(c *call) NodeReport {
	if st.d.opaque {
		return st.foreignReport(c)
	}
	n := NodeReport{Graph: st.path, Index: st.index, Name: st.name, Op: st.d.name, OutputInfo: infoOf(st.outputs[0], c.out[0]), Sent: c.sent}
	for i, v := range c.in {
		if t, ok := v.(*tensor.Tensor); ok && st.d.host>>i&1 == 1 && !t.Stream().IsHost() {
			size, _ := t.Shape().Bytes(t.DType()) // t exists: no overflow
			n.Read += size
		}
	}
	for i, v := range c.out {
		if i > 0 {
			n.More = append(n.More, infoOf(st.outputs[i], v))
		}
		if t, ok := v.(*tensor.Tensor); ok {
			v := t.Verdict()
			n.Kind, n.Bytes, n.Host = max(n.Kind, v.Kind), n.Bytes+v.Bytes, t.Stream() == tensor.Host()
			n.Class, n.Kernel = cmp.Or(n.Class, v.Class), cmp.Or(n.Kernel, v.Kernel)
		}
	}
	n.Elided, n.Why = st.why(c, &n)
	if c.put > 0 {
		n.Bytes += c.put
		n.Why += fmt.Sprintf("; %d bytes were put where indices say", c.put)
	}
	if c.forced > 0 {
		n.Bytes += c.forced
		n.Why += fmt.Sprintf("; %d bytes of operands were put together before, which strides could not put in their place", c.forced)
	}
	if n.Read > 0 {
		n.Why += fmt.Sprintf("; %d bytes of shape or axes were read from the device", n.Read)
	}
	if c.fetched > 0 {
		n.Read += c.fetched
		n.Why += fmt.Sprintf("; %d bytes of operands were read from the device: %s", c.fetched, st.fetches())
	}
	if n.Sent > 0 {
		n.Why += fmt.Sprintf("; %d bytes of operands were sent to the device", n.Sent)
	}
	return n
}

// foreignReport describes the work done for an engine's operator.
func (st *step) foreignReport(c *call) NodeReport {
	n := NodeReport{Graph: st.path, Index: st.index, Name: st.name, Op: st.d.name, Foreign: !st.d.controls, around: st.d.controls, Group: st.group, Keeps: st.keeps, Why: "an engine's", Sent: c.sent, Read: c.fetched}
	for i, v := range c.out {
		switch m := infoOf(st.outputs[i], v); i {
		case 0:
			n.OutputInfo = m
		default:
			n.More = append(n.More, m)
		}
	}
	switch {
	case st.d.controls:
		n.Why = "its graphs ran"
		if n.Bytes = c.collected; n.Bytes > 0 {
			n.Kind = tensor.Copy
			n.Why += fmt.Sprintf("; %d slices of outputs were put together", c.parts)
		}
		return n
	case len(st.group) > 1:
		n.Why = "an engine's, which runs them whole"
		if kept := len(st.keeps); kept > 0 {
			n.Why += fmt.Sprintf("; it keeps %d that the session could run", kept)
		}
	}
	if st.refusal != nil {
		n.Why += fmt.Sprintf("; it refused them together with nodes that the session runs: %v", st.refusal)
	}
	if n.Bytes = c.compacted; n.Bytes > 0 {
		n.Kind = tensor.Copy
		n.Why += fmt.Sprintf("; %d bytes of operands were made contiguous", n.Bytes)
	}
	return n
}

// fetches says why a step's operands are read from the device.
func (st *step) fetches() string {
	switch {
	case st.d.arithmetic:
		return "shapes are computed on the host"
	case st.d.op == "DynamicQuantizeLinear":
		return "their range is found on the host"
	}
	return "strings are on the host"
}

// why gives the reason for a verdict.
func (st *step) why(c *call, n *NodeReport) (elided bool, why string) {
	x, ok := c.out[0].(*tensor.Tensor)
	if !ok {
		if _, ok := c.out[0].(*pending); ok {
			return true, "not made: its user writes it straight into its own output"
		}
		return false, "a reference to " + describe(c.out[0])
	}
	switch {
	case (st.d.arithmetic || st.d.generates) && x.Stream() == tensor.Host():
		return false, "worked out on the host"
	case st.d.arithmetic:
		return false, "an engine's: there are many elements"
	case c.into != nil && c.into.Buffer() == x.Buffer():
		return false, fmt.Sprintf("written to the caller's memory: %d parts", c.parts)
	case n.Kind == tensor.Copy && c.x != nil && c.x.Buffer() == x.Buffer() && c.put > 0:
		return false, "written in place, over the input"
	case n.Kind == tensor.Copy && c.x != nil && c.x.Buffer() == x.Buffer():
		return false, fmt.Sprintf("written in place, over the input: %d parts", c.parts)
	case n.Kind == tensor.Transfer:
		return false, ""
	case n.Kind == tensor.Copy && c.parts == 1 && n.Class == "fill":
		return false, "new elements, all of one value"
	case n.Kind == tensor.Copy && c.parts > 1, n.Kind == tensor.Copy && c.parts == 1 && c.x == nil:
		return false, fmt.Sprintf("put together from %d parts", c.parts)
	case n.Kind == tensor.Copy && c.x != nil:
		return false, fmt.Sprintf("no strides over %v make it %v", c.x.Layout(), x.Shape())
	case n.Kind == tensor.Copy:
		return false, "new elements"
	case c.x == nil || c.x.Buffer() != x.Buffer():
		return false, "worked out from the shape: no element is read"
	}
	in, out := c.x.Layout(), x.Layout()
	return false, viewReason(&in, &out)
}

// viewReason says which part of the layout a view changed.
func viewReason(in, out *layout.Layout) string {
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
