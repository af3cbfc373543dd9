package checkpoint

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"strconv"

	"github.com/restride/restride/internal/jsontext"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// readSafetensors reads the header of a file of size bytes. It refuses what the format's
// own reader refuses.
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
	p := &headerReader{Header: h, charge: charge, start: lengthBytes + int64(n)}
	p.json = jsontext.NewReader(io.NewSectionReader(r, lengthBytes, int64(n)), charge)
	if err := p.object(); err != nil {
		if e := new(jsontext.Error); errors.As(err, &e) {
			return h.invalid("%sthe header is not JSON: %s", p.in, e.Error())
		}
		return err
	}
	if err := h.unique(); err != nil { // the format's own reader drops the first, valid or not
		return err
	}
	for i, t := range h.Tensors {
		if err := p.locate(t, p.places[i]); err != nil {
			return err
		}
	}
	if err := h.place(size); err != nil {
		return err
	}
	end := p.start
	for _, t := range h.Tensors {
		if t.offset != end {
			return h.invalid("bytes %d to %d are no tensor's", end-p.start, t.offset-p.start)
		}
		end = t.offset + t.size
	}
	if end != size {
		return h.invalid("%d bytes follow the last tensor", size-end)
	}
	return nil
}

// headerReader reads the text of a header, one token at a time.
type headerReader struct {
	*Header
	json   *jsontext.Reader
	charge func(int64) error
	start  int64      // start of the tensors' bytes
	in     string     // the tensor being read, for errors
	places [][2]int64 // data_offsets of each tensor
}

// object reads the header's object.
func (h *headerReader) object() error {
	if k, err := h.json.Next(); err != nil || k != jsontext.Object {
		return h.or(err, "the header is %v; an object is wanted", k)
	}
	seen := false
	for {
		k, err := h.json.Next()
		if err != nil {
			return err
		}
		if k == jsontext.ObjectEnd {
			_, err := h.json.Next() // blanks only
			return err
		}
		switch {
		case string(h.json.Bytes()) != metadataKey:
			err = h.tensor()
		case seen:
			err = h.invalid("%s is there twice", metadataKey)
		default:
			seen, err = true, h.metadata()
		}
		if err != nil {
			return err
		}
	}
}

// or returns err if it is set, otherwise an error with the given text.
func (h *headerReader) or(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return h.invalid(h.in+format, args...)
}

// text returns the token as a string and charges its memory.
func (h *headerReader) text() (string, error) {
	b := h.json.Bytes()
	if err := h.charge(memoryOf(b)); err != nil {
		return "", err
	}
	return string(b), nil
}

// metadata reads an object of texts, or null.
func (h *headerReader) metadata() error {
	k, err := h.json.Next()
	if err != nil || k == jsontext.Null {
		return err
	}
	if k != jsontext.Object {
		return h.invalid("%s is %v; an object is wanted", metadataKey, k)
	}
	seen := map[string]struct{}{}
	for {
		if k, err := h.json.Next(); err != nil || k == jsontext.ObjectEnd {
			return err
		}
		if err := h.charge(entryMemory); err != nil {
			return err
		}
		key, err := h.text()
		if err != nil {
			return err
		}
		if _, twice := seen[key]; twice {
			return h.invalid("%s has %s twice", metadataKey, quote.Name(key))
		}
		seen[key] = struct{}{}
		if k, err := h.json.Next(); err != nil || k != jsontext.Text {
			return h.or(err, "%s.%s is %v; a text is wanted", metadataKey, quote.Name(key), k)
		}
		if err := h.charge(2 * memoryOf(h.json.Bytes())); err != nil { // read, then assembled
			return err
		}
		h.Metadata = append(h.Metadata, Entry{key, ValueOf(string(h.json.Bytes()))})
	}
}

// tensor reads a tensor, whose name is the last token.
func (h *headerReader) tensor() error {
	if err := h.charge(tensorMemory); err != nil {
		return err
	}
	name, err := h.text()
	if err != nil {
		return err
	}
	t := &Tensor{Name: name}
	h.in = "tensor " + quote.Name(name) + ": "
	if k, err := h.json.Next(); err != nil || k != jsontext.Object {
		return h.or(err, "%v; an object is wanted", k)
	}
	offsets, err := h.members(t)
	if err != nil {
		return err
	}
	h.Tensors, h.places, h.in = append(h.Tensors, t), append(h.places, [2]int64(offsets)), ""
	return nil
}

