package dry

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

type queue struct{ dev *Device }

type event struct{}

func (event) Done() bool  { return true }
func (event) Wait() error { return nil }

// ErrRead is the kind of error of calls that need the value of an element. It is of kind
// ErrUnsupported.
var ErrRead = fmt.Errorf("%w: there are no elements", device.ErrUnsupported)

func unknown(op string) error {
	return layout.Errorf(ErrRead, op, "no work is done here, so that nothing is known of them")
}

func (q *queue) Write(dst device.Buffer, off int64, src []byte) error {
	if err := backend.CheckRange("Write", dst, off, int64(len(src))); err != nil {
		return err
	}
	q.dev.counters.Upload(int64(len(src)))
	return nil
}

func (q *queue) Read([]byte, device.Buffer, int64) error { return unknown("Read") }

// launch counts a call that has been checked.
func (q *queue) launch(dst *device.Operand, err error) error {
	n := dst.Layout.Count()
	if err != nil || n == 0 {
		return err
	}
	width := dst.Type.Bits()
	if dst.Type == layout.String {
		width = 128
	}
	bytes, _ := layout.PackedBytes(n, width) // dst's buffer has them: no overflow
	q.dev.counters.Launch(bytes)
	return nil
}

func (q *queue) Copy(dst, src device.Operand) error {
	return q.launch(&dst, backend.CheckCopy(&dst, &src))
}

func (q *queue) Fill(dst device.Operand, pattern []byte) error {
	return q.launch(&dst, backend.CheckFill(&dst, pattern))
}

func (q *queue) Convert(dst, src device.Operand, how device.Rounding) error {
	return q.launch(&dst, backend.CheckConvert(&dst, &src, how))
}

func (q *queue) Take(dst, src, at device.Operand, by ...layout.Index) error {
	return q.launch(&dst, backend.CheckTake(&dst, &src, &at, by))
}

func (q *queue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	return q.launch(&dst, backend.CheckDequantize(&dst, &src, &by))
}

func (q *queue) Quantize(dst, src device.Operand, by device.Quantization) error {
	return q.launch(&dst, backend.CheckQuantize(&dst, &src, &by))
}

func (q *queue) Map(dst, src, table device.Operand) error {
	return q.launch(&dst, backend.CheckMap(&dst, &src, &table))
}

func (q *queue) Where(dst, cond, a, b device.Operand) error {
	return q.launch(&dst, backend.CheckWhere(&dst, &cond, &a, &b))
}

func (q *queue) Put(dst, src, at device.Operand, how device.Reduction, by ...layout.Index) error {
	return q.launch(&dst, backend.CheckPut(&dst, &src, &at, how, by))
}

func (q *queue) FillString(dst device.Operand, _ string) error {
	return q.launch(&dst, backend.CheckFillString(&dst))
}

func (q *queue) WriteStrings(dst device.Buffer, off int64, src []string) error {
	if err := backend.CheckRange("WriteStrings", dst, off, int64(len(src))); err != nil {
		return err
	}
	q.dev.counters.Upload(16 * int64(len(src)))
	return nil
}

func (q *queue) ReadStrings([]string, device.Buffer, int64) error { return unknown("ReadStrings") }

func (q *queue) KernelName(dst, src device.Operand) (class, kernel string) {
	if q.dev.names == nil {
		return "", ""
	}
	return q.dev.names.KernelName(dst, src)
}

func (q *queue) Record() (device.Event, error) { return event{}, nil }
func (q *queue) WaitFor(device.Event) error    { return nil }
func (q *queue) Wait() error                   { return nil }
func (q *queue) Close() error                  { return nil }
