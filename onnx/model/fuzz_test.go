package model

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All targets hold: no panic, no more memory than a multiple of the input, an
// error of one of the two kinds, and what can be read can be written and is
// then read as the same.

// memoryFactor bounds the bytes allocated per byte of input. The worst inputs
// are empty messages of two bytes each, which become structs of both layers.
const memoryFactor = 500

func bounded(t *testing.T, n int, work func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+memoryFactor*uint64(n) {
		t.Errorf("%d bytes of input took %d bytes of memory", n, used)
	}
}

func assertKind(t *testing.T, err error) {
	if !errors.Is(err, layout.ErrInvalid) && !errors.Is(err, layout.ErrUnsupported) {
		t.Errorf("error of neither kind: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	b, err := small(f).Marshal()
	require.NoError(f, err)
	f.Add(b)
	f.Add(minimal(f))
	for _, path := range []string{"testdata/model.onnx", "testdata/external.onnx"} {
		b, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m *Model
		var err error
		bounded(t, len(b), func() { m, err = Parse(b, "") })
		if err != nil {
			assertKind(t, err)
			return
		}
		assertRoundTrip(t, m)
	})
}

func FuzzReadTensor(f *testing.F) {
	for _, c := range tensorCases(f) {
		if len(c.Dims) == 1 {
			f.Add(unhex(f, c.PB))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var x *Tensor
		var err error
		bounded(t, len(b), func() { x, err = parseTensor(b) })
		if err != nil {
			assertKind(t, err)
			return
		}
		again, err := marshalTensor(x)
		require.NoError(t, err)
		y, err := parseTensor(again)
		require.NoError(t, err)
		if !same(reflect.ValueOf(x), reflect.ValueOf(y)) {
			assert.Equal(t, x, y)
		}
		all, err := x.Bytes()
		if x.External == nil && x.Type != layout.String {
			require.NoError(t, err)
			assert.Equal(t, x.Data, all)
		} else {
			assertKind(t, err)
		}
	})
}

func FuzzReadValue(f *testing.F) {
	b, err := os.ReadFile("testdata/values.json")
	require.NoError(f, err)
	var files map[string]string
	require.NoError(f, json.Unmarshal(b, &files))
	for name, file := range files {
		f.Add(unhex(f, file), name == "none" || name == "some" || name == "list")
	}
	f.Fuzz(func(t *testing.T, b []byte, isOptional bool) {
		typ := SequenceOf(Type{})
		if isOptional {
			typ = OptionalOf(Type{})
		}
		var v *Value
		var err error
		bounded(t, len(b), func() { v, err = ReadValue(b, typ) })
		if err != nil {
			assertKind(t, err)
			return
		}
		again, err := v.Marshal()
		require.NoError(t, err)
		w, err := ReadValue(again, typ)
		require.NoError(t, err)
		if !same(reflect.ValueOf(v), reflect.ValueOf(w)) {
			assert.Equal(t, v, w)
		}
	})
}
