package checkpoint

import (
	"slices"
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Header is all that a file says beside the bytes of its tensors.
type Header struct {
	Format   Format
	Metadata []Entry   // in safetensors texts only
	Tensors  []*Tensor // in the order of their bytes
}

// Entry is a pair of metadata.
type Entry struct {
	Key   string
	Value Value
}

// Tensor is where a tensor lies in a file.
type Tensor struct {
	Name string
	Type Type
	Dims []int64 // outermost first, in both formats

	offset int64 // of its first byte, from the file's
	size   int64
	file   *File
}

// Size returns how many bytes it has; of one that was not read from a file 0.
func (t *Tensor) Size() int64 { return t.size }

// Offset returns where its first byte is in the file; of one that was not read from a file 0.
func (t *Tensor) Offset() int64 { return t.offset }

// Size returns how many bytes the tensors of a file have together.
func (h *Header) Size() int64 {
	var n int64
	for _, t := range h.Tensors {
		n += t.size
	}
	return n
}

// Lookup returns the tensor of a name, or nil.
func (h *Header) Lookup(name string) *Tensor {
	for _, t := range h.Tensors {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Value returns the metadata of a key.
func (h *Header) Value(key string) (Value, bool) {
	for _, e := range h.Metadata {
		if e.Key == key {
			return e.Value, true
		}
	}
	return Value{}, false
}

// maxRank of GGUF is ggml's.
const maxRankGGUF = 4

// check says what is wrong with a tensor by itself, and sets its size.
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
	size, err := h.Format.Size(t.Type, t.Dims)
	if err != nil {
		return h.invalid("tensor %s: %v", quote.Name(t.Name), err)
	}
	t.size = size
	return nil
}

// unique says which name two tensors have.
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

// place checks where the tensors lie: within the file's size, none over another. It puts them in
// the order of their bytes.
func (h *Header) place(size int64) error {
	slices.SortStableFunc(h.Tensors, func(a, b *Tensor) int {
		if a.offset != b.offset {
			return int(min(1, max(-1, a.offset-b.offset)))
		}
		return int(min(1, max(-1, a.size-b.size))) // empty ones first
	})
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

// end returns the first byte behind all tensors, or start if there is none.
func (h *Header) end(start int64) int64 {
	for _, t := range h.Tensors {
		start = max(start, t.offset+t.size)
	}
	return start
}

func (h *Header) invalid(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, h.Format.String(), format, args...)
}
