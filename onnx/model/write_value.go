package model

import (
	"bufio"
	"bytes"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
)

// A Source supplies a tensor's elements that are not in a Tensor: they are read during
// writing. A *tensor.Tensor is one.
type Source interface {
	// WriteTo writes the content of Tensor.Data.
	io.WriterTo
	// Strings yields the content of Tensor.Strings; it may be called more than once.
	Strings() iter.Seq2[string, error]
}

// Marshal returns the bytes of a data file that holds the value.
func (v *Value) Marshal() ([]byte, error) {
	if v == nil {
		return nil, nilError("Value.Marshal", "value")
	}
	b, err := v.marshal()
	return b, named("Value.Marshal", within(err, "value %s", quote.Name(v.Name)))
}

func (v *Value) marshal() ([]byte, error) {
	size, err := v.size(0)
	if err != nil {
		return nil, err
	}
	room, err := budget.Make[byte](budget.Process(), "Marshal", size)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(room[:0])
	if err := v.write(b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// SaveValue writes a data file that holds the value, in pieces. An existing file is
// replaced atomically or left alone.
func SaveValue(path string, v *Value) error {
	if v == nil {
		return nilError("SaveValue", "value")
	}
	return named("SaveValue", within(v.save(path), "value %s", quote.Name(v.Name)))
}

func (v *Value) save(path string) error {
	if _, err := v.size(0); err != nil {
		return err
	}
	return replace(path, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		if err := v.write(b); err != nil {
			return err
		}
		return b.Flush()
	})
}

// A value is written in two passes, because a message's length precedes it: size checks it
// and adds up, write writes.

// size returns the encoded size of the value as a TensorProto, SequenceProto or
// OptionalProto.
func (v *Value) size(depth int) (int64, error) {
	if err := deeper(depth, "value"); err != nil {
		return 0, err
	}
	if err := checkNames("name", v.Name); err != nil {
		return 0, err
	}
	switch {
	case v.Kind == TensorType && v.Tensor != nil:
		f, err := v.tensorFile()
		return f.size(), err
	case v.Kind == OptionalType && len(v.Items) > 1:
		return 0, invalidf("an optional holds %d values", len(v.Items))
	case v.Kind != SequenceType && v.Kind != OptionalType:
		return 0, invalidf("a value of kind %v without a tensor cannot be written", v.Kind)
	}
	size := int64(len(v.head()))
	for i := range v.Items {
		item := &v.Items[i]
		if item.Kind != v.Items[0].Kind {
			return 0, invalidf("value %d is a %v and value 0 a %v", i, item.Kind, v.Items[0].Kind)
		}
		n, err := item.size(depth + 1)
		if err != nil {
			return 0, within(err, "value %d", i)
		}
		if size += int64(protowire.SizeTag(item.field())) + sizeBytes(n); size > maxFile {
			return 0, tooLarge(size)
		}
	}
	return size, nil
}

// write writes a value that size has checked.
func (v *Value) write(w io.Writer) error {
	if v.Kind == TensorType {
		f, err := v.tensorFile()
		if err != nil {
			return err
		}
		return f.write(w)
	}
	if _, err := w.Write(v.head()); err != nil {
		return err
	}
	for i := range v.Items {
		item := &v.Items[i]
		n, err := item.size(0)
		if err != nil {
			return err
		}
		if _, err := w.Write(appendPrefix(nil, item.field(), n)); err != nil {
			return err
		}
		if err := item.write(w); err != nil {
			return within(err, "value %d", i)
		}
	}
	return nil
}

// head returns the part of a SequenceProto or OptionalProto before its values: field 1 is
// its name, 2 the kind of the values.
func (v *Value) head() []byte {
	var b []byte
	if v.Name != "" {
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), v.Name)
	}
	elem := elemUndefined
	if len(v.Items) > 0 {
		elem = v.Items[0].elem()
	} else if v.Kind == SequenceType {
		elem = elemTensor // ONNX's own writer does so for an empty one
	}
	return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(elem))
}

// elem is the number of the value's kind in SequenceProto.elem_type and
// OptionalProto.elem_type.
func (v *Value) elem() int {
	switch v.Kind {
	case SequenceType:
		return elemSequence
	case OptionalType:
		return elemOptional
	}
	return elemTensor
}

// field is the number of the field that holds the value in both messages.
func (v *Value) field() protowire.Number { return protowire.Number(v.elem() + 2) }

// appendPrefix appends the prefix of a field of n bytes.
func appendPrefix(b []byte, field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(n))
}

// sizeBytes is the size of n bytes with their length prefix.
func sizeBytes(n int64) int64 { return int64(protowire.SizeVarint(uint64(n))) + n }
