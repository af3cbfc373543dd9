package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
)

// ValueType is the type of a metadata value, with GGUF's numbers.
type ValueType uint32

// The types of values.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	Text
	Array
	Uint64
	Int64
	Float64
)

// valueTypes has each type's name and its bytes; 0: they differ.
var valueTypes = [...]struct {
	name  string
	bytes int64
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2}, Uint32: {"uint32", 4}, Int32: {"int32", 4},
	Float32: {"float32", 4}, Bool: {"bool", 1}, Text: {"text", 0}, Array: {"array", 0}, Uint64: {"uint64", 8}, Int64: {"int64", 8}, Float64: {"float64", 8},
}

func (t ValueType) String() string {
	if int(t) < len(valueTypes) {
		return valueTypes[t].name
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}

// Value is a value of metadata. It is kept as GGUF writes it, so that it comes out of a
// file as it went in.
type Value struct {
	Type ValueType
	raw  string
}

// TextValue returns a text.
func TextValue(s string) Value {
	return Value{Text, string(binary.LittleEndian.AppendUint64(nil, uint64(len(s)))) + s}
}

// Uint32Value returns a number.
func Uint32Value(v uint32) Value {
	return Value{Uint32, string(binary.LittleEndian.AppendUint32(nil, v))}
}

// Uint16Value returns a number.
func Uint16Value(v uint16) Value {
	return Value{Uint16, string(binary.LittleEndian.AppendUint16(nil, v))}
}

// Int32Value returns a number.
func Int32Value(v int32) Value {
	return Value{Int32, string(binary.LittleEndian.AppendUint32(nil, uint32(v)))}
}

// Text returns the text that a value of type Text is.
func (v Value) Text() (string, bool) {
	if v.Type != Text || len(v.raw) < 8 {
		return "", false
	}
	return v.raw[8:], true
}

// Int returns a value of an integer type.
func (v Value) Int() (int64, bool) {
	if v.Type == Float32 || v.Type == Float64 || v.Type == Bool || v.Type == Text || v.Type == Array {
		return 0, false
	}
	var b [8]byte
	n := copy(b[:], v.raw)
	u := binary.LittleEndian.Uint64(b[:])
	switch v.Type {
	case Int8, Int16, Int32:
		shift := 64 - 8*n
		return int64(u) << shift >> shift, true
	case Uint64:
		return int64(u), int64(u) >= 0
	}
	return int64(u), n > 0
}

// Array returns the type of an array's elements and how many there are.
func (v Value) Array() (elements ValueType, n int64, ok bool) {
	if v.Type != Array || len(v.raw) < 12 {
		return 0, 0, false
	}
	return ValueType(binary.LittleEndian.Uint32([]byte(v.raw[:4]))), int64(binary.LittleEndian.Uint64([]byte(v.raw[4:12]))), true
}

// shown is how many characters of a text String writes.
const shown = 60

// String shows the value: of arrays, type and length; of long texts, the beginning.
func (v Value) String() string {
	var b [8]byte
	copy(b[:], v.raw)
	u := binary.LittleEndian.Uint64(b[:])
	switch v.Type {
	case Text:
		s, _ := v.Text()
		return quote.Name(s[:min(len(s), 4*shown)])
	case Array:
		t, n, _ := v.Array()
		return fmt.Sprintf("%d of %v", n, t)
	case Bool:
		return strconv.FormatBool(u != 0)
	case Float32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(u))), 'g', -1, 32)
	case Float64:
		return strconv.FormatFloat(math.Float64frombits(u), 'g', -1, 64)
	case Uint64:
		return strconv.FormatUint(u, 10)
	}
	n, _ := v.Int()
	return strconv.FormatInt(n, 10)
}

// valid says whether a text is UTF-8 without control characters that no name has.
func valid(key string) bool {
	return key != "" && utf8.ValidString(key) && !strings.ContainsRune(key, 0)
}
