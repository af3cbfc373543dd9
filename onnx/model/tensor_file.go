package model

import (
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/restride/restride/layout"
)

// A tensorFile is a TensorProto split into parts.
type tensorFile struct {
	head, tail []byte // the fields before and after the elements
	field      protowire.Number
	raw        int64 // bytes of the elements, or of all strings with their prefixes
	of         *Value
}

// Numbers of TensorProto's fields that hold elements.
const (
	fieldStringData = 6
	fieldRawData    = 9
)

// tensorFile splits a tensor into parts.
func (v *Value) tensorFile() (f tensorFile, err error) {
	t := v.Tensor
	count, err := t.checkHead()
	if err == nil && v.Source == nil {
		err = t.check()
	}
	if err != nil {
		return f, err
	}
	p, err := writer{}.tensorHead(t)
	if err != nil {
		return f, err
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return f, invalidf("protobuf: %s", plain(err))
	}
	f = tensorFile{head: b, of: v}
	switch {
	case t.External != nil:
	case t.Type == layout.String:
		f.field = fieldStringData
		if count > maxFile/2 { // each needs at least a tag and a length
			return f, tooLarge(count)
		}
		i := 0
		for s, err := range v.strings() {
			if err != nil {
				return f, err
			}
			if err := checkText(i, s); err != nil {
				return f, err
			}
			i++
			f.raw += int64(protowire.SizeTag(f.field)) + sizeBytes(int64(len(s)))
			if f.raw > maxFile {
				return f, tooLarge(f.raw)
			}
		}
	default:
		f.field = fieldRawData
		f.raw, err = t.Dims.Bytes(t.Type)
	}
	if err != nil || f.field == 0 {
		return f, err
	}
	at := 0
	for at < len(b) {
		num, _, n := protowire.ConsumeField(b[at:])
		if n < 0 || num > f.field {
			break
		}
		at += n
	}
	f.head, f.tail = b[:at], b[at:]
	if f.raw > maxFile || f.size() > maxFile {
		return f, tooLarge(f.raw)
	}
	return f, nil
}

// tooLarge is the error for a value of n bytes or more.
func tooLarge(n int64) error {
	return invalidf("%d bytes are more than protobuf allows in a file (%d)", n, maxFile)
}

func (f *tensorFile) size() int64 {
	n := int64(len(f.head)+len(f.tail)) + f.raw
	if f.field == fieldRawData {
		n += int64(len(appendPrefix(nil, f.field, f.raw)))
	}
	return n
}

// write writes the parts. The number of elements must not have changed.
func (f *tensorFile) write(w io.Writer) error {
	if _, err := w.Write(f.head); err != nil {
		return err
	}
	var n int64
	var err error
	switch f.field {
	case fieldRawData:
		if _, err := w.Write(appendPrefix(nil, f.field, f.raw)); err != nil {
			return err
		}
		n, err = f.of.writeData(w)
	case fieldStringData:
		n, err = f.of.writeStrings(w)
	}
	if err != nil {
		return err
	}
	if n != f.raw {
		return invalidf("the elements changed while they were written: they had %d bytes, and have %d", f.raw, n)
	}
	_, err = w.Write(f.tail)
	return err
}

func (v *Value) writeData(w io.Writer) (int64, error) {
	if v.Source != nil {
		return v.Source.WriteTo(w)
	}
	n, err := w.Write(v.Tensor.clearTail(v.Tensor.Data))
	return int64(n), err
}

func (v *Value) writeStrings(w io.Writer) (n int64, err error) {
	var room []byte
	for s, err := range v.strings() {
		if err != nil {
			return n, err
		}
		room = append(appendPrefix(room[:0], fieldStringData, int64(len(s))), s...)
		k, err := w.Write(room)
		if n += int64(k); err != nil {
			return n, err
		}
	}
	return n, nil
}

// strings yields the elements of a string tensor.
func (v *Value) strings() iter.Seq2[string, error] {
	if v.Source != nil {
		return v.Source.Strings()
	}
	return func(yield func(string, error) bool) {
		for _, s := range v.Tensor.Strings {
			if !yield(s, nil) {
				return
			}
		}
	}
}