// locate sets a tensor's position from its data_offsets, whose difference must match its
// type and shape.
func (h *headerReader) locate(t *Tensor, offsets [2]int64) error {
	if err := h.checkZeros(t); err != nil {
		return err
	}
	if err := h.check(t); err != nil {
		return err
	}
	from, to := offsets[0], offsets[1]
	if to < from || to-from != t.size {
		return h.invalid("tensor %s: data_offsets [%d,%d]; %v of %s have %d bytes", quote.Name(t.Name), from, to, t.Dims, t.Type, t.size)
	}
	if t.offset = h.start + from; t.offset < h.start {
		return h.invalid("tensor %s: data_offsets [%d,%d] overflow int64", quote.Name(t.Name), from, to)
	}
	return nil
}

// members reads the members of a tensor: each of the three known ones once, and others.
func (h *headerReader) members(t *Tensor) (offsets []int64, err error) {
	const typ, shape, place = "dtype", "shape", "data_offsets"
	seen := map[string]bool{}
	for {
		k, err := h.json.Next()
		if err != nil {
			return nil, err
		}
		if k == jsontext.ObjectEnd {
			break
		}
		var which string
		switch b := h.json.Bytes(); string(b) {
		case typ, shape, place:
			which = string(b)
		default:
			if _, err = h.json.Next(); err == nil {
				err = h.json.Skip()
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if seen[which] {
			return nil, h.invalid("%s%s is there twice", h.in, which)
		}
		seen[which] = true
		switch which {
		case typ:
			t.Type, err = h.typ()
		case shape:
			t.Dims, err = h.integers(layout.MaxRank, "axes")
			if err == nil {
				err = h.charge(int64(len(t.Dims)) * axisMemory)
			}
		case place:
			offsets, err = h.integers(2, place)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(seen) < 3 || len(offsets) != 2 {
		return nil, h.invalid("%sit lacks %s, %s or two %s", h.in, typ, shape, place)
	}
	return offsets, nil
}

// typ reads the name of a type.
func (h *headerReader) typ() (t Type, err error) {
	if k, err := h.json.Next(); err != nil || k != jsontext.Text {
		return t, h.or(err, "dtype is %v; a text is wanted", k)
	}
	if t, err = Safetensors.Type(string(h.json.Bytes())); err != nil {
		err = h.invalid("%s%v", h.in, err)
	}
	return t, err
}

// integers reads an array of at most the given number of integers; what names them in
// errors.
func (h *headerReader) integers(most int, what string) ([]int64, error) {
	if k, err := h.json.Next(); err != nil || k != jsontext.Array {
		return nil, h.or(err, "%v; an array of integers is wanted", k)
	}
	all := make([]int64, 0, 4)
	for {
		k, err := h.json.Next()
		if err != nil {
			return nil, err
		}
		if k == jsontext.ArrayEnd {
			return all, nil
		}
		if k != jsontext.Number {
			return nil, h.invalid("%s%v in an array of integers", h.in, k)
		}
		if len(all) == most {
			return nil, h.invalid("%smore than %d %s", h.in, most, what)
		}
		b := h.json.Bytes()
		n, err := strconv.ParseUint(string(b[:min(len(b), maxDigits)]), 10, 63)
		if err != nil || len(b) > maxDigits {
			return nil, h.invalid("%s%.30s is not an integer from 0 to 9223372036854775807", h.in, b)
		}
		all = append(all, int64(n))
	}
}

// maxDigits is the number of digits of the largest int64.
const maxDigits = 19

// checkZeros refuses a shape if the product of the extents before its first 0 overflows:
// the format's own reader multiplies them in order.
func (h *headerReader) checkZeros(t *Tensor) error {
	n := uint64(1)
	for _, extent := range t.Dims {
		var hi uint64
		if hi, n = bits.Mul64(n, uint64(extent)); hi != 0 {
			return h.invalid("tensor %s: the extents %v overflow", quote.Name(t.Name), layout.Shape(t.Dims))
		}
	}
	return nil
}
