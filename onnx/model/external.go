package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// External locates a tensor's elements in a file.
//
// The file must be in the model's folder or below. A path that is absolute or that leads
// out of the folder, through ".." or a symbolic link, is refused, so that a model cannot
// make a program read other files. In a hub's cache, links may lead anywhere below the
// folder that holds its blobs and snapshots. A checksum in the file is ignored.
type External struct {
	// Dir is the folder of the model; "" if the tensor has none.
	Dir string
	// Path is relative to Dir, with slashes.
	Path string
	// Offset is the start of the elements, and Length is their size in bytes. A Length of
	// -1 means the tensor's size; the file may be longer.
	Offset, Length int64
}

// external reads the key-value pairs that describe external data.
func (r reader) external(entries []*onnxpb.StringStringEntryProto) (*External, error) {
	x := &External{Dir: r.dir, Length: -1}
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		key, value := e.GetKey(), e.GetValue()
		if seen[key] {
			return nil, invalidf("external data: key %s is given twice", quote.Name(key))
		}
		seen[key] = true
		var err error
		switch key {
		case "location":
			x.Path = value
		case "offset":
			x.Offset, err = parseBytes(value)
		case "length":
			x.Length, err = parseBytes(value)
		}
		if err != nil {
			return nil, within(err, "external data: %s", key)
		}
	}
	return x, nil
}

func parseBytes(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, invalidf("%s is not a number of bytes", quote.Name(s))
	}
	return int64(n), nil
}

// check checks that x can describe the size bytes of t; the file itself is checked when it
// is opened.
func (x *External) check(t *Tensor, size int64) error {
	switch {
	case x.Path == "":
		return invalidf("external data has no location")
	case !filepath.IsLocal(filepath.FromSlash(x.Path)):
		return invalidf("external data at %s is not inside the model's folder", quote.Name(x.Path))
	case x.Offset < 0 || x.Length < -1:
		return invalidf("external data at offset %d with length %d", x.Offset, x.Length)
	case x.Length >= 0 && x.Length != size:
		return invalidf("external data has %d bytes, and %v%v takes %d", x.Length, t.Type, t.Dims, size)
	case x.Offset+size < 0:
		return invalidf("external data at offset %d with %d bytes ends beyond any file", x.Offset, size)
	}
	return checkNames("external data", x.Path)
}

// A Reader reads the bytes of a tensor, from memory or from an external file, in any order
// and in pieces of any size. It holds only those pieces in memory. The bytes are as in
// Tensor.Data.
type Reader struct {
	tensor Tensor
	file   *file.File // nil: the bytes are in tensor.Data
	size   int64
}

// Open returns a Reader of the tensor's bytes; close it after use. For external data it
// opens the file and checks that it has all bytes. Strings have no bytes:
// layout.ErrUnsupported.
func (t *Tensor) Open() (*Reader, error) {
	if t == nil {
		return nil, nilError("Tensor.Open", "tensor")
	}
	r, err := t.open()
	return r, named("Tensor.Open", within(err, "tensor %s", quote.Name(t.Name)))
}

func (t *Tensor) open() (*Reader, error) {
	if t.Type == layout.String {
		return nil, unsupportedf("strings have no bytes of fixed width")
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	size, err := t.Dims.Bytes(t.Type)
	if err != nil {
		return nil, err
	}
	r := &Reader{tensor: *t, size: size}
	if x := t.External; x != nil {
		if r.file, err = x.open(size); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// open opens the file, inside the model's folder whatever links are on the way, and checks
// that it has the size bytes.
func (x *External) open(size int64) (*file.File, error) {
	if x.Dir == "" {
		return nil, invalidf("external data at %s: the tensor was read without a folder", quote.Name(x.Path))
	}
	where := "external data at " + quote.Name(x.Path)
	f, err := openConfined(x.Dir, x.Path, math.MaxInt64)
	if e := new(file.Error); errors.As(err, &e) {
		return nil, invalidf("%s %s", where, e.Msg)
	}
	if err != nil && escapes(err) {
		return nil, invalidf("%s is a link, or lies behind one, that leads out of the model's folder (of a hub's cache: out of the folder of its blobs and snapshots)", where)
	}
	if err != nil {
		return nil, &fileError{where, causeOf(err)}
	}
	has := max(f.Size-x.Offset, 0)
	if has < size {
		f.Close()
		return nil, invalidf("%s: the file has %d bytes from offset %d on, want %d", where, has, x.Offset, size)
	}
	return f, nil
}

// Size returns the number of bytes.
func (r *Reader) Size() int64 { return r.size }

// ReadAt reads len(p) bytes from offset off, with the rules of io.ReaderAt.
// io.NewSectionReader(r, 0, r.Size()) reads them in order.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if r == nil {
		return 0, nilError("Reader.ReadAt", "reader")
	}
	n, err := r.readAt(p, off)
	if err != nil && err != io.EOF {
		err = named("Reader.ReadAt", within(err, "tensor %s", quote.Name(r.tensor.Name)))
	}
	return n, err
}

func (r *Reader) readAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, invalidf("offset %d is negative", off)
	}
	if off >= r.size {
		return 0, io.EOF
	}
	short := r.size-off < int64(len(p))
	if short {
		p = p[:r.size-off]
	}
	if r.file == nil {
		copy(p, r.tensor.Data[off:])
	} else if n, err := r.readFile(p, off); err != nil {
		return n, err
	}
	if len(p) > 0 && off+int64(len(p)) == r.size {
		p[len(p)-1] &= r.tensor.tailMask()
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

func (r *Reader) readFile(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, r.tensor.External.Offset+off)
	if n < len(p) {
		if errors.Is(err, io.EOF) { // the file was long enough when it was opened
			err = io.ErrUnexpectedEOF
		}
		return n, &fileError{fmt.Sprintf("external data at %s", quote.Name(r.tensor.External.Path)), causeOf(err)}
	}
	if r.tensor.Type == layout.Bool {
		return n, checkBools(p, off)
	}
	return n, nil
}

// Close closes the file, if there is one.
func (r *Reader) Close() error {
	if r == nil {
		return nilError("Reader.Close", "reader")
	}
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Bytes returns all of the tensor's bytes: Data itself, or the content of the external
// file.
func (t *Tensor) Bytes() ([]byte, error) {
	if t == nil {
		return nil, nilError("Tensor.Bytes", "tensor")
	}
	b, err := t.bytes()
	return b, named("Tensor.Bytes", within(err, "tensor %s", quote.Name(t.Name)))
}

func (t *Tensor) bytes() ([]byte, error) {
	r, err := t.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.file == nil {
		return t.clearTail(t.Data), nil
	}
	b, err := budget.Make[byte](budget.Process(), "Bytes", r.size)
	if err != nil {
		return nil, err
	}
	if _, err := r.readAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}
