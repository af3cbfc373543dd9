package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
)

// arrayOf is the prefix of an array's type name, as JSON returns it.
const arrayOf = "array of "

// JSON returns the value as JSON, from which ValueFromJSON restores it, and the name of its
// type, such as "array of uint32". Floats that JSON cannot represent are texts: "NaN",
// "+Inf", "-Inf". ok is false if the text would exceed limit bytes, for texts that are not
// UTF-8 and for arrays of arrays.
func (v Value) JSON(limit int) (text, typ string, ok bool) {
	var b []byte
	if v.typ != typeArray {
		b, _, ok = appendJSON(nil, v.typ, v.raw)
		return string(b), v.typ.String(), ok && len(b) <= limit
	}
	t, n, ok := v.array()
	if !ok || t == typeArray || int(t) >= len(valueTypes) {
		return "", "", false
	}
	raw := v.raw[12:]
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if b, raw, ok = appendJSON(b, t, raw); !ok || len(b) >= limit {
			return "", "", false
		}
	}
	b = append(b, ']')
	return string(b), arrayOf + t.String(), len(b) <= limit
}

// appendJSON appends the value of type t at the start of raw, and returns the rest.
func appendJSON(b []byte, t valueType, raw string) (_ []byte, rest string, ok bool) {
	size := int(valueTypes[t].bytes)
	if t == typeText {
		if len(raw) < 8 {
			return b, "", false
		}
		n := binary.LittleEndian.Uint64([]byte(raw[:8]))
		if raw = raw[8:]; n > uint64(len(raw)) || !utf8.ValidString(raw[:n]) {
			return b, "", false
		}
		size = int(n)
	}
	if len(raw) < size {
		return b, "", false
	}
	raw, rest = raw[:size], raw[size:]
	if t == typeText {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		err := enc.Encode(raw)
		return append(b, bytes.TrimSpace(out.Bytes())...), rest, err == nil
	}
	s := Value{t, raw}.String()
	if s == "NaN" || strings.HasSuffix(s, "Inf") {
		s = strconv.Quote(s)
	}
	return append(b, s...), rest, true
}

// ValueFromJSON returns the value of a named type from the text that Value.JSON wrote.
func ValueFromJSON(typ, text string) (Value, error) {
	element, isArray := strings.CutPrefix(typ, arrayOf)
	t := valueType(slices.IndexFunc(valueTypes[:], func(have struct {
		name  string
		bytes int64
	}) bool {
		return have.name == element
	}))
	if int(t) >= len(valueTypes) || t == typeArray {
		return Value{}, fmt.Errorf("the type %s is not known", quote.Name(typ))
	}
	if !isArray {
		b, err := appendValue(nil, t, []byte(text))
		return Value{t, string(b)}, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return Value{}, err
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(t))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(all)))
	for _, one := range all {
		var err error
		if b, err = appendValue(b, t, one); err != nil {
			return Value{}, err
		}
	}
	return Value{typeArray, string(b)}, nil
}

// appendValue appends a JSON value in GGUF's encoding.
func appendValue(b []byte, t valueType, text []byte) ([]byte, error) {
	u, size := uint64(0), int(valueTypes[t].bytes)
	s, err := string(text), error(nil)
	switch t {
	case typeText:
		if err = json.Unmarshal(text, &s); err != nil {
			return nil, err
		}
		return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...), nil
	case typeBool:
		var is bool
		if err = json.Unmarshal(text, &is); is {
			u = 1
		}
	case typeFloat32, typeFloat64:
		var x float64
		if x, err = strconv.ParseFloat(strings.Trim(s, `"`), 8*size); t == typeFloat32 {
			u = uint64(math.Float32bits(float32(x)))
		} else {
			u = math.Float64bits(x)
		}
	case typeInt8, typeInt16, typeInt32, typeInt64:
		var n int64
		n, err = strconv.ParseInt(s, 10, 8*size)
		u = uint64(n)
	default:
		u, err = strconv.ParseUint(s, 10, 8*size)
	}
	if err != nil {
		return nil, err
	}
	return append(b, binary.LittleEndian.AppendUint64(nil, u)[:size]...), nil
}
