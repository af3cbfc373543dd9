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

// A Verdict says what a call did: a view, a copy of some bytes by a kernel of the device, or a
// transfer of some bytes.
type Verdict struct {
	Kind   Kind
	Bytes  int64  // of elements moved; strings count 16 each
	Class  string // of a Copy: device.KernelNamer's class, or "fill", "convert", "take", ...
	Kernel string // of a Copy between elements of one type, as "shuffle.32"
}

// move is what the call that made a tensor did. For a copy it has the operands, from which the
// queue can tell which kernel it ran.
type move struct {
	verdict  Verdict
	dst, src device.Operand
}

func (v Verdict) String() string {
	switch {
	case v.Kind == View:
		return "view"
	case v.Class == "":
		return fmt.Sprintf("%v of %d bytes", v.Kind, v.Bytes)
	}
	return fmt.Sprintf("%v of %d bytes: %s", v.Kind, v.Bytes, v.How())
}

// How returns the class and the kernel of a Copy: "transpose by shuffle.32".
func (v Verdict) How() string {
	if v.Kernel == "" {
		return v.Class
	}
	return v.Class + " by " + v.Kernel
}

// An Event describes a call to a Stream's trace hook.
type Event struct {
	Op string // "Transpose", "Reshape-14", "Read", ...
	Verdict
	Type    layout.DType
	In, Out layout.Layout // of the elements read, and of the elements written or viewed
}

func (e Event) String() string {
	return fmt.Sprintf("%s %v %v -> %v: %v", e.Op, e.Type, e.In, e.Out, e.Verdict)
}

// kernelName asks the queue which kernel carried out a copy.
func (s *Stream) kernelName(dst, src device.Operand) (class, kernel string) {
	if namer, ok := device.As[device.KernelNamer](s.queue); ok {
		return namer.KernelName(dst, src)
	}
	return "", ""
}

// bytesOf returns the size of n elements in a Verdict.
func bytesOf(t layout.DType, n int64) int64 {
	if t == layout.String {
		return 16 * n
	}
	b, _ := layout.PackedBytes(n, t.Bits()) // n elements exist: no overflow
	return b
}
