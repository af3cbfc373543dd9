package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tokens reads all of a text.
func tokens(text string) (all []string, err error) {
	r := NewReader(iotest.OneByteReader(strings.NewReader(text)), nil)
	for {
		k, err := r.Next()
		if err != nil || k == End {
			return all, err
		}
		s := string(rune(k))
		if k == Key || k == Text || k == Number {
			s += string(r.Bytes())
		}
		all = append(all, s)
	}
}

func TestTokens(t *testing.T) {
	all, err := tokens(" {\"a\\u00e9\\ud83d\\ude00\\n\" : [1, -0.5e+3 ,true,false,null,[],{}], \"\" :\"x\"}\n")
	require.NoError(t, err)
	assert.Equal(t, []string{"{", ":aé😀\n", "[", "01", "0-0.5e+3", "t", "f", "n", "[", "]", "{", "}", "]", ":", `"x`, "}"}, all)
	for _, text := range []string{"7", `"x"`, "null", "[]", "0", "-0", "1e-999", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)} {
		_, err := tokens(text)
		require.NoError(t, err, text)
	}
	for text, says := range map[string]string{
		"": "byte 0: the text ends within a value", "[": "ends within", `{"a"`: "ends within", `"a`: "ends within", "nul": "ends within", "[1 2]": "byte 3: '2'; a comma is wanted",
		"[1,]": "a value is wanted", "[,1]": "a value is wanted", `{"a":1,}`: "a key is wanted", `{1:2}`: "a key is wanted", `{"a" 1}`: "a colon is wanted", "[1}": "a comma is wanted", "{]": "a key is wanted",
		"1 1": "byte 2: '1' follows the value", "01": "digits are wrong", "-": "digits are wrong", "1.": "a fraction's digits", "1e+": "an exponent's digits", "1e999": "float64 does not have", "-x": "digits are wrong",
		`"\x"`: "the escape 'x'", `"\ud800"`: "in a word", `"\ud800\u0041"`: "half a character", `"\udc00"`: "in a word", `"\u12g4"`: "the digits", "\"\x1f\"": "control character", "\"\xff\"": "not UTF-8", "\"\xc3\\n\xa9\"": "not UTF-8",
		"nulL": "in a word", "\v1": "a value is wanted", strings.Repeat("[", MaxDepth+1): "more than 127 deep",
	} {
		_, err := tokens(text)
		e := new(Error)
		require.ErrorAs(t, err, &e, text)
		assert.ErrorContains(t, err, says, text)
	}
	_, err = NewReader(iotest.ErrReader(errors.New("lost")), nil).Next()
	require.EqualError(t, err, "lost")
}

// TestSkip: skipped values are checked, too.
func TestSkip(t *testing.T) {
	r := NewReader(strings.NewReader(`{"a":[1,{"b":[]}],"c":2}`), nil)
	for range 2 {
		_, err := r.Next()
		require.NoError(t, err)
	}
	_, err := r.Next() // [
	require.NoError(t, err)
	require.NoError(t, r.Skip())
	k, err := r.Next()
	require.NoError(t, err)
	assert.Equal(t, Key, k)
	assert.Equal(t, "c", string(r.Bytes()))
}

// TestLongTokens: grow is called before a token's memory is allocated.
func TestLongTokens(t *testing.T) {
	for _, text := range []string{`"` + strings.Repeat("x", 1<<20) + `"`, strings.Repeat("1", 1<<20)} {
		asked := int64(0)
		_, err := NewReader(strings.NewReader(text), func(n int64) error {
			if asked += n; asked > 1<<16 {
				return errors.New("too much")
			}
			return nil
		}).Next()
		require.EqualError(t, err, "too much")
		assert.LessOrEqual(t, asked, int64(1<<18))
	}
}

// TestCharge: the charge is at least the memory of a decoded text.
func TestCharge(t *testing.T) {
	n := 20_000
	for _, text := range []string{
		"[" + strings.Repeat("{},", n) + "0]", "[" + strings.Repeat("[],", n) + "0]", "[" + strings.Repeat("0,", n) + "0]", "[" + strings.Repeat(`"",`, n) + "0]", "[" + strings.Repeat(`{"a":[{"b":"c"}]},`, n) + "0]",
		"[" + strings.Repeat(`"0123456789abcdefg",`, n) + "0]", "[" + strings.Repeat(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9},`, n) + "0]",
	} {
		charged := int64(0)
		require.NoError(t, Charge(strings.NewReader(text), func(n int64) error { charged += n; return nil }))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		runtime.GC()
		runtime.ReadMemStats(&after)
		assert.GreaterOrEqual(t, charged, int64(after.HeapAlloc)-int64(before.HeapAlloc), "%.60s", text)
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, []byte(text), "", "  "))
		assert.GreaterOrEqual(t, charged, int64(indented.Len()), "%.60s", text)
		runtime.KeepAlive(v)
	}
}

// FuzzReader: encoding/json reads the same from every accepted text.
func FuzzReader(f *testing.F) {
	for _, text := range []string{`{"a":[1,-0.5e3,true,null,"\u00e9\ud83d\ude00"]}`, `"\ud800"`, "[1e999]", "\"\xff\"", "[[]", " 0 "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := tokens(text)
		valid := json.Valid([]byte(text))
		if err == nil {
			require.True(t, valid)
			require.True(t, utf8.ValidString(text))
		}
	})
}
