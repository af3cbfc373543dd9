package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/restride/restride/internal/quote"
)

const (
	// maxJSON is the longest header: the format's own limit.
	maxJSON = 100_000_000
	// metadataKey holds the metadata among the tensors.
	metadataKey = "__metadata__"
	// lengthBytes come before the header.
	lengthBytes = 8
)

// readSafetensors reads the header of a file of size bytes.
func (h *Header) readSafetensors(r io.ReaderAt, size int64, charge func(int64) error) error {
	var length [lengthBytes]byte
	if size < lengthBytes {
		return h.invalid("a file of %d bytes", size)
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxJSON || int64(n) > size-lengthBytes {
		return h.invalid("a header of %d bytes in a file of %d; at most %d: this is no such file, or one that is cut off", n, size, maxJSON)
	}
	if err := charge(4 * int64(n)); err != nil { // text, names and tensors
		return err
	}
	start := lengthBytes + int64(n)
	d := json.NewDecoder(io.NewSectionReader(r, lengthBytes, int64(n)))
	if err := h.object(d, start); err != nil {
		return err
	}
	rest, err := io.ReadAll(io.MultiReader(d.Buffered(), io.NewSectionReader(r, lengthBytes+d.InputOffset(), int64(n)-d.InputOffset())))
	if err != nil {
		return err
	}
	if len(bytes.Trim(rest, " \t\r\n\x00")) > 0 {
		return h.invalid("text follows the header's object")
	}
	if err := h.place(size); err != nil {
		return err
	}
	end := start
	for _, t := range h.Tensors {
		if t.offset != end {
			return h.invalid("bytes %d to %d are no tensor's", end-start, t.offset-start)
		}
		end = t.offset + t.size
	}
	if end != size {
		return h.invalid("%d bytes follow the last tensor", size-end)
	}
	return nil
}

// object reads the header's object; tensors lie from start on.
func (h *Header) object(d *json.Decoder, start int64) error {
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return h.json(err, "the header is no object")
	}
	seen := false
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return h.json(err, "")
		}
		name, _ := token.(string) // keys are
		if name == metadataKey {
			if seen {
				return h.invalid("%s is there twice", metadataKey)
			}
			seen = true
			if err := h.metadata(d); err != nil {
				return err
			}
			continue
		}
		var info struct {
			Type    *string `json:"dtype"`
			Shape   []int64 `json:"shape"`
			Offsets []int64 `json:"data_offsets"`
		}
		if err := d.Decode(&info); err != nil {
			return h.json(err, "tensor "+quote.Name(name)+": ")
		}
		if info.Type == nil || info.Shape == nil || len(info.Offsets) != 2 {
			return h.invalid("tensor %s lacks dtype, shape or two data_offsets", quote.Name(name))
		}
		t := &Tensor{Name: name, Dims: info.Shape}
		if t.Type, err = Safetensors.Type(*info.Type); err != nil {
			return h.invalid("tensor %s: %v", quote.Name(name), err)
		}
		if err := h.check(t); err != nil {
			return err
		}
		from, to := info.Offsets[0], info.Offsets[1]
		if from < 0 || to < from || to-from != t.size {
			return h.invalid("tensor %s: data_offsets [%d,%d]; %v of %s have %d bytes", quote.Name(name), from, to, t.Dims, t.Type, t.size)
		}
		if t.offset = start + from; t.offset < start {
			return h.invalid("tensor %s: data_offsets [%d,%d] overflow int64", quote.Name(name), from, to)
		}
		h.Tensors = append(h.Tensors, t)
	}
	_, err := d.Token()
	return h.json(err, "")
}

// metadata reads an object of texts.
func (h *Header) metadata(d *json.Decoder) error {
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return h.json(err, metadataKey+" is no object")
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return h.json(err, metadataKey+": ")
		}
		key, _ := token.(string)
		var text *string
		if err := d.Decode(&text); err != nil || text == nil {
			return h.json(err, metadataKey+"."+quote.Name(key)+" is no text")
		}
		if seen[key] {
			return h.invalid("%s has %s twice", metadataKey, quote.Name(key))
		}
		seen[key] = true
		h.Metadata = append(h.Metadata, Entry{key, TextValue(*text)})
	}
	_, err := d.Token()
	return h.json(err, metadataKey+": ")
}

// json returns an error of the decoder's, which may quote the file; or one that has the
// text alone. Without either it is nil.
func (h *Header) json(err error, text string) error {
	syntax, value := new(json.SyntaxError), new(json.UnmarshalTypeError)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return h.invalid("%sthe header ends within its object", text)
	case errors.As(err, &syntax) || errors.As(err, &value):
		return h.invalid("%s%s", text, quote.Text(err.Error()))
	case err != nil:
		return err
	case text != "" && !strings.HasSuffix(text, " "):
		return h.invalid("%s", text)
	}
	return nil
}

// appendSafetensors gives the tensors their places, and appends the header to b.
func (h *Header) appendSafetensors(b []byte) ([]byte, error) {
	// As the format's own writer does: wide elements first, so that all are aligned.
	slices.SortStableFunc(h.Tensors, func(a, b *Tensor) int { return cmp.Compare(b.Type.alignment(), a.Type.alignment()) })
	var text bytes.Buffer
	text.WriteByte('{')
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	write := func(v any) error {
		err := enc.Encode(v)
		text.Truncate(max(0, text.Len()-1)) // the line's end
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

// alignment is what an element's address should be a multiple of, in bytes.
func (t Type) alignment() int64 {
	if t.Block > 1 {
		return 1
	}
	return t.BlockBytes
}
