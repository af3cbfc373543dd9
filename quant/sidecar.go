package quant

import (
	"encoding/binary"
	"io"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// sidecar holds properties of a weight from small tensors beside the codes. The zero value
// means that there are none, or that their content is not available.
type sidecar struct {
	Numbers  string // type of the numbers that codes represent, named as in checkpoints
	Rows     int64  // of codes, if reshaped from the matrix; excess rows are padding
	Outputs  int64  // of the matrix, if Rows is not 0
	ByColumn bool   // scales and zero points belong to columns of codes
	Nested   bool   // scales are themselves codes, and nestedBlock of them share a scale
}

// mostSaid is the maximum number of bytes read from a tensor to open a weight.
const mostSaid = 1 << 16

// numberTypes maps PyTorch's names of numeric types.
var numberTypes = map[string]string{"float16": "F16", "bfloat16": "BF16", "float32": "F32"}

// sayings reads the small tensors of a weight.
type sayings struct {
	weight *Weight
	lookup func(string) (Tensor, bool)
	err    error // the first one
}

// find returns a tensor of the weight whose content is available.
func (s *sayings) find(suffix string) (t Tensor, ok bool) {
	t, ok = s.lookup(joined(s.weight.Name, suffix))
	return t, ok && t.Content != nil
}

// take marks tensors as the weight's, without reading them.
func (s *sayings) take(suffixes ...string) {
	for _, suffix := range suffixes {
		if t, ok := s.lookup(joined(s.weight.Name, suffix)); ok {
			s.weight.Sidecars = append(s.weight.Sidecars, t)
		}
	}
}

// read returns a tensor's bytes.
func (s *sayings) read(suffix string, types ...string) (b []byte, t Tensor) {
	t, ok := s.find(suffix)
	if s.err != nil {
		return nil, t
	}
	if !ok {
		s.refuse("there is no tensor %s", quote.Name(joined(s.weight.Name, suffix)))
		return nil, t
	}
	s.take(suffix)
	n := int64(-1)
	for _, name := range types {
		if kind, err := checkpoint.Safetensors.Type(name); err == nil && name == t.Type {
			n, err = checkpoint.Safetensors.Size(kind, t.Dims)
			if err != nil {
				n = -1
			}
		}
	}
	if n < 0 || n > mostSaid {
		s.refuse("tensor %s of type %s and shape %v; one of %v of at most %d bytes is wanted", quote.Name(t.Name), t.Type, layout.Shape(t.Dims), types, mostSaid)
		return nil, t
	}
	b = make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(t.Content, 0, n), b); err != nil {
		s.err = layout.Named(quote.Name(t.Name), err)
		return nil, t
	}
	return b, t
}

// refuse records an error.
func (s *sayings) refuse(format string, args ...any) {
	if s.err == nil {
		s.err = layout.Errorf(layout.ErrInvalid, s.weight.Format.Name, format, args...)
	}
}

// text returns a tensor of bytes as text.
func (s *sayings) text(suffix string) string {
	b, _ := s.read(suffix, "U8")
	return string(b)
}

// integers returns a tensor's numbers.
func (s *sayings) integers(suffix string) (all []int64) {
	b, t := s.read(suffix, "U8", "I32", "I64")
	for size := map[string]int{"U8": 1, "I32": 4, "I64": 8}[t.Type]; len(b) > 0; b = b[size:] {
		var wide [8]byte
		copy(wide[:], b[:size])
		n := int64(binary.LittleEndian.Uint64(wide[:]))
		if size == 4 {
			n = int64(int32(n))
		}
		all = append(all, n)
	}
	return all
}

// integer returns a tensor's single number.
func (s *sayings) integer(suffix string) int64 {
	all := s.integers(suffix)
	if len(all) != 1 {
		s.refuse("tensor %s has %d numbers; one is wanted", quote.Name(joined(s.weight.Name, suffix)), len(all))
		return 0
	}
	return all[0]
}

// matrix refuses a shape that is not a matrix's.
func (s *sayings) matrix(dims []int64) (n, k int64) {
	if len(dims) != 2 || min(dims[0], dims[1]) < 1 || max(dims[0], dims[1]) > 1<<31 {
		s.refuse("%s is of shape %v; a matrix is wanted", quote.Name(s.weight.Name), layout.Shape(dims))
		return 1, 1
	}
	return dims[0], dims[1]
}
