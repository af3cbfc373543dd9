package jsontext

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestBugPythonNumbers: numbers that JSON does not have are read, and written as they were.
func TestBugPythonNumbers(t *testing.T) {
	const text = `{"a": [0.0, Infinity, -Infinity], "b": NaN, "NaN \" Infinity": "Infinity", "c": -1}`
	got := FromPython([]byte(text))
	assert.True(t, json.Valid(got), string(got))
	assert.Equal(t, text, string(ToPython(got)))
	assert.Equal(t, `{"a": 1}`, string(FromPython([]byte(`{"a": 1}`))))
	for _, wrong := range []string{`{"a": Infinityx}`, `{"a": --Infinity}`, `Inf`, `{"a": 1NaN}`, `{NaN: 1}x`} {
		assert.False(t, json.Valid(FromPython([]byte(wrong))), wrong)
	}
}
