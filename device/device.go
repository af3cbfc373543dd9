package device

import (
	"fmt"

	"github.com/restride/restride/layout"
)

// Device is a place that has memory and can work on it. All methods may be called from any
// goroutine.
type Device interface {
	Info() Info
	// Alloc returns a buffer of the given size, which may be 0, with undefined content. If there
	// is too little memory, the error is ErrOutOfMemory and states the requested size and the
	// memory in use.
	Alloc(bytes int64) (Buffer, error)
	// NewQueue returns a new, empty queue.
	NewQueue() (Queue, error)
	Stats() Stats
	// Close waits for all work in flight and frees all memory. Later calls of the device, its
	// buffers and its queues fail with ErrClosed, including Free and Close, but Info, Stats and
	// Size still work.
	Close() error
}

// Buffer is memory on a device.
type Buffer interface {
	// Size returns the size in bytes, or of a string buffer the number of strings.
	Size() int64
	// Free frees the memory once the work queued on it is done; the caller need not wait. A
	// second Free is ErrClosed.
	Free() error
}

// Operand is a buffer seen as elements of a type through a layout.
type Operand struct {
	Buffer Buffer
	Layout layout.Layout
	Type   layout.DType
}

func (o Operand) String() string { return fmt.Sprintf("%v%v", o.Type, o.Layout) }

// Queue runs work on a device, in order. A call returns when the work is queued, perhaps before
// it is done. A call that breaks a rule fails at once, with ErrInvalid or ErrUnsupported, and
// queues nothing. All methods may be called from any goroutine.
//
// Some errors show only when the work runs: an index out of range, or a device fault. Such a late
// error is returned by every Read of bytes that the work wrote, or that other work computed from
// these bytes, and by Wait if no call has returned it. Reads of other bytes succeed. Bytes are
// valid again once all of them are overwritten.
type Queue interface {
	// Write copies src to the buffer from byte off. The caller may change src once Write has
	// returned.
	Write(dst Buffer, off int64, src []byte) error
	// Read copies len(dst) bytes of the buffer from byte off, and returns when dst is filled. dst
	// is also filled if the error is an index out of range; after any other error it is
	// undefined.
	Read(dst []byte, src Buffer, off int64) error
	// Copy copies every element of src to the element of dst with the same index. Shapes and
	// element widths must be the same; types may differ. Two indices of dst must not share an
	// element, and dst and src must not share any.
	Copy(dst, src Operand) error
	// Fill sets every element of dst to the pattern: the little-endian bytes of one element. For
	// a type below a byte, the pattern is one byte with the element in its low bits; the other
	// bits are ignored.
	Fill(dst Operand, pattern []byte) error
	// Convert sets every element of dst to the value of src's element with the same index, from
	// any number type to any other. Rounding has the rules for values that dst's type cannot
	// represent. The rules of Copy hold, except that widths may differ and that, in one buffer,
	// even the byte ranges of dst and src must be disjoint.
	Convert(dst, src Operand, how Rounding) error
	// Take sets every element of dst to an element of src that indices in memory select. at holds
	// int32 or int64; at and src have dst's shape. src's layout says where the elements lie for
	// indices of 0:
	//
	//	dst[i] = src[i] moved by the sum of index * by[k].Stride,
	//
	// where index is read by[k].Offset elements after at[i]. A negative index counts from the end
	// of by[k].Extent. src and at may repeat elements (stride 0): to gather the rows of a table,
	// src repeats its row 0, and at repeats each index along its row. As for Copy, widths of dst
	// and src are the same, and no two indices of dst share an element. In one buffer, the byte
	// range of dst must be disjoint from all bytes that src and at can reach. by has at most
	// MaxIndices entries.
	//
	// An index out of range leaves its element of dst unchanged, and is ErrInvalid with its value
	// and extent: from Take, or as a late error (see Queue). If there are several, the error
	// names one. by[k].OutOfRange may say otherwise: for OutOfRangeStrict, negative indices are
	// out of range, too; OutOfRangeSkip leaves the element unchanged, without an error;
	// OutOfRangeClamp and OutOfRangeClampZero use the nearest index in range. An element that one
	// index leaves unchanged stays so, whatever its other indices are.
	//
	// Where an extent is 0, no index is in range: with OutOfRangeSkip nothing is moved, no index
	// is read, and src's buffer need not hold any element; otherwise it is ErrInvalid at once,
	// unless dst has no elements.
	Take(dst, src, at Operand, by ...layout.Index) error
	// Dequantize sets every element of dst, a float of 16 bits or more, to
	//
	//	(src - zero) * scale + add
	//
	// computed from the elements with the same index: see Scaling. src is any number of up to 32
	// bits, but not Bool. The rules of Convert hold for each source.
	Dequantize(dst, src Operand, by Scaling) error
	// Quantize sets every element of dst, an integer of up to 16 bits or a float of up to 8 bits
	// but not Float8E8M0, to
	//
	//	round(src / scale) + zero
	//
	// computed from the elements with the same index: see Quantization. For an integer dst, the
	// quotient is rounded to the nearest integer, ties to even, NaN to 0, and the sum is clamped
	// to the range of dst's type. For a float dst, the sum is rounded as in Convert. src is any
	// number of up to 32 bits, but not Bool. The rules of Convert hold for each source.
	//
	// With by.FindScale, the scales are outputs, not inputs.
	Quantize(dst, src Operand, by Quantization) error
	// Map sets every element of dst to the table's element whose number is src's element with the
	// same index, read as an unsigned integer. src's elements have 2 to 8 bits, dst's and the
	// table's 2 to 32; their types do not matter. The table has one dense axis of 4, 16 or 256
	// elements, for src elements of 2, 4 or 8 bits. The rules of Copy hold for dst and src,
	// except that widths may differ; in one buffer, even the byte ranges of dst and the others
	// must be disjoint. Only src may be dst itself, with an equal layout and the same width.
	Map(dst, src, table Operand) error
	// Where sets every element of dst to a's element with the same index where cond's is true,
	// and to b's elsewhere, like the operation of this name in numpy, PyTorch and ONNX. cond has
	// the type Bool, in which every byte but 0 is true. All have one shape; elements of dst, a
	// and b have one width, and their types do not matter. cond, a and b may repeat elements
	// (stride 0). No two indices share an element of dst. In one buffer, dst shares no element
	// with a or b, and the byte ranges of dst and cond are disjoint. But a or b, or both, may be
	// dst itself, with an equal layout: then only the elements chosen from the other one are
	// overwritten.
	Where(dst, cond, a, b Operand) error
	// Put is the reverse of Take: the indices select where an element goes.
	//
	//	dst moved by the sum of index * by[k].Stride [i] = src[i]
	//
	// Take's rules for at and by hold with dst and src exchanged: dst's layout says where the
	// elements lie for indices of 0, and dst may repeat elements. To scatter rows to a table, dst
	// repeats its row 0, and at repeats each index along its row. In one buffer, all bytes that
	// dst can reach must be disjoint from the byte ranges of src and at. An element whose index
	// is out of range is not written.
	//
	// Several elements of src may go to one element of dst. With ReduceSet, one of them replaces
	// it: the last one in row-major order where Info.PutsInOrder is set, elsewhere any (128-bit
	// elements may be mixed from several). With another reduction, the element is combined with
	// all of them, as if one after the other in row-major order, so that every device gives the
	// same result; dst and src then have one type, for which Reduces is true.
	Put(dst, src, at Operand, how Reduction, by ...layout.Index) error
	// Record returns an event that is done when all work queued so far is.
	Record() (Event, error)
	// WaitFor makes later work of this queue wait for the event, which may belong to another
	// queue of the same device. The call itself does not wait.
	WaitFor(Event) error
	// Wait returns when all queued work is done, with the first error that no call has returned.
	Wait() error
	// Close waits, then closes the queue. A second Close is ErrClosed.
	Close() error
}

