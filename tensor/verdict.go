package tensor

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Kind says what a call did with the elements.
type Kind uint8

const (
	// View: nothing moved; the result is other metadata over the same memory.
	View Kind = iota
	// Copy: elements were written by a kernel on the device.
	Copy
	// Transfer: elements crossed between host and device, or between devices.
	Transfer
)

func (k Kind) String() string { return [...]string{"view", "copy", "transfer"}[k] }

// A Verdict is what a call did: a view, a copy of so many bytes by a kernel of
// the device, or a transfer of so many bytes.
type Verdict struct {
	Kind   Kind
	Bytes  int64  // of elements moved; strings count 16 each
	Kernel string // of a Copy: its class and the width of its elements, as the device has them
}

// move is what a call did that made a tensor. Of a copy it keeps the operands:
// the kernel's name, which costs as much as planning the copy, is worked out for
// who asks.
type move struct {
	verdict  Verdict
	dst, src device.Operand
}

func (v Verdict) String() string {
	switch {
	case v.Kind == View:
		return "view"
	case v.Kernel == "":
		return fmt.Sprintf("%v of %d bytes", v.Kind, v.Bytes)
	}
	return fmt.Sprintf("%v of %d bytes by %s", v.Kind, v.Bytes, v.Kernel)
}

// An Event is what a Stream's trace hook is told of a call.
type Event struct {
	Op string // "Transpose", "Reshape-14", "Read", ...
	Verdict
	Type    layout.DType
	In, Out layout.Layout // of the elements read and of those written or viewed
}

func (e Event) String() string {
	return fmt.Sprintf("%s %v %v -> %v: %v", e.Op, e.Type, e.In, e.Out, e.Verdict)
}

// kernelName asks the queue which kernel carries out a copy.
func (s *Stream) kernelName(dst, src device.Operand) string {
	if namer, ok := device.As[device.KernelNamer](s.queue); ok {
		return namer.KernelName(dst, src)
	}
	return ""
}

// bytesOf returns the size of n elements in a Verdict.
func bytesOf(t layout.DType, n int64) int64 {
	if t == layout.String {
		return 16 * n
	}
	b, _ := layout.PackedBytes(n, t.Bits()) // n elements exist: no overflow
	return b
}
