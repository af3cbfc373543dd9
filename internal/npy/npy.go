// Package npy reads the header of numpy array files (.npy, versions 1 to 3): the
// element type, the order and the shape. The elements follow it in the file.
package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/restride/restride/layout"
)

// maxHeader is the longest header that is read: numpy itself stops at 10,000
// bytes unless told otherwise.
const maxHeader = 1 << 16

// Header is a file's description of its array.
type Header struct {
	Type    layout.DType
	Fortran bool // the first axis is the fastest
	Shape   layout.Shape
}

// types are numpy's names, without byte order, of the types that both have.
var types = map[string]layout.DType{
	"b1": layout.Bool, "i1": layout.Int8, "i2": layout.Int16, "i4": layout.Int32, "i8": layout.Int64,
	"u1": layout.Uint8, "u2": layout.Uint16, "u4": layout.Uint32, "u8": layout.Uint64,
	"f2": layout.Float16, "f4": layout.Float32, "f8": layout.Float64, "c8": layout.Complex64, "c16": layout.Complex128,
}

func invalid(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, "npy", format, args...)
}

// ReadHeader reads a header and leaves r at the first element.
func ReadHeader(r io.Reader) (Header, error) {
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || string(start[:6]) != "\x93NUMPY" {
		return Header{}, invalid("this is no .npy file")
	}
	var length [4]byte
	n := 4
	switch start[6] {
	case 1:
		n = 2
	case 2, 3:
	default:
		return Header{}, layout.Errorf(layout.ErrUnsupported, "npy", "file format version %d; 1 to 3 are known", start[6])
	}
	if _, err := io.ReadFull(r, length[:n]); err != nil {
		return Header{}, invalid("the file ends before its header")
	}
	size := binary.LittleEndian.Uint32(length[:])
	if size > maxHeader {
		return Header{}, invalid("a header of %d bytes; at most %d", size, maxHeader)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, invalid("the file ends within its header")
	}
	p := parser{rest: string(text)}
	h := p.dict()
	return h, p.err
}

// parser reads the header's text, the literal of a Python dict. After the first
// error it reads nothing more.
type parser struct {
	rest string
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = invalid("header: "+format, args...)
	}
}

// take reads a token if it is next.
func (p *parser) take(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	rest, found := strings.CutPrefix(p.rest, token)
	if found && p.err == nil {
		p.rest = rest
	}
	return found && p.err == nil
}

func (p *parser) need(token string) {
	if !p.take(token) {
		p.fail("want %q at %.20q", token, p.rest)
	}
}

// dict reads the whole header: each of the three keys once, in any order.
func (p *parser) dict() Header {
	var h Header
	seen := map[string]bool{}
	p.need("{")
	for p.err == nil && !p.take("}") {
		key := p.text()
		p.need(":")
		switch key {
		case "descr":
			h.Type = p.dtype()
		case "fortran_order":
			h.Fortran = p.take("True")
			if !h.Fortran {
				p.need("False")
			}
		case "shape":
			h.Shape = p.tuple()
		default:
			p.fail("unknown key %.20q", key)
		}
		if seen[key] {
			p.fail("key %q is there twice", key)
		}
		seen[key] = true
		if !p.take(",") {
			p.need("}")
			break
		}
	}
	if p.take(""); p.rest != "" {
		p.fail("%.20q after its end", p.rest)
	}
	if len(seen) != 3 {
		p.fail("it needs descr, fortran_order and shape")
	}
	return h
}

// text reads a string without escapes, in either kind of quotes.
func (p *parser) text() string {
	quote := "'"
	if p.take(`"`) {
		quote = `"`
	} else {
		p.need(quote)
	}
	s, rest, closed := strings.Cut(p.rest, quote)
	if p.err == nil && !closed {
		p.fail("a string does not end")
	}
	if p.err != nil {
		return ""
	}
	p.rest = rest
	return s
}

func (p *parser) dtype() layout.DType {
	if p.take(""); strings.HasPrefix(p.rest, "[") {
		p.fail("arrays of records cannot be read")
	}
	name := p.text()
	t, ok := types[strings.TrimLeft(name, "<|")]
	if p.err == nil && !ok {
		p.err = layout.Errorf(layout.ErrUnsupported, "npy", "elements of numpy type %.20q%s", name, remedy(name))
	}
	return t
}

// remedy says how an array of a type that cannot be read is saved as one that can.
func remedy(name string) string {
	little := strings.TrimPrefix(name, ">")
	_, known := types[little]
	switch {
	case known && little != name:
		return ": they are big-endian; numpy turns them with x.astype(x.dtype.newbyteorder('<'))"
	case strings.HasPrefix(strings.TrimLeft(name, "<>|"), "V"):
		return ": bytes without a type, as numpy saves bfloat16, float8 and other types of ml_dtypes; save them as float32 or, bit by bit, as a view of uint8 or uint16"
	}
	return ""
}

// tuple reads a tuple of extents; one of length 1 ends in a comma.
func (p *parser) tuple() layout.Shape {
	shape := layout.Shape{}
	p.need("(")
	for p.err == nil && !p.take(")") {
		p.take("")
		digits := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		n, err := strconv.ParseInt(p.rest[:digits], 10, 64)
		if err != nil {
			p.fail("want an extent at %.20q", p.rest)
			break
		}
		p.rest = strings.TrimPrefix(p.rest[digits:], "L") // Python 2 wrote 3L
		shape = append(shape, n)
		if !p.take(",") {
			if len(shape) == 1 {
				p.fail("the shape is a number, not a tuple")
			}
			p.need(")")
			break
		}
	}
	return shape
}

// Read reads a file of the given length in bytes: its header and its elements, packed
// little-endian in the order of the file. Allocations are bounded by the length.
func Read(r io.Reader, length int64) (Header, []byte, error) {
	counted := &counter{r: r}
	h, err := ReadHeader(counted)
	if err != nil {
		return h, nil, err
	}
	size, err := h.Shape.Bytes(h.Type)
	if err != nil {
		return h, nil, err
	}
	if have := length - counted.n; have != size {
		return h, nil, invalid("%v%v takes %d bytes; the file has %d", h.Type, h.Shape, size, have)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return h, nil, fmt.Errorf("npy: %w", err)
	}
	if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 {
		return h, nil, invalid("the file has more than its %d bytes", length)
	} else if err != io.EOF {
		return h, nil, fmt.Errorf("npy: %w", err)
	}
	if h.Type == layout.Bool {
		for i, b := range data {
			if b > 1 {
				return h, nil, invalid("element %d of a bool array is %d, want 0 or 1", i, b)
			}
		}
	}
	return h, data, nil
}

// counter counts the bytes read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
