package model

import (
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// list is a model file with a list of 100,000 messages: in its graph, in a node's
// attributes, or beside the graph.
func list(t testing.TB, where, item string) []byte {
	b := strings.Repeat(item, 100_000)
	switch where {
	case "model":
		return append(minimal(t), b...)
	case "node":
		b = "\x22\x02Op" + b
		b = "\x0a" + string(varint(len(b))) + b
	}
	return []byte("\x08\x08\x42\x02\x10\x0d\x3a" + string(varint(len(b))) + b)
}

// Once all empty messages of a list were made structs before the first one was
// refused: 460 times the file. Those that are never valid are refused undecoded.
func TestEmptyMessagesCostLittle(t *testing.T) {
	for name, c := range map[string]struct {
		where, item, says string
		most              float64
	}{
		"functions":          {"model", "\xca\x01\x00", "field functions of ModelProto has an empty FunctionProto", 2},
		"opsets":             {"model", "\x42\x00", "field opset_import of ModelProto has an empty OperatorSetIdProto", 2},
		"nodes":              {"graph", "\x0a\x00", "field node of GraphProto has an empty NodeProto", 2},
		"inputs":             {"graph", "\x5a\x00", "field input of GraphProto has an empty ValueInfoProto", 2},
		"initializers":       {"graph", "\x2a\x00", "field initializer of GraphProto has an empty TensorProto", 2},
		"attrs":              {"node", "\x2a\x00", "field attribute of NodeProto has an empty AttributeProto", 2},
		"nameless functions": {"model", "\xca\x01\x02\x12\x00", `function 0 "": it has no name`, 300},
		"nameless nodes":     {"graph", "\x0a\x02\x3a\x00", `node 0 "" (): it has no op_type`, 300},
		"nameless inputs":    {"graph", "\x5a\x02\x1a\x00", "input 0 has no name", 300},
		"nameless attrs":     {"node", "\x2a\x02\x6a\x00", `node 0 "" (Op): attribute 0 has no name`, 300},
	} {
		t.Run(name, func(t *testing.T) {
			file := list(t, c.where, c.item)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse(file, "")
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, layout.ErrInvalid)
			require.ErrorContains(t, err, c.says)
			times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(file))
			t.Logf("%.0f times the file", times)
			assert.Less(t, times, c.most)
		})
	}
}

// TestDecodingIsCounted: what messages take when they are decoded is asked for before,
// and is no less than they take.
func TestDecodingIsCounted(t *testing.T) {
	for name, c := range map[string]struct{ where, item string }{
		"nameless functions":  {"model", "\xca\x01\x02\x12\x00"},
		"metadata":            {"model", "\x72\x00"},
		"training":            {"model", "\xa2\x01\x00"},
		"nodes":               {"graph", "\x0a\x03\x22\x01O"},
		"initializers":        {"graph", "\x2a\x02\x10\x03"},
		"sparse initializers": {"graph", "\x7a\x02\x0a\x00"},
		"value infos":         {"graph", "\x6a\x03\x0a\x01v"},
		"annotations":         {"graph", "\x72\x00"},
		"outputs of a node":   {"node", "\x12\x00"},
		"inner graphs":        {"node", "\x2a\x08\x0a\x01a\x32\x00\xa0\x01\x05"},
		"numbers":             {"node", "\x2a\x0a\x0a\x01a\x40\x01\x40\x01\xa0\x01\x07"},
		"unknown":             {"node", "\xd8\x07\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			file := list(t, c.where, c.item)
			var w weight
			p := new(onnxpb.ModelProto)
			require.NoError(t, w.check(file, p, "model"))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			require.NoError(t, decode(file, p, "model"))
			runtime.GC()
			runtime.ReadMemStats(&after)
			took := after.HeapAlloc - before.HeapAlloc
			t.Logf("%d bytes, %d decoded, %d reckoned, and %d to keep", len(file), took, w.decoded, w.kept)
			assert.LessOrEqual(t, took, uint64(w.decoded))
			assert.Less(t, float64(w.decoded), 4*float64(took), "reckoned too high")
			runtime.KeepAlive(p)

			in, of := budget.Process(), "a test"
			most, source := in.Limit()
			defer in.SetLimit(most, source)
			in.SetLimit(in.InUse()+w.decoded, of)
			runtime.ReadMemStats(&before)
			_, err := Parse(file, "")
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, budget.ErrOutOfMemory)
			require.ErrorContains(t, err, "(a test)")
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(file)))
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
