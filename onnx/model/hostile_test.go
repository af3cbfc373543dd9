package model

import (
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Once all empty messages of a list were made structs before the first one was
// refused: 460 times the file.
func TestEmptyMessagesCostLittle(t *testing.T) {
	head := minimal(t)
	for name, c := range map[string]struct {
		item, says string
	}{
		"functions": {"\xca\x01\x00", `function 0 "": it has no name`},
		"nodes":     {"\x0a\x00", `node 0 "" (): it has no op_type`},
		"inputs":    {"\x5a\x00", "input 0 has no name"},
		"attrs":     {"\x2a\x00", `node 0 "" (Op): attribute 0 has no name`},
	} {
		t.Run(name, func(t *testing.T) {
			b := strings.Repeat(c.item, 300_000)
			if name == "attrs" {
				b = "\x22\x02Op" + b
				b = "\x0a" + string(varint(len(b))) + b
			}
			file := append([]byte(nil), head...)
			if name == "functions" {
				file = append(file, b...)
			} else { // the model's only graph
				file = []byte("\x08\x08\x42\x02\x10\x0d\x3a")
				file = append(append(file, varint(len(b))...), b...)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse(file, "")
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, layout.ErrInvalid)
			require.ErrorContains(t, err, c.says)
			times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(file))
			t.Logf("%.0f times the file", times)
			assert.Less(t, times, 300.0)
		})
	}
}

func TestMapOfAnUnknownKey(t *testing.T) {
	assert.Equal(t, "map(?,?)", Type{Kind: MapType}.String())
	assert.Equal(t, "map(int64,float)", Type{Kind: MapType, Elem: layout.Int64, Item: &Type{Kind: TensorType, Elem: layout.Float32}}.String())
	assert.Equal(t, `float["\n"]`, TensorOf(layout.Float32, Symbolic("\n")).String())
}

// Once a model's path was in the system's error as it is.
func TestExternalPathInErrors(t *testing.T) {
	for _, path := range []string{"d.bin\x00", "\x1b[31m"} {
		x := Tensor{Name: "t", Type: layout.Int8, External: &External{Dir: t.TempDir(), Path: path, Length: -1}}
		_, err := x.Open()
		require.ErrorIs(t, err, layout.ErrInvalid)
		assert.NotContains(t, err.Error(), path)
		assert.Contains(t, err.Error(), quote.Name(path))
	}
	x := Tensor{Name: "t", Type: layout.Int8, External: &External{Dir: t.TempDir(), Path: "none", Length: -1}}
	_, err := x.Open()
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, 1, strings.Count(err.Error(), "none"), err.Error())
}
