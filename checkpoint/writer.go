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

// Partial is appended to the path of an incomplete file.
const Partial = ".partial"

// After the tensors, a partial file has a journal: a mark, a hash of the header and the
// source, the system's boot ID (or zeros: the tensors are on the disk), and one byte per
// tensor. It is cut off at the end.
const (
	journalMark = "restride partial file\n"
	journalBoot = len(journalMark) + sha256.Size
	bootBytes   = 36
	journalHead = journalBoot + bootBytes
	// syncStep is the number of bytes written before a sync, after which tensors are marked
	// as done.
	syncStep = 1 << 30
	// writeStep is the number of bytes per write. Linux looks for contiguous memory for a
	// whole write: 4 MiB at once was five times as slow as 256 KiB.
	writeStep = 256 << 10
)

// Writer writes a file. WriteAt may be called from several goroutines, the other methods
// from one at a time. However the process ends, the file is either absent or complete.
// After a power cut this holds only with Sync.
type Writer struct {
	Header
	path    string
	file    *os.File
	end     int64  // end of the tensors and start of the journal
	done    []byte // one byte per tensor, as in the journal
	boot    [bootBytes]byte
	pending []int // finished tensors that are not yet in the journal
	written int64 // bytes of the pending tensors
}

// Create starts a file with the header's metadata and tensors; only Name, Type and Dims of
// the tensors matter. The header then belongs to the Writer, which may reorder its tensors.
// source names everything that the bytes depend on: if an earlier run started the same file
// from the same source, Create continues it. An existing file at path is unchanged until
// Commit.
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

// begin opens the partial file. Unless an earlier run started exactly this file, it becomes
// one without tensors.
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

// Possible states of a partial file.
const (
	empty = iota // or part of the header; or no journal, as just before the end; or not to be trusted
	begun
	other
)

// state returns the state of the partial file, and reads the journal if the file can be
// continued.
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
		return empty, nil // finished tensors may not have reached the disk
	}
	w.done = journal[journalHead:]
	return begun, nil
}

// Done reports whether all bytes of tensor i are written.
func (w *Writer) Done(i int) bool {
	return w.done[i] == 1
}

// WriteAt writes bytes of tensor i; off counts from its first byte.
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

// Sync makes the Writer wait for the disk: each tensor is on the disk before it is marked
// as done, and the whole file before it gets its name, so that it is complete even after a
// power cut. The disk determines how long that takes. Systems other than Linux always do
// so.
func (w *Writer) Sync() error {
	if err := w.file.Sync(); err != nil { // data from an earlier run
		return quote.Error(err)
	}
	clear(w.boot[:])
	_, err := w.file.WriteAt(w.boot[:], w.end+int64(journalBoot))
	return quote.Error(err)
}

// syncs reports whether the Writer waits for the disk.
func (w *Writer) syncs() bool { return w.boot == [bootBytes]byte{} }

// Finish records that all bytes of tensor i are written: a later run leaves it as it is.
func (w *Writer) Finish(i int) error {
	w.pending = append(w.pending, i)
	if w.written += w.Tensors[i].size; w.syncs() && w.written < syncStep {
		return nil
	}
	return w.settle()
}

// settle records pending tensors in the journal, after syncing their bytes if required.
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

// Commit completes the file, whose tensors must all be finished, and gives it its name.
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

// Close abandons a file that is not committed; the partial file stays, for a later run.
// After Commit it does nothing.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.settle()
	err = errors.Join(err, w.file.Close())
	w.file = nil
	return err
}
