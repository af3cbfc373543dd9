package checkpoint

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

const (
	magicGGUF = "GGUF"
	// versionGGUF is the version written; version 2 is also read, and does not differ.
	versionGGUF = 3
	// alignmentKey is the metadata key for the alignment of the tensors' offsets.
	alignmentKey     = "general.alignment"
	defaultAlignment = 32
	maxAlignment     = 1 << 20
	// maxNameGGUF is ggml's limit for the names of tensors.
	maxNameGGUF = 63
	// maxNesting is the maximum nesting depth of arrays.
	maxNesting = 4
)

// readGGUF reads the header of a file of size bytes.
func (h *Header) readGGUF(r io.ReaderAt, size int64, charge func(int64) error) error {
	c := &cursor{h: h, r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16), left: size, charge: charge}
	c.take(int64(len(magicGGUF)))
	switch version := c.uint32(); {
	case c.err != nil:
		return c.err
	case version == 1:
		return layout.Errorf(layout.ErrUnsupported, h.Format.String(), "version 1 of the format; 2 and 3 are known")
	case version != 2 && version != versionGGUF:
		return layout.Errorf(layout.ErrUnsupported, h.Format.String(), "version %d of the format; 2 and 3 are known, in little-endian order", version)
	}
	tensors, entries := c.count("tensors", 8+4+4+8), c.count("entries of metadata", 8+4+1)
	keys := map[string]struct{}{}
	for range entries {
		c.pay(entryMemory)
		key := c.text("a key")
		t := valueType(c.uint32())
		if _, twice := keys[key]; c.err == nil && (twice || !valid(key)) {
			c.fail("the key %s is there twice, or none", quote.Name(key))
		}
		keys[key] = struct{}{}
		v := c.value(t, 0)
		if c.err != nil {
			return c.err
		}
		h.Metadata = append(h.Metadata, Entry{key, Value{t, string(v)}})
	}
	for range tensors {
		c.pay(tensorMemory + maxRankGGUF*axisMemory)
		t := &Tensor{Name: c.text("a tensor's name")}
		rank := c.uint32()
		if c.err == nil && rank > maxRankGGUF {
			c.fail("tensor %s has %d axes; at most %d", quote.Name(t.Name), rank, maxRankGGUF)
		}
		for range min(rank, maxRankGGUF) {
			t.Dims = append(t.Dims, c.int64("an extent"))
		}
		slices.Reverse(t.Dims)
		id := c.uint32()
		t.offset = c.int64("an offset")
		if c.err != nil {
			return c.err
		}
		t.Type = ggufType(id)
		if err := h.check(t); err != nil {
			return err
		}
		h.Tensors = append(h.Tensors, t)
	}
	if c.err != nil {
		return c.err
	}
	align, err := h.alignment()
	if err != nil {
		return err
	}
	start := roundUp(size-c.left, align)
	for _, t := range h.Tensors {
		if t.offset%align != 0 {
			return h.invalid("tensor %s begins at byte %d; that is no multiple of %d", quote.Name(t.Name), t.offset, align)
		}
		if t.offset > math.MaxInt64-start {
			return h.invalid("tensor %s begins at byte %d; the file has %d", quote.Name(t.Name), t.offset, size)
		}
		t.offset += start
	}
	if err := h.unique(); err != nil {
		return err
	}
	return h.place(size)
}

// ggufType returns the type with a number. A type that is not known has no blocks: its tensors
// reach to the next ones.
func ggufType(id uint32) Type {
	if int(id) < len(ggufTypes) && ggufTypes[id].Name != "" {
		return ggufTypes[id]
	}
	return Type{Name: fmt.Sprintf("type %d", id), id: id}
}

// alignment returns the alignment from the metadata.
func (h *Header) alignment() (int64, error) {
	v, ok := h.Value(alignmentKey)
	if !ok {
		return defaultAlignment, nil
	}
	n, ok := v.Int()
	if !ok || n <= 0 || n > maxAlignment || n&(n-1) != 0 {
		return 0, h.invalid("%s is %v; a power of two up to %d is wanted", alignmentKey, v, maxAlignment)
	}
	return n, nil
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// cursor reads a header. After the first error it stops reading.
type cursor struct {
	h      *Header
	r      *bufio.Reader
	left   int64 // bytes left in the file
	charge func(int64) error
	err    error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = c.h.invalid(format, args...)
	}
}

