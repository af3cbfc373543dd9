package npy

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

// file is a .npy file of the given version.
func file(version byte, header string, data ...byte) []byte {
	out := []byte("\x93NUMPY" + string([]byte{version, 0}))
	if version == 1 {
		out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	} else {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(header)))
	}
	return append(append(out, header...), data...)
}

func read(b []byte) (Header, []byte, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestRead(t *testing.T) {
	for header, want := range map[string]Header{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }          \n": {layout.Float32, false, layout.Shape{1}},
		"{'descr':'<f4','fortran_order':True,'shape':(2,0)}":                    {layout.Float32, true, layout.Shape{2, 0}},
		"{'shape': (), 'fortran_order': False, 'descr': '|b1'}\n":               {layout.Bool, false, layout.Shape{}},
		`{"descr": "<c16", "fortran_order": False, "shape": (1L, 1L,)}`:         {layout.Complex128, false, layout.Shape{1, 1}},
	} {
		size, err := want.Shape.Bytes(want.Type)
		require.NoError(t, err)
		for version := byte(1); version <= 3; version++ {
			h, data, err := read(file(version, header, make([]byte, size)...))
			require.NoError(t, err, "%s", header)
			assert.Equal(t, want, h)
			assert.Len(t, data, int(size))
		}
	}
}

func TestReadRefuses(t *testing.T) {
	good := "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"
	whole := file(1, good, 1, 2, 3, 4)
	for n := range whole {
		_, _, err := read(whole[:n])
		require.ErrorIs(t, err, layout.ErrInvalid, "cut at %d", n)
	}
	for name, b := range map[string][]byte{
		"no header":       file(1, ""),
		"a byte more":     append(bytes.Clone(whole), 0),
		"long header":     append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), good...),
		"number as shape": file(1, strings.Replace(good, "(1,)", "5252", 1), make([]byte, 100)...),
		"no tuple":        file(1, strings.Replace(good, "(1,)", "(1)", 1), 1, 2, 3, 4),
		"no shape":        file(1, strings.Replace(good, "(1,)", "", 1), 1, 2, 3, 4),
		"negative":        file(1, strings.Replace(good, "(1,)", "(-1,)", 1), 1, 2, 3, 4),
		"overflow":        file(1, strings.Replace(good, "(1,)", "(99999999999999999999,)", 1)),
		"huge":            file(1, strings.Replace(good, "(1,)", "(4611686018427387904,2)", 1)),
		"large":           file(1, strings.Replace(good, "(1,)", "(1099511627776,)", 1)),
		"twice":           file(1, strings.Replace(good, "'shape'", "'descr'", 1), 1, 2, 3, 4),
		"a key missing":   file(1, "{'descr': '<f4', 'fortran_order': False}", 1, 2, 3, 4),
		"unknown key":     file(1, strings.Replace(good, "{", "{'a': 1, ", 1), 1, 2, 3, 4),
		"text after it":   file(1, good+"x", 1, 2, 3, 4),
		"records":         file(1, strings.Replace(good, "'<f4'", "[('a', '<f4')]", 1), 1, 2, 3, 4),
		"bool of 2":       file(1, strings.Replace(good, "<f4", "|b1", 1), 2),
	} {
		_, _, err := read(b)
		assert.ErrorIs(t, err, layout.ErrInvalid, name)
	}
	for name, b := range map[string][]byte{
		"version 4":  append([]byte("\x93NUMPY\x04\x00"), whole[8:]...),
		"big-endian": file(1, strings.Replace(good, "<f4", ">f4", 1), 1, 2, 3, 4),
		"objects":    file(1, strings.Replace(good, "<f4", "|O", 1), 1, 2, 3, 4),
	} {
		_, _, err := read(b)
		assert.ErrorIs(t, err, layout.ErrUnsupported, name)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", 1, 2, 3, 4))
	f.Add(file(2, "{'descr': '|b1', 'fortran_order': True, 'shape': (), }\n", 1))
	f.Add([]byte("\x93NUMPY\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, data, err := read(b)
		if err != nil {
			return
		}
		size, err := h.Shape.Bytes(h.Type)
		require.NoError(t, err)
		require.Len(t, data, int(size))
	})
}

// Types that numpy has and this package has not are named, with what to do.
func TestBugTypesAreNamed(t *testing.T) {
	for descr, says := range map[string]string{
		"'>f4'":          "\">f4\": they are big-endian; numpy turns them with x.astype",
		"'<V2'":          "\"<V2\": bytes without a type, as numpy saves bfloat16",
		"'|V1'":          "\"|V1\": bytes without a type",
		"'<M8[ns]'":      "elements of numpy type \"<M8[ns]\"",
		"[('a', '<f4')]": "arrays of records",
	} {
		text := "{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }\n"
		head := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), 0)
		_, err := ReadHeader(strings.NewReader(string(head) + text))
		require.ErrorContains(t, err, says)
	}
}
