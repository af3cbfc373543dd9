package device

import (
	"fmt"

	"github.com/restride/restride/layout"
)

// Device is a place that has memory and can work on it. All methods may be
// called from any goroutine.
type Device interface {
	Info() Info
	// Alloc returns a buffer of the given size. What is in it is undefined.
	// 0 bytes are a valid size. Without enough memory the error is
	// ErrOutOfMemory and says what was asked and what is in use.
	Alloc(bytes int64) (Buffer, error)
	// NewQueue returns a new, empty queue.
	NewQueue() (Queue, error)
	Stats() Stats
	// Close waits for all work in flight and gives back all memory. Calls of the
	// device, its buffers and its queues then fail with ErrClosed: Free and Close,
	// too. Info, Stats and Size still answer.
	Close() error
}

// Buffer is memory on a device.
type Buffer interface {
	// Size returns the size in bytes (of a string buffer: its length in strings).
	Size() int64
	// Free gives the memory back once the work queued on it is done; the caller
	// need not wait. A second Free is ErrClosed.
	Free() error
}

// Operand is a buffer seen as elements of a type through a layout.
type Operand struct {
	Buffer Buffer
	Layout layout.Layout
	Type   layout.DType
}

func (o Operand) String() string { return fmt.Sprintf("%v%v", o.Type, o.Layout) }

// Queue runs work on a device, in order. A call returns when the work is
// queued, perhaps before it is done. Calls that break a rule fail at once, with
// ErrInvalid or ErrUnsupported, and queue nothing. All methods may be called from
// any goroutine.
//
// What shows only when the work is done, an index out of range or a fault of the
// device, is an error of every Read of bytes that the work wrote, or that other work
// made of these; Wait returns it if no call has. Reads of other bytes succeed. Bytes
// that are written again, all of them, are right again.
type Queue interface {
	// Write copies src to the buffer from byte off. src may be changed once
	// Write has returned.
	Write(dst Buffer, off int64, src []byte) error
	// Read copies len(dst) bytes of the buffer from byte off, and waits for
	// that: when it returns, dst is filled. It is, too, when the error is of an index
	// out of range; after other errors dst is undefined.
	Read(dst []byte, src Buffer, off int64) error
	// Copy copies every element of src to the element of dst with the same
	// index. Shapes must be the same, and so must element widths; types may
	// differ. Two indices of dst must not share an element, and dst and src must
	// not share any.
	Copy(dst, src Operand) error
	// Fill sets every element of dst to the pattern: the little-endian bytes of
	// one element (below a byte: its bits, low in one byte; the bits above them
	// are ignored).
	Fill(dst Operand, pattern []byte) error
	// Convert sets every element of dst to the value of src's element with the
	// same index, as dst's type has it: any number type to any other. See Rounding
	// for what becomes of values that dst's type does not have. The rules of Copy
	// hold, but for widths; in one buffer, not even the ranges of bytes may meet.
	Convert(dst, src Operand, how Rounding) error
	// Take copies to every element of dst the element of src that indices in
	// memory name. at has an int32 or int64 for each element of dst, and its shape;
	// so has src, whose layout says where an element lies whose indices are all 0:
	//
	//	dst[i] = src[i] moved by the sum of index * by[k].Stride,
	//
	// where index is read by[k].Offset elements behind at[i]. A negative one counts
	// from the end of by[k].Extent. src and at may repeat elements (stride 0): to
	// gather the rows of a table, src repeats its row 0, and at each index along
	// its row. Widths of dst and src are the same, and no two indices share an
	// element of dst, as for Copy; in one buffer, not even the ranges of bytes may
	// meet of dst and what the other two reach. There are at most MaxIndices in by.
	//
	// An index out of range leaves its element of dst as it was, and is ErrInvalid
	// with its value and extent: from Take, or later (see Queue). Of several, one is
	// named. by[k].OutOfRange may say otherwise: for OutOfRangeStrict negative indices
	// are out of range, too; OutOfRangeSkip leaves the element as it was, without an
	// error; OutOfRangeClamp and OutOfRangeClampZero take the nearest index in range. An
	// element that one index leaves as it was stays so, whatever its others are.
	//
	// Where an extent is 0, no index is in range: with OutOfRangeSkip nothing is moved, no
	// index is read, and src needs no place for an element; otherwise it is ErrInvalid at
	// once, unless dst has no elements.
	Take(dst, src, at Operand, by ...layout.Index) error
	// Dequantize sets every element of dst, a float of 16 bits or more, to
	//
	//	(src - zero) * scale + add
	//
	// of the elements with the same index: see Scaling. src is any number of up to 32
	// bits, but no Bool. The rules of Convert hold, for each of the sources.
	Dequantize(dst, src Operand, by Scaling) error
	// Quantize sets every element of dst, an integer of up to 16 bits or a float of up to
	// 8 but Float8E8M0, to
	//
	//	round(src / scale) + zero
	//
	// of the elements with the same index: see Quantization. Of an integer, the quotient
	// is rounded to the nearest one, to an even one if two are as near, NaN to 0; and the
	// sum is the nearest one that dst's type has. Of a float, the sum is rounded as Convert
	// does. src is any number of up to 32 bits, but no Bool. The rules of Convert hold, for
	// each of the sources.
	//
	// Where by.FindScale says so, scales are not given, but found.
	Quantize(dst, src Operand, by Quantization) error
	// Map sets every element of dst to an element of table: the one with the number that
	// the bits of src's element with the same index are, without a sign. src's elements
	// have 2 to 8 bits, dst's and the table's 2 to 32; what they mean does not matter.
	// The table has one axis, of a dense run: 4, 16 or 256 elements, as src's have 2, 4
	// or 8 bits. The rules of Copy hold for dst and src, but for widths; in one buffer,
	// not even the ranges of bytes may meet of dst and the other two. Only src may be
	// dst itself, by an equal layout and with elements of its width.
	Map(dst, src, table Operand) error
	// Where sets every element of dst to that of a with the same index where cond's is
	// true, and to that of b elsewhere: numpy's, PyTorch's and ONNX's operation of this
	// name. cond has the type Bool, in which every byte but 0 is true. All have one
	// shape; elements of dst, a and b have one width, and what they mean does not matter.
	// cond, a and b may repeat elements (stride 0). No two indices share an element of
	// dst. In one buffer dst shares no element with a or b, and not even the ranges of
	// bytes may meet of dst and cond. But a or b, or both, may be dst, by a layout that
	// is equal: then the elements that the other one gives are written over.
	Where(dst, cond, a, b Operand) error
	// Put is Take the other way round: what indices move is where an element goes.
	//
	//	dst moved by the sum of index * by[k].Stride [i] = src[i]
	//
	// All that Take says of at and by holds here, but for what moves: dst's layout says
	// where an element lies whose indices are all 0, and dst may repeat elements. To
	// scatter rows to a table, dst repeats its row 0, and at each index along its row.
	// In one buffer, not even the ranges of bytes may meet of what dst reaches and the
	// other two. An element whose index is out of range goes nowhere.
	//
	// Several elements of src may go to one element of dst. With ReduceSet it becomes one of
	// them, whole: the last one in row-major order where Info.PutsInOrder says so, and
	// elsewhere any (of 128 bits, it may be put together from several). With another
	// reduction it becomes what that makes of it and of them, as if one after the other in
	// row-major order, so that each device has the same result: types are the same, and
	// such that Reduces.
	Put(dst, src, at Operand, how Reduction, by ...layout.Index) error
	// Record returns an event that is done when all work queued so far is.
	Record() (Event, error)
	// WaitFor makes later work of this queue wait for the event, which may be
	// another queue's of the same device; it does not wait itself.
	WaitFor(Event) error
	// Wait returns when all queued work is done, with the first error of it
	// that no call has returned.
	Wait() error
	// Close waits, then ends the queue. A second Close is ErrClosed.
	Close() error
}

