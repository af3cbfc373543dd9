// Package file opens the files that others name or write. A file to be read must be regular, or
// a link to a regular file: opening never waits, as on a pipe, and has no side effects, as it
// may on a device. It has at most the size that its reader allows, and is read up to the size
// that it had when it was opened: one that grows or shrinks meanwhile is refused.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/restride/restride/internal/quote"
)

// Error is an existing file that is refused.
type Error struct {
	Path string
	Msg  string // its kind or size, and the requirement
}

func (e *Error) Error() string { return quote.Path(e.Path) + " " + e.Msg }

// Create opens a file for writing, which need not be a regular one, like os.OpenFile with the
// flag. A pipe without a reader is an error, not a wait.
func Create(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag|nonblock, 0o666)
	return f, quote.Error(err)
}

// Write is os.WriteFile by Create.
func Write(path string, content []byte) error {
	f, err := Create(path, os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return quote.Error(errors.Join(err, f.Close()))
}

// File is a regular file that is open for reading. As a reader it returns Size bytes from the
// first on, and then ends; if there are fewer or more, the last Read is an *Error.
type File struct {
	Size int64
	file *os.File
	path string
	read int64
}

// Open opens a file of at most limit bytes. Errors of the system quote the path; an existing
// file that is refused is an *Error.
func Open(path string, limit int64) (*File, error) {
	return open(path, limit, os.Stat, os.OpenFile)
}

// OpenIn is Open for a path below a folder, despite links on the way.
func OpenIn(root *os.Root, path string, limit int64) (*File, error) {
	return open(path, limit, root.Stat, root.OpenFile)
}

// OpenFolder is os.OpenRoot that does not wait if path is a pipe.
func OpenFolder(path string) (*os.Root, error) {
	if path != "" {
		path += string(os.PathSeparator) + "." // which only a folder has
	}
	root, err := os.OpenRoot(path)
	return root, quote.Error(err)
}

func open(path string, limit int64, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*File, error) {
	// Opening a device may have side effects, so check first; another process may replace the
	// file meanwhile, so check again.
	info, err := stat(path)
	if e := new(fs.PathError); errors.As(err, &e) {
		err = &fs.PathError{Op: "open", Path: e.Path, Err: e.Err} // the check is an internal detail
	}
	if err == nil {
		err = check(path, info, limit)
	}
	if err != nil {
		return nil, quote.Error(err)
	}
	f, err := openFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, quote.Error(err)
	}
	if info, err = f.Stat(); err == nil {
		err = check(path, info, limit)
	}
	if err != nil {
		_ = f.Close()
		return nil, quote.Error(err)
	}
	return &File{Size: info.Size(), file: f, path: path}, nil
}

// check returns the reason why a file cannot be read.
func check(path string, info fs.FileInfo, limit int64) error {
	if !info.Mode().IsRegular() {
		return &Error{path, fmt.Sprintf("is %s, not a regular file", kind(info.Mode()))}
	}
	if info.Size() > limit {
		return &Error{path, fmt.Sprintf("has %d bytes; at most %d are read", info.Size(), limit)}
	}
	return nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	}
	return "something else"
}

// Read reads on, as io.Reader does.
func (f *File) Read(p []byte) (int, error) {
	left := f.Size - f.read
	if left == 0 {
		return 0, f.end()
	}
	n, err := f.file.Read(p[:min(int64(len(p)), left)])
	f.read += int64(n)
	if err == io.EOF {
		err = &Error{f.path, fmt.Sprintf("had %d bytes when it was opened, and ends after %d", f.Size, f.read)}
	}
	return n, quote.Error(err)
}

// end is io.EOF if the file has no more than its size.
func (f *File) end() error {
	switch n, err := f.file.Read(make([]byte, 1)); {
	case n > 0:
		return &Error{f.path, fmt.Sprintf("had %d bytes when it was opened, and has more", f.Size)}
	default:
		return quote.Error(err)
	}
}

// ReadAt reads anywhere in the file, like io.ReaderAt, and beyond Size the bytes that are there
// now.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(p, off)
	return n, quote.Error(err)
}

// Stat describes the file as it is now.
func (f *File) Stat() (fs.FileInfo, error) { return f.file.Stat() }

// Close closes it.
func (f *File) Close() error { return f.file.Close() }

// Content reads a file of at most limit bytes.
func Content(path string, limit int64) ([]byte, error) {
	f, err := Open(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Content()
}

// Content reads all of it.
func (f *File) Content() ([]byte, error) {
	b := make([]byte, f.Size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	if err := f.end(); err != io.EOF {
		return nil, err
	}
	return b, nil
}
