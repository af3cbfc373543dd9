package tensor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/ndformat"
	"github.com/restride/restride/layout"
)

// String shows the tensor: type, shape and device, then the elements as numpy's str would
// (package ndformat lists the differences), on the same line if they fit on one, otherwise below.
//
//	float[2,3] on cpu:
//	[[0.  0.1 0.2]
//	 [1.  1.1 1.2]]
//
// If there are more than 1000 elements, only the first and last 3 along each axis are read and
// shown. Text in angle brackets says what cannot be shown, or that a read failed; Format returns
// that as an error.
//
// String waits for the stream's work on the tensor and transfers elements to the host, but never
// copies on the device: it works where copies are forbidden. It is not reported to the trace
// hook, which may call it.
func (t *Tensor) String() string {
	if t == nil {
		return "<nil>"
	}
	text, err := t.format()
	switch {
	case errors.Is(err, ErrReleased):
		text = "<released>"
	case err != nil:
		text = notShown(err)
	}
	return t.titled(text)
}

// Format is String with errors: a failed read is an error, as is a tensor that is nil or
// released.
func (t *Tensor) Format() (string, error) {
	const op = "Format"
	if t == nil {
		return "", nilTensor(op)
	}
	text, err := t.format()
	if err != nil {
		return "", t.fail(op, err)
	}
	return t.titled(text), nil
}

// titled puts type, shape and device in front of the elements.
func (t *Tensor) titled(text string) string {
	gap := " "
	if strings.Contains(text, "\n") {
		gap = "\n"
	}
	return fmt.Sprintf("%v%v on %s:%s%s", t.dtype, t.layout.Shape(), t.stream.dev.Info().ID(), gap, text)
}

func notShown(why any) string { return fmt.Sprintf("<not shown: %v>", why) }

// format returns the text of the elements.
func (t *Tensor) format() (string, error) {
	if !t.retain() {
		return "", ErrReleased
	}
	text, err := t.formatElements()
	if dropErr := t.memory.drop(); err == nil {
		err = dropErr
	}
	return text, err
}

// maxShown is the most elements that String shows: arrays of many short axes, which are not
// shortened, can have more.
const maxShown = 1 << 16

// maxText is the most bytes of strings that String shows, each counted as the longest one, as
// they are aligned: a view may repeat a long string.
const maxText = 4 << 20

func (t *Tensor) formatElements() (string, error) {
	shape := t.layout.Shape()
	kept := ndformat.Kept(shape)
	n, err := kept.Count()
	switch {
	case err != nil:
		return "", err
	case n > maxShown:
		return notShown(fmt.Sprintf("%d elements", n)), nil
	}
	at := positions(t.layout, kept, n)
	var packed []byte
	var strs []string
	if t.dtype == layout.String {
		strs, err = t.pickStrings(at)
	} else {
		packed, err = t.pick(at)
	}
	if err != nil {
		return "", err
	}
	longest := 0
	for _, s := range strs {
		longest = max(longest, len(s))
	}
	if longest*len(strs) > maxText {
		return notShown(fmt.Sprintf("%d strings of up to %d bytes", len(strs), longest)), nil
	}
	return ndformat.Format(t.dtype, shape, packed, strs), nil
}

// positions returns the positions of the n elements that are kept of a layout, the first and last
// along each axis, in row-major order.
func positions(l layout.Layout, kept layout.Shape, n int64) []int64 {
	out := make([]int64, 0, n)
	index := make([]int64, len(kept))
	for range n {
		p := l.Offset()
		for axis, i := range index {
			if i >= (kept[axis]+1)/2 {
				i += l.Dim(axis) - kept[axis]
			}
			p += i * l.Stride(axis)
		}
		out = append(out, p)
		for axis := len(index) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < kept[axis] {
				break
			}
			index[axis] = 0
		}
	}
	return out
}

// readGap is the most unneeded bytes that are read to save another transfer.
const readGap = 4096

// pick reads the elements at the given positions of the buffer, and packs them.
func (t *Tensor) pick(at []int64) ([]byte, error) {
	width := t.dtype.Bits()
	size, perByte := int64(max(width/8, 1)), int64(max(8/width, 1))
	out := make([]byte, bytesOf(t.dtype, int64(len(at))))
	err := runs(at, readGap*perByte/size, func(from, to int64, which []int) error {
		first := from / perByte * size
		raw := make([]byte, to/perByte*size+size-first)
		if err := t.stream.queue.Read(raw, t.memory.buffer, first); err != nil {
			return err
		}
		for _, i := range which {
			p := at[i]
			src := raw[p/perByte*size-first:][:size]
			if perByte == 1 {
				copy(out[int64(i)*size:], src)
				continue
			}
			element := src[0] >> (int(p%perByte) * width) & (1<<width - 1)
			out[int64(i)/perByte] |= element << (i % int(perByte) * width)
		}
		return nil
	})
	return out, err
}

// pickStrings is pick for strings.
func (t *Tensor) pickStrings(at []int64) ([]string, error) {
	out := make([]string, len(at))
	queue := t.stream.words
	if queue == nil {
		return nil, layout.Errorf(device.ErrUnsupported, "String", "the device does not hold strings")
	}
	err := runs(at, 0, func(from, to int64, which []int) error {
		run := make([]string, to+1-from)
		err := queue.ReadStrings(run, t.memory.buffer, from)
		for _, i := range which {
			out[i] = run[at[i]-from]
		}
		return err
	})
	return out, err
}

// runs calls read for every run of positions that are at most gap apart, with its first and last
// position and its indices in at.
func runs(at []int64, gap int64, read func(from, to int64, which []int) error) error {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	for len(order) > 0 {
		k := 1
		for k < len(order) && at[order[k]]-at[order[k-1]] <= gap+1 {
			k++
		}
		if err := read(at[order[0]], at[order[k-1]], order[:k]); err != nil {
			return err
		}
		order = order[k:]
	}
	return nil
}