// pay charges memory before it is allocated.
func (c *cursor) pay(bytes int64) {
	if c.err == nil {
		c.err = c.charge(bytes)
	}
}

// take reads n bytes.
func (c *cursor) take(n int64) []byte {
	if c.err == nil && n > c.left {
		c.fail("the file ends within its header: %d bytes are wanted, %d are left", n, c.left)
	}
	if c.err == nil {
		c.err = c.charge(3*n + textMemory) // as bytes and as a text, and the text's overhead
	}
	if c.err != nil {
		return nil
	}
	b := make([]byte, n)
	if _, c.err = io.ReadFull(c.r, b); c.err != nil {
		return nil
	}
	c.left -= n
	return b
}

func (c *cursor) uint32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) int64(what string) int64 {
	b := c.take(8)
	if b == nil {
		return 0
	}
	n := int64(binary.LittleEndian.Uint64(b))
	if n < 0 {
		c.fail("%s is %d", what, uint64(n))
	}
	return n
}

// count reads the number of items that follow, each of at least the given bytes.
func (c *cursor) count(what string, bytes int64) int64 {
	n := c.int64("the number of " + what)
	if n > c.left/bytes {
		c.fail("%d %s in a file that has %d bytes more", n, what, c.left)
	}
	if c.err != nil {
		return 0
	}
	return n
}

func (c *cursor) text(what string) string { return string(c.take(c.int64("the length of " + what))) }

// value reads a value, and returns it in the file's encoding.
func (c *cursor) value(t valueType, depth int) []byte {
	if c.err == nil && int(t) >= len(valueTypes) {
		c.fail("metadata of type %d, which is not known", uint32(t))
	}
	if c.err != nil {
		return nil
	}
	switch {
	case valueTypes[t].bytes > 0:
		return c.take(valueTypes[t].bytes)
	case t == typeText:
		length := c.take(8)
		if c.err != nil {
			return nil
		}
		return append(length, c.take(int64(min(binary.LittleEndian.Uint64(length), math.MaxInt64)))...)
	}
	raw := c.take(4 + 8)
	if c.err != nil {
		return nil
	}
	of, n := valueType(binary.LittleEndian.Uint32(raw)), binary.LittleEndian.Uint64(raw[4:])
	least := int64(8) // a text's length
	if int(of) < len(valueTypes) && valueTypes[of].bytes > 0 {
		least = valueTypes[of].bytes
	}
	switch {
	case depth == maxNesting:
		c.fail("arrays of arrays, more than %d deep", maxNesting)
	case n > uint64(c.left/least):
		c.fail("an array of %d %v in a file that has %d bytes more", n, of, c.left)
	case int(of) < len(valueTypes) && valueTypes[of].bytes > 0:
		return append(raw, c.take(int64(n)*least)...)
	}
	for range n {
		if c.err != nil {
			return nil
		}
		raw = append(raw, c.value(of, depth+1)...)
	}
	return raw
}

// appendGGUF computes the tensors' offsets, and appends the header to b.
func (h *Header) appendGGUF(b []byte) ([]byte, error) {
	align, err := h.alignment()
	if err != nil {
		return nil, err
	}
	text := func(s string) {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	base := len(b)
	b = append(b, magicGGUF...)
	b = binary.LittleEndian.AppendUint32(b, versionGGUF)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(h.Tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(h.Metadata)))
	for _, e := range h.Metadata {
		if !valid(e.Key) {
			return nil, h.invalid("the key %s", quote.Name(e.Key))
		}
		text(e.Key)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.Value.typ))
		b = append(b, e.Value.raw...)
	}
	from := int64(0)
	for _, t := range h.Tensors {
		if len(t.Name) > maxNameGGUF {
			return nil, h.invalid("the name of tensor %s has %d bytes; llama.cpp reads names of at most %d", quote.Name(t.Name), len(t.Name), maxNameGGUF)
		}
		text(t.Name)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Dims)))
		for _, n := range slices.Backward(t.Dims) {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		b = binary.LittleEndian.AppendUint32(b, t.Type.id)
		b = binary.LittleEndian.AppendUint64(b, uint64(from))
		if t.size > math.MaxInt64-from-align-maxJSON {
			return nil, h.invalid("the file's size overflows int64")
		}
		t.offset, from = from, roundUp(from+t.size, align)
	}
	for int64(len(b)-base)%align != 0 {
		b = append(b, 0)
	}
	for _, t := range h.Tensors {
		t.offset += int64(len(b) - base)
	}
	return b, nil
}
