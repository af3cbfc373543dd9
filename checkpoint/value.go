package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
)

// valueType is the type of a metadata value, with GGUF's numbers.
type valueType uint32

const (
	typeUint8 valueType = iota
	typeInt8
	typeUint16
	typeInt16
	typeUint32
	typeInt32
	typeFloat32
	typeBool
	typeText
	typeArray
	typeUint64
	typeInt64
	typeFloat64
)

// valueTypes has each type's name and size in bytes; 0: the size varies.
var valueTypes = [...]struct {
	name  string
	bytes int64
}{
	typeUint8: {"uint8", 1}, typeInt8: {"int8", 1}, typeUint16: {"uint16", 2}, typeInt16: {"int16", 2}, typeUint32: {"uint32", 4}, typeInt32: {"int32", 4},
	typeFloat32: {"float32", 4}, typeBool: {"bool", 1}, typeText: {"text", 0}, typeArray: {"array", 0}, typeUint64: {"uint64", 8}, typeInt64: {"int64", 8}, typeFloat64: {"float64", 8},
}

func (t valueType) String() string {
	if int(t) < len(valueTypes) {
		return valueTypes[t].name
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}

// Value is a metadata value. It is stored in GGUF's encoding, so that it is written exactly
// as it was read.
type Value struct {
	typ valueType
	raw string
}

// ValueOf returns the value of a text, a number or a bool; T determines its GGUF type.
func ValueOf[T string | bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](x T) Value {
	if s, ok := any(x).(string); ok {
		return Value{typeText, string(binary.LittleEndian.AppendUint64(nil, uint64(len(s)))) + s}
	}
	raw, _ := binary.Append(nil, binary.LittleEndian, x) // never fails for these types
	name := reflect.TypeFor[T]().Name()
	for t, of := range valueTypes {
		if of.name == name {
			return Value{valueType(t), string(raw)}
		}
	}
	panic("checkpoint: a type without a number: " + name)
}

// Text returns the text if the value is one.
func (v Value) Text() (string, bool) {
	if v.typ != typeText || len(v.raw) < 8 {
		return "", false
	}
	return v.raw[8:], true
}

// Int returns the integer if the value is one.
func (v Value) Int() (int64, bool) {
	if v.typ == typeFloat32 || v.typ == typeFloat64 || v.typ == typeBool || v.typ == typeText || v.typ == typeArray {
		return 0, false
	}
	var b [8]byte
	n := copy(b[:], v.raw)
	u := binary.LittleEndian.Uint64(b[:])
	switch v.typ {
	case typeInt8, typeInt16, typeInt32:
		shift := 64 - 8*n
		return int64(u) << shift >> shift, true
	case typeUint64:
		return int64(u), int64(u) >= 0
	}
	return int64(u), n > 0
}

// array returns the type and number of an array's elements.
func (v Value) array() (elements valueType, n int64, ok bool) {
	if v.typ != typeArray || len(v.raw) < 12 {
		return 0, 0, false
	}
	return valueType(binary.LittleEndian.Uint32([]byte(v.raw[:4]))), int64(binary.LittleEndian.Uint64([]byte(v.raw[4:12]))), true
}

// shown is the maximum number of characters of a text that String returns.
const shown = 60

// String formats the value: type and length for arrays, the beginning for long texts.
func (v Value) String() string {
	var b [8]byte
	copy(b[:], v.raw)
	u := binary.LittleEndian.Uint64(b[:])
	switch v.typ {
	case typeText:
		s, _ := v.Text()
		return quote.Name(s[:min(len(s), 4*shown)])
	case typeArray:
		t, n, _ := v.array()
		return fmt.Sprintf("%d of %v", n, t)
	case typeBool:
		return strconv.FormatBool(u != 0)
	case typeFloat32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(u))), 'g', -1, 32)
	case typeFloat64:
		return strconv.FormatFloat(math.Float64frombits(u), 'g', -1, 64)
	case typeUint64:
		return strconv.FormatUint(u, 10)
	}
	n, _ := v.Int()
	return strconv.FormatInt(n, 10)
}

// valid reports whether a key is not empty, is UTF-8 and has no NUL.
func valid(key string) bool {
	return key != "" && utf8.ValidString(key) && !strings.ContainsRune(key, 0)
}
