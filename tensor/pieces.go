package tensor

import (
	"errors"
	"io"
	"iter"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// pieceBytes is the most bytes of a tensor that are on the host at once when it is read in
// pieces.
const pieceBytes = 4 << 20

// WriteTo writes the packed elements to w, in row-major order: the bytes of Bytes, for any type
// but String. It reads pieces of 4 MiB, so that a tensor of any size, even a broadcast one, needs
// only that much memory on the host, and as much on the device if it is not contiguous. It is one
// transfer. Errors of w are returned unchanged.
func (t *Tensor) WriteTo(w io.Writer) (int64, error) { return t.writeTo(w, pieceBytes) }

// writeTo is WriteTo in pieces of at most most bytes.
func (t *Tensor) writeTo(w io.Writer, most int64) (int64, error) {
	const op = "WriteTo"
	switch {
	case t == nil:
		return 0, nilTensor(op)
	case w == nil:
		return 0, t.fail(op, layout.Errorf(device.ErrInvalid, op, "the writer is nil"))
	}
	if t.dtype == layout.String {
		return 0, t.fail(op, layout.Errorf(device.ErrInvalid, op, "strings have no bytes of fixed width: Strings reads them"))
	}
	if err := t.mayRead(op); err != nil {
		return 0, err
	}
	var written int64
	put := func(b []byte) error {
		n, err := w.Write(b)
		written += int64(n)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		return err
	}
	width := int64(t.dtype.Bits())
	var room []byte
	var last byte  // elements that do not fill a byte yet
	var used int64 // the number of their bits
	err := t.byPieces(op, max(most*8/width, 1), func(b device.Buffer, off, n int64) error {
		whole, rest := (used+n*width)/8, (used+n*width)%8
		if room == nil {
			room = make([]byte, whole+2) // later pieces are no longer, except for leftover bits
		}
		piece := room[:whole+min(rest, 1)]
		if err := t.stream.queue.Read(piece, b, off*width/8); err != nil {
			return t.fail(op, err)
		}
		head := byte(1)<<used - 1
		piece[0] = piece[0]&^head | last&head
		if last, used = 0, rest; rest > 0 {
			last = piece[whole] & (1<<rest - 1)
		}
		if t.dtype == layout.Bool {
			clampBools(piece)
		}
		if whole == 0 {
			return nil
		}
		return put(piece[:whole])
	})
	if err == nil && used > 0 {
		err = put([]byte{last})
	}
	if err == nil {
		t.transferred(op)
	}
	return written, err
}

// Strings yields the elements of a String tensor in row-major order. It reads them in pieces, as
// WriteTo does, and is one transfer. It ends after an error, which comes with an empty string.
func (t *Tensor) Strings() iter.Seq2[string, error] { return t.strings(pieceBytes / 16) }

// strings is Strings in pieces of at most most strings.
func (t *Tensor) strings(most int64) iter.Seq2[string, error] {
	const op = "Strings"
	return func(yield func(string, error) bool) {
		if t == nil {
			yield("", nilTensor(op))
			return
		}
		if t.dtype != layout.String {
			yield("", t.fail(op, layout.Errorf(device.ErrInvalid, op, "the elements are not strings")))
			return
		}
		err := t.mayRead(op)
		if err == nil {
			err = t.eachString(op, most, func(s string) error {
				if !yield(s, nil) {
					return errEnded
				}
				return nil
			})
		}
		switch {
		case err == nil:
			t.transferred(op)
		case err != errEnded:
			yield("", err)
		}
	}
}

// eachString calls f with the strings in row-major order, and reads at most most at once.
func (t *Tensor) eachString(op string, most int64, f func(string) error) error {
	var room []string
	return t.byPieces(op, most, func(b device.Buffer, off, n int64) error {
		if room == nil {
			room = make([]string, n)
		}
		if err := t.stream.words.ReadStrings(room[:n], b, off); err != nil {
			return t.fail(op, err)
		}
		for _, s := range room[:n] {
			if err := f(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// mayRead refuses reads that need a copy first, where copies are forbidden.
func (t *Tensor) mayRead(op string) error {
	if t.isRun() {
		return nil
	}
	return t.mayCopy(op, t.layout.Shape())
}

// errEnded ends a walk that the caller stopped.
var errEnded = errors.New("ended")

// byPieces calls read with all elements in row-major order, at most most at once: n elements in a
// buffer from position off on. In a type below a byte, a piece starts at the bit of a byte where
// the previous one ends. A piece that has this form in the tensor is read in place, any other is
// copied to a small buffer first.
func (t *Tensor) byPieces(op string, most int64, read func(b device.Buffer, off, n int64) error) error {
	if err := t.hold(op); err != nil {
		return err
	}
	defer t.memory.drop()
	perByte := int64(1)
	if bits := t.dtype.Bits(); t.dtype != layout.String && bits < 8 {
		perByte = int64(8 / bits)
	}
	var room *Tensor // for pieces that cannot be read in place
	defer func() { _ = room.Release() }()
	done := int64(0)
	for piece := range pieces(t.layout.Coalesce(), most) {
		n, phase := piece.Count(), done%perByte
		done += n
		if piece.IsContiguous() && piece.Offset()%perByte == phase {
			if err := read(t.memory.buffer, piece.Offset(), n); err != nil {
				return err
			}
			continue
		}
		if room == nil {
			var err error
			if room, err = allocate(t.stream, op, t.dtype, []int64{min(most, t.Count()) + perByte - 1}); err != nil {
				return err
			}
		}
		to, err := layout.Contiguous(piece.Shape()...)
		if err == nil {
			to, err = to.Rebase(phase)
		}
		if err == nil {
			err = t.stream.queue.Copy(room.operandOf(to), t.operandOf(piece))
		}
		if err != nil {
			return t.fail(op, err)
		}
		if err := read(room.memory.buffer, phase, n); err != nil {
			return err
		}
	}
	return nil
}

// pieces cuts a layout along its outer axes into layouts of at most most elements, in row-major
// order.
func pieces(l layout.Layout, most int64) iter.Seq[layout.Layout] {
	return func(yield func(layout.Layout) bool) { cut(l, 0, most, yield) }
}

// cut yields the pieces of a layout whose axes before axis have extent 1. It reports whether to
// go on.
func cut(l layout.Layout, axis int, most int64, yield func(layout.Layout) bool) bool {
	count := l.Count()
	if count <= most {
		return count == 0 || yield(l)
	}
	rows := max(most/(count/l.Dim(axis)), 1)
	for i := int64(0); i < l.Dim(axis); i += rows {
		part, err := l.Slice(axis, i, i+rows, 1)
		if err != nil || !cut(part, axis+1, most, yield) {
			return false // err: the axis is one of l's, so there is none
		}
	}
	return true
}
