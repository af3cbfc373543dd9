package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Partial is added to the path of a file that is not yet whole.
const Partial = ".partial"

// Behind the tensors of a partial file lies a journal: a mark, what the file is made from,
// since when the system runs (or nothing: the tensors are on the disk), and a byte for each
// tensor. It is cut off at the end.
const (
	journalMark = "restride partial file\n"
	journalBoot = len(journalMark) + sha256.Size
	bootBytes   = 36
	journalHead = journalBoot + bootBytes
	// syncStep is how many bytes are written to the disk at once before tensors on it are
	// said to be done.
	syncStep = 1 << 30
	// writeStep is how many bytes are written at once. Linux looks for memory in one piece
	// for all of a write's: of 4 MiB that took five times as long as of 256 KiB.
	writeStep = 256 << 10
)

// Writer writes a file. WriteAt may be called from several goroutines, the other methods
// from one at a time. However the process ends, the file is not there, or whole. That it is
// so after a power cut, too, takes Sync.
type Writer struct {
	Header
	path    string
	file    *os.File
	end     int64  // of the tensors, where the journal begins
	done    []byte // one a tensor, as in the journal
	boot    [bootBytes]byte
	pending []int // tensors that are done, and not yet in the journal
	written int64 // by them
}

// Create begins a file with the header's metadata and tensors, of which Name, Type and
// Dims count; the header is the Writer's from then on, and its tensors may get another
// order. Where an earlier run has begun the same file from the same source, a text of the
// caller's that names whatever the bytes depend on, Create goes on with it. A file at
// path stays as it is until Commit.
func Create(path string, h Header, source string) (*Writer, error) {
	head, err := h.append(nil)
	if err != nil {
		return nil, err
	}
	w := &Writer{Header: h, path: path, end: h.end(int64(len(head))), done: make([]byte, len(h.Tensors))}
	copy(w.boot[:], file.Boot())
	sum := sha256.New()
	_, _ = sum.Write(head)
	_, _ = io.WriteString(sum, source)
	mark := append([]byte(journalMark), sum.Sum(nil)...)
	if err := w.begin(head, mark); err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Path(path), err)
	}
	return w, nil
}

// begin opens the partial file, and makes one without tensors of it unless an earlier run
// has begun just this one.
func (w *Writer) begin(head, mark []byte) error {
	f, err := file.Update(w.path + Partial)
	if err != nil {
		return err
	}
	w.file = f
	state, err := w.state(head, mark)
	if err == nil && state == other {
		err = layout.Errorf(layout.ErrInvalid, "Create", "%s is there, begun from something else or with other options: remove it", quote.Path(w.path+Partial))
	}
	if err == nil && state == empty {
		err = f.Truncate(0)
		if err == nil {
			_, err = f.WriteAt(head, 0)
		}
		if err == nil {
			_, err = f.WriteAt(slices.Concat(mark, w.boot[:], w.done), w.end)
		}
	}
	if err == nil && state == begun {
		_, err = f.WriteAt(w.boot[:], w.end+int64(journalBoot))
	}
	if err != nil {
		return errors.Join(quote.Error(err), f.Close())
	}
	return nil
}

// What a partial file may be.
const (
	empty = iota // or a part of the header; or without the journal, as a moment before its end; or not to be trusted
	begun
	other
)

// state says what the partial file is, and reads the journal of one that goes on to be
// this one.
func (w *Writer) state(head, mark []byte) (int, error) {
	info, err := w.file.Stat()
	if err != nil {
		return 0, quote.Error(err)
	}
	size := info.Size()
	start := make([]byte, min(size, int64(len(head))))
	if _, err := w.file.ReadAt(start, 0); err != nil && err != io.EOF {
		return 0, quote.Error(err)
	}
	switch whole := w.end + int64(journalHead+len(w.done)); {
	case !bytes.HasPrefix(head, start):
		return other, nil
	case size <= int64(len(head)) || size == w.end:
		return empty, nil
	case size != whole:
		return other, nil
	}
	journal := make([]byte, journalHead+len(w.done))
	if _, err := w.file.ReadAt(journal, w.end); err != nil {
		return 0, quote.Error(err)
	}
	if !bytes.HasPrefix(journal, mark) {
		return other, nil
	}
	if boot := [bootBytes]byte(journal[journalBoot:]); boot != w.boot && boot != [bootBytes]byte{} {
		return empty, nil // what is done may not have come to the disk
	}
	w.done = journal[journalHead:]
	return begun, nil
}

// Done reports whether all bytes of the i-th tensor are written.
func (w *Writer) Done(i int) bool {
	return w.done[i] == 1
}

// WriteAt writes bytes of the i-th tensor; off counts from its first one.
func (w *Writer) WriteAt(i int, p []byte, off int64) error {
	t := w.Tensors[i]
	if off < 0 || off > t.size || int64(len(p)) > t.size-off {
		return layout.Errorf(layout.ErrInvalid, "WriteAt", "bytes %d to %d of tensor %s, which has %d", off, off+int64(len(p)), quote.Name(t.Name), t.size)
	}
	for off += t.offset; len(p) > 0; off += writeStep {
		n := min(len(p), writeStep)
		if _, err := w.file.WriteAt(p[:n], off); err != nil {
			return quote.Error(err)
		}
		p = p[n:]
	}
	return nil
}

// Sync has tensors be on the disk before they are said to be done, and the file before it
// gets its name: it comes out whole after a power cut, too. That takes as long as the disk
// does. Systems other than Linux do so in any case.
func (w *Writer) Sync() error {
	if err := w.file.Sync(); err != nil { // what an earlier run has written
		return quote.Error(err)
	}
	clear(w.boot[:])
	_, err := w.file.WriteAt(w.boot[:], w.end+int64(journalBoot))
	return quote.Error(err)
}

// syncs reports whether the disk is waited for.
func (w *Writer) syncs() bool { return w.boot == [bootBytes]byte{} }

// Finish says that all bytes of the i-th tensor are written: a later run leaves it as it is.
func (w *Writer) Finish(i int) error {
	w.pending = append(w.pending, i)
	if w.written += w.Tensors[i].size; w.syncs() && w.written < syncStep {
		return nil
	}
	return w.settle()
}

// settle writes pending tensors into the journal, once their bytes are as safe as they
// shall be.
func (w *Writer) settle() error {
	if len(w.pending) == 0 {
		return nil
	}
	if w.syncs() {
		if err := w.file.Sync(); err != nil {
			return quote.Error(err)
		}
	}
	for _, i := range w.pending {
		if _, err := w.file.WriteAt([]byte{1}, w.end+int64(journalHead+i)); err != nil {
			return quote.Error(err)
		}
		w.done[i] = 1
	}
	w.pending, w.written = w.pending[:0], 0
	return nil
}

// Commit ends the file, of which all tensors must be finished, and gives it its name.
func (w *Writer) Commit() error {
	err := w.settle()
	if i := bytes.IndexByte(w.done, 0); err == nil && i >= 0 {
		err = layout.Errorf(layout.ErrInvalid, "Commit", "tensor %s is not finished", quote.Name(w.Tensors[i].Name))
	}
	if err == nil {
		err = quote.Error(w.file.Truncate(w.end))
	}
	if err == nil && w.syncs() {
		err = quote.Error(w.file.Sync())
	}
	if err != nil {
		return err
	}
	f := w.file
	w.file = nil
	return file.Rename(f, w.path)
}

// Close gives up what is not committed; the partial file stays, for a later run. After
// Commit it does nothing.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.settle()
	err = errors.Join(err, w.file.Close())
	w.file = nil
	return err
}