// Event marks a point in a queue.
type Event interface {
	// Done reports, without waiting, whether the point has been reached.
	Done() bool
	// Wait returns when the point is reached. For an event of ReadAsync it returns what Read
	// would.
	Wait() error
}

// StringAllocator is implemented by devices that hold strings.
type StringAllocator interface {
	// AllocStrings returns a StringBuffer of n empty strings.
	AllocStrings(n int64) (Buffer, error)
}

// StringBuffer is a buffer of strings. Operands of type String, and no others, use one.
type StringBuffer interface {
	Buffer
	HoldsStrings()
}

// StringQueue is implemented by the queues of devices that hold strings. Its calls are Queue's
// Write, Read and Fill for strings; off counts strings.
type StringQueue interface {
	WriteStrings(dst Buffer, off int64, src []string) error
	ReadStrings(dst []string, src Buffer, off int64) error
	FillString(dst Operand, s string) error
}

// KernelNamer is implemented by queues that can name what ran, or would run, a Copy: the class of
// the copy, from the layouts, and the kernel, such as "shuffle.32" for 32-bit elements. The
// classes are "dense", "rows", "transpose", "shuffle", "reversed", "strided", "broadcast" and
// "general". For a Copy that would be refused, both are empty. The answer is for people: names
// may change.
type KernelNamer interface {
	KernelName(dst, src Operand) (class, kernel string)
}

// Info describes a device. Unprintable characters in the driver's texts are escaped.
type Info struct {
	Backend  string // "cpu", "opencl", "cuda"
	Index    int    // among the devices of its backend
	Name     string // as the driver gives it
	Vendor   string
	Driver   string // driver and version
	Kind     Kind
	Memory   int64 // total bytes; 0: unknown
	MHz      int   // the highest clock; 0: unknown
	MaxAlloc int64 // the largest single buffer, in bytes; 0: no limit known
	Strings  bool  // whether the device holds strings
	// PutsInOrder: if Queue.Put sets one element to several, the last one counts.
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