// Event marks a point in a queue.
type Event interface {
	// Done reports, without waiting, whether the point has been reached.
	Done() bool
	// Wait returns when it is. That of ReadAsync's event returns what Read would.
	Wait() error
}

// StringAllocator is implemented by devices that hold strings.
type StringAllocator interface {
	// AllocStrings returns a StringBuffer of n empty strings.
	AllocStrings(n int64) (Buffer, error)
}

// StringBuffer is a buffer of strings: operands of type String lie in one, and
// no others do.
type StringBuffer interface {
	Buffer
	HoldsStrings()
}

// StringQueue is implemented by the queues of devices that hold strings. The
// calls mean what their namesakes of Queue do; off counts strings.
type StringQueue interface {
	WriteStrings(dst Buffer, off int64, src []string) error
	ReadStrings(dst []string, src Buffer, off int64) error
	FillString(dst Operand, s string) error
}

// KernelNamer is implemented by queues that can say what carried out a Copy, or would: the
// class of the copy, by how its elements lie, and the kernel, as "shuffle.32", whose elements
// have 32 bits. The classes are "dense", "rows", "transpose", "shuffle", "reversed", "strided",
// "broadcast" and "general". Of a Copy that is refused, both are empty. The answer is for
// people: names may change.
type KernelNamer interface {
	KernelName(dst, src Operand) (class, kernel string)
}

// Info says what a device is. In the driver's texts, what cannot be printed is escaped.
type Info struct {
	Backend  string // "cpu", "opencl", "cuda"
	Index    int    // among the devices of its backend
	Name     string // as the driver gives it
	Vendor   string
	Driver   string // driver and version
	Kind     Kind
	Memory   int64 // bytes in all; 0: unknown
	MHz      int   // the highest clock; 0: unknown
	MaxAlloc int64 // the largest single buffer, in bytes; 0: no limit known
	Strings  bool  // whether the device holds strings
	// PutsInOrder: of several elements that Queue.Put sets one to, the last one counts.
	PutsInOrder bool
}

// Kind is the kind of processor behind a device.
type Kind string

// The kinds of processor.
const (
	CPU         Kind = "cpu"
	GPU         Kind = "gpu"
	Accelerator Kind = "accelerator"
)

// ID returns the name that Open takes: "cpu", "opencl:0", "cuda:1".
func (i Info) ID() string {
	if i.Backend == "cpu" {
		return i.Backend
	}
	return fmt.Sprintf("%s:%d", i.Backend, i.Index)
}
