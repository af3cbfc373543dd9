package cpu

import (
	"github.com/restride/restride/device"
)

// Strings are 128-bit elements in all but one respect: the garbage collector must see each one
// being moved. So kernels move them as Go strings, never as bytes.

// WriteStrings copies src to the buffer from string off.
func (q *queue) WriteStrings(dst device.Buffer, off int64, src []string) error {
	if err := q.begin("WriteStrings"); err != nil {
		return err
	}
	defer q.end()
	m, err := q.useRange("WriteStrings", dst, off, int64(len(src)), true)
	if err != nil {
		return err
	}
	if err := q.hold("WriteStrings", m); err != nil {
		return err
	}
	defer q.releaseMemory(m)
	copy(m.strs[off:], src)
	q.done.Uploads++
	q.done.HostToDevice += int64(len(src)) * stringSize
	return nil
}

// ReadStrings copies len(dst) strings of the buffer from string off.
func (q *queue) ReadStrings(dst []string, src device.Buffer, off int64) error {
	if err := q.begin("ReadStrings"); err != nil {
		return err
	}
	defer q.end()
	m, err := q.useRange("ReadStrings", src, off, int64(len(dst)), true)
	if err != nil {
		return err
	}
	if err := q.hold("ReadStrings", m); err != nil {
		return err
	}
	defer q.releaseMemory(m)
	copy(dst, m.strs[off:])
	q.done.Downloads++
	q.done.DeviceToHost += int64(len(dst)) * stringSize
	return nil
}

// FillString sets every element of dst to s.
func (q *queue) FillString(dst device.Operand, s string) error {
	return q.fill(&form{op: opFillString, dst: dst.Type, src: dst.Type}, &dst, nil, s)
}
