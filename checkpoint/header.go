package checkpoint

import (
	"slices"
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Header is the contents of a file except the bytes of its tensors.
type Header struct {
	Format   Format
	Metadata []Entry   // in safetensors, texts only
	Tensors  []*Tensor // in the order of their bytes
}

// Entry is one key and value of the metadata.
type Entry struct {
	Key   string
	Value Value
}

// Tensor locates a tensor in a file.
type Tensor struct {
	Name string
	Type Type
	Dims []int64 // outermost first, in both formats

	offset int64 // of its first byte, from the start of the file
	size   int64
	file   *File
}

// Size returns the number of bytes; 0 for a tensor that was not read from a file.
func (t *Tensor) Size() int64 { return t.size }

// Offset returns the position of the first byte in the file; 0 for a tensor that was not
// read from a file.
func (t *Tensor) Offset() int64 { return t.offset }

// Size returns the total number of bytes of the tensors.
func (h *Header) Size() int64 {
	var n int64
	for _, t := range h.Tensors {
		n += t.size
	}
	return n
}

// Lookup returns the named tensor, or nil.
func (h *Header) Lookup(name string) *Tensor {
	for _, t := range h.Tensors {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Value returns the metadata for a key.
func (h *Header) Value(key string) (Value, bool) {
	for _, e := range h.Metadata {
		if e.Key == key {
			return e.Value, true
		}
	}
	return Value{}, false
}

// maxRankGGUF is ggml's limit.
const maxRankGGUF = 4

// check checks a tensor on its own, and sets its size.
func (h *Header) check(t *Tensor) error {
	if !utf8.ValidString(t.Name) {
		return h.invalid("the name of a tensor, %s, is no UTF-8", quote.Name(t.Name))
	}
	limit := layout.MaxRank
	if h.Format == GGUF {
		limit = maxRankGGUF
	}
	if len(t.Dims) > limit {
		return h.invalid("tensor %s has %d axes; at most %d", quote.Name(t.Name), len(t.Dims), limit)
	}
	if t.Type.unknown() {
		return nil // its size is known from where it is
	}
	size, err := h.Format.Size(t.Type, t.Dims)
	if err != nil {
		return h.invalid("tensor %s: %v", quote.Name(t.Name), err)
	}
	t.size = size
	return nil
}

// unique refuses tensors with the same name.
func (h *Header) unique() error {
	names := make(map[string]struct{}, len(h.Tensors))
	for _, t := range h.Tensors {
		if _, twice := names[t.Name]; twice {
			return h.invalid("two tensors are named %s", quote.Name(t.Name))
		}
		names[t.Name] = struct{}{}
	}
	return nil
}

// place checks the tensors' positions: inside the file, without overlaps. It sorts them by
// position.
func (h *Header) place(size int64) error {
	slices.SortStableFunc(h.Tensors, func(a, b *Tensor) int {
		if a.offset != b.offset {
			return int(min(1, max(-1, a.offset-b.offset)))
		}
		return int(min(1, max(-1, a.size-b.size))) // empty ones first
	})
	for i, t := range h.Tensors {
		if !t.Type.unknown() {
			continue
		}
		next := size
		if i+1 < len(h.Tensors) {
			next = h.Tensors[i+1].offset
		}
		t.size = max(0, next-t.offset)
	}
	end := int64(0)
	for i, t := range h.Tensors {
		if t.offset < end {
			return h.invalid("tensors %s and %s overlap", quote.Name(h.Tensors[i-1].Name), quote.Name(t.Name))
		}
		if t.size > size-t.offset {
			return h.invalid("tensor %s ends at byte %d; the file has %d", quote.Name(t.Name), uint64(t.offset)+uint64(t.size), size)
		}
		end = t.offset + t.size
	}
	return nil
}

// end returns the end of the last tensor, or start if there is none.
func (h *Header) end(start int64) int64 {
	for _, t := range h.Tensors {
		start = max(start, t.offset+t.size)
	}
	return start
}

func (h *Header) invalid(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, h.Format.String(), format, args...)
}
