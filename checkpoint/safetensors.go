package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
)

const (
	// maxJSON is the maximum length of a header: the format's own limit.
	maxJSON = 100_000_000
	// metadataKey is the name of the metadata among the tensors.
	metadataKey = "__metadata__"
	// lengthBytes is the size of the header's length.
	lengthBytes = 8
)

// appendSafetensors computes the tensors' offsets, and appends the header to b.
func (h *Header) appendSafetensors(b []byte) ([]byte, error) {
	// The format's own writer does the same: wide elements first, so that all are aligned.
	slices.SortStableFunc(h.Tensors, func(a, b *Tensor) int { return cmp.Compare(b.Type.alignment(), a.Type.alignment()) })
	var text bytes.Buffer
	text.WriteByte('{')
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	write := func(v any) error {
		err := enc.Encode(v)
		text.Truncate(max(0, text.Len()-1)) // the newline
		return err
	}
	member := func(key string, v any) error {
		if text.Len() > 1 {
			text.WriteByte(',')
		}
		if err := write(key); err != nil {
			return err
		}
		text.WriteByte(':')
		return write(v)
	}
	if len(h.Metadata) > 0 {
		all := make(map[string]string, len(h.Metadata))
		for _, e := range h.Metadata {
			s, ok := e.Value.Text()
			if !ok {
				return nil, h.invalid("metadata %s is no text", quote.Name(e.Key))
			}
			if !utf8.ValidString(e.Key) || !utf8.ValidString(s) {
				return nil, h.invalid("metadata %s is not UTF-8", quote.Name(e.Key))
			}
			if _, twice := all[e.Key]; twice {
				return nil, h.invalid("%s has %s twice", metadataKey, quote.Name(e.Key))
			}
			all[e.Key] = s
		}
		if err := member(metadataKey, all); err != nil {
			return nil, err
		}
	}
	type info struct {
		Type    string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	from := int64(0)
	for _, t := range h.Tensors {
		if t.Name == metadataKey {
			return nil, h.invalid("no tensor can be named %s", metadataKey)
		}
		to := from + t.size
		if to < from {
			return nil, h.invalid("the file's size overflows int64")
		}
		if err := member(t.Name, info{t.Type.Name, append([]int64{}, t.Dims...), [2]int64{from, to}}); err != nil {
			return nil, err
		}
		t.offset, from = from, to
	}
	text.WriteByte('}')
	for text.Len()%lengthBytes != 0 {
		text.WriteByte(' ')
	}
	if text.Len() > maxJSON {
		return nil, h.invalid("a header of %d bytes; at most %d", text.Len(), maxJSON)
	}
	start := lengthBytes + int64(text.Len())
	for _, t := range h.Tensors {
		t.offset += start
	}
	return append(binary.LittleEndian.AppendUint64(b, uint64(text.Len())), text.Bytes()...), nil
}

// alignment is the recommended alignment of an element in bytes.
func (t Type) alignment() int64 {
	if t.Block > 1 {
		return 1
	}
	return t.BlockBytes
}
