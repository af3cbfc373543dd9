package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestValueJSON: values of all types, there and back.
func TestValueJSON(t *testing.T) {
	for typ, all := range map[string][]string{
		"uint8": {"255"}, "int8": {"-128"}, "uint16": {"65535"}, "int16": {"-32768"}, "uint32": {"4294967295"}, "int32": {"-2147483648"},
		"uint64": {"18446744073709551615"}, "int64": {"-9223372036854775808"}, "bool": {"true", "false"},
		"float32": {"0.1", "1e-45", `"NaN"`, `"+Inf"`, `"-Inf"`, "-0"}, "float64": {"0.1", "5e-324", `"NaN"`, `"-Inf"`}, "text": {`""`, `"é\n<\""`},
		"array of uint8": {"[]", "[1,2]"}, "array of text": {`["","<s>"]`}, "array of float64": {`["NaN",1]`}, "array of bool": {"[true]"},
	} {
		for _, text := range all {
			v, err := ValueFromJSON(typ, text)
			require.NoError(t, err, typ)
			got, name, ok := v.JSON(len(text))
			assert.True(t, ok, "%s %s", typ, text)
			assert.Equal(t, text, got)
			assert.Equal(t, typ, name)
			_, _, ok = v.JSON(len(text) - 1)
			assert.False(t, ok, "%s %s", typ, text)
		}
	}
	for _, v := range []Value{ValueOf("\xff"), {typeArray, "\x09\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"}, {typeArray, ""}, {typeUint32, "1"}} {
		_, _, ok := v.JSON(100)
		assert.False(t, ok, v)
	}
}

func FuzzValueFromJSON(f *testing.F) {
	for _, s := range [][2]string{{"uint8", "256"}, {"int8", "1.5"}, {"text", "1"}, {"array", "[]"}, {"array of array", "[]"}, {"array of text", "[1]"}, {"x", "1"}, {"bool", "0"}, {"float32", "1e99"}} {
		_, err := ValueFromJSON(s[0], s[1])
		require.Error(f, err, s)
		f.Add(s[0], s[1])
	}
	f.Add("array of int16", "[1, -2]")
	f.Add("float64", "1")
	f.Fuzz(func(t *testing.T, typ, text string) {
		v, err := ValueFromJSON(typ, text)
		if err != nil {
			return
		}
		out, name, ok := v.JSON(8 * (len(text) + 64))
		require.True(t, ok)
		again, err := ValueFromJSON(name, out)
		require.NoError(t, err)
		assert.Equal(t, v, again)
	})
}
