package jsontext

import "io"

// The sizes in bytes of the parts of a text that encoding/json decodes to maps, slices and
// texts: a map has places for eight members at least, a slice grows to twice its length.
const (
	objectMemory = 400
	arrayMemory  = 96
	memberMemory = 80
	valueMemory  = 64
	textMemory   = 16
)

// Charge reads a text and charges, on the way, the memory that the text needs once
// encoding/json has decoded it, and once it is written again with an indent of two spaces. An
// error of charge ends it.
func Charge(in io.Reader, charge func(bytes int64) error) error {
	r := NewReader(in, charge)
	for {
		k, err := r.Next()
		if err != nil || k == End {
			return err
		}
		n := int64(len(r.Bytes()))
		n += n/4 + textMemory
		indent := int64(2*r.Depth() + 2) // a line each
		switch k {
		case Object:
			n = objectMemory + indent
		case Array:
			n = arrayMemory + indent
		case Key:
			n += memberMemory + indent + n
		case Text, Number:
			n += valueMemory + indent + n
		case ObjectEnd, ArrayEnd:
			n = indent
		default:
			n = valueMemory + indent
		}
		if err := charge(n); err != nil {
			return err
		}
	}
}
