package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/layout"
)

// parse reads the header of a file that is only in memory.
func parse(b []byte) (*Header, error) {
	return readHeader(bytes.NewReader(b), int64(len(b)), func(int64) error { return nil })
}

// random returns a header and the bytes of its tensors by name.
func random(rng *rand.Rand, format Format) (Header, map[string][]byte) {
	h := Header{Format: format}
	for i := range rng.IntN(4) {
		h.Metadata = append(h.Metadata, Entry{fmt.Sprintf("key.%d", i), ValueOf(strings.Repeat("\"<é\n", rng.IntN(5)))})
	}
	if format == GGUF {
		h.Metadata = append(h.Metadata, Entry{alignmentKey, ValueOf[uint32](8 << rng.IntN(4))})
	}
	data := map[string][]byte{}
	for i := range rng.IntN(8) {
		types := slices.DeleteFunc(slices.Clone(format.types()), func(t Type) bool { return t.Name == "" })
		t := &Tensor{Name: fmt.Sprintf("blk.%d.é", i), Type: types[rng.IntN(len(types))]}
		for range rng.IntN(4) {
			t.Dims = append(t.Dims, rng.Int64N(4))
		}
		t.Dims = append(t.Dims, t.Type.Block*rng.Int64N(3))
		size, err := format.Size(t.Type, t.Dims)
		if err != nil {
			panic(err)
		}
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		data[t.Name] = b
		h.Tensors = append(h.Tensors, t)
	}
	return h, data
}

// write writes a file, the tensors in random order and pieces.
func write(t *testing.T, rng *rand.Rand, path string, h Header, data map[string][]byte) {
	w, err := Create(path, h, "test")
	require.NoError(t, err)
	for _, i := range rng.Perm(len(w.Tensors)) {
		b := data[w.Tensors[i].Name]
		require.Len(t, b, int(w.Tensors[i].Size()))
		cut := rng.IntN(len(b) + 1)
		require.NoError(t, w.WriteAt(i, b[cut:], int64(cut)))
		require.NoError(t, w.WriteAt(i, b[:cut], 0))
		require.NoError(t, w.Finish(i))
	}
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	require.NoFileExists(t, path+Partial)
}

// TestRoundTrip: what is written is read, names, types, shapes, metadata and bytes.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		format := Safetensors + Format(seed%2)
		h, data := random(rng, format)
		path := filepath.Join(dir, fmt.Sprintf("%d.%v", seed, format))
		want := map[string]Tensor{}
		for _, tensor := range h.Tensors {
			want[tensor.Name] = *tensor
		}
		write(t, rng, path, h, data)
		f, err := OpenFile(path)
		require.NoError(t, err, "seed %d", seed)
		assert.Equal(t, format, f.Format)
		assert.Equal(t, h.Metadata, f.Metadata)
		require.Len(t, f.Tensors, len(want))
		for _, got := range f.Tensors {
			w := want[got.Name]
			assert.Equal(t, w.Type, got.Type)
			assert.Equal(t, append([]int64{}, w.Dims...), append([]int64{}, got.Dims...))
			if format == Safetensors {
				assert.Zero(t, got.offset%got.Type.alignment(), "seed %d", seed)
			}
			b, err := io.ReadAll(io.NewSectionReader(got, 0, got.Size()))
			require.NoError(t, err)
			assert.Equal(t, data[got.Name], b, "seed %d: %s", seed, got.Name)
			_, err = got.ReadAt(make([]byte, 1), got.Size()+1)
			require.ErrorIs(t, err, layout.ErrInvalid)
			n, err := got.ReadAt(make([]byte, got.Size()+1), 0)
			assert.Equal(t, int(got.Size()), n)
			assert.Equal(t, io.EOF, err)
		}
		require.NoError(t, f.Close())
	}
}

func safetensors(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestSafetensorsRules(t *testing.T) {
	h, err := parse(safetensors(`{"b":{"dtype":"U8","shape":[],"data_offsets":[4,5]},"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4],"more":[{}]}}   `, 1, 2, 3, 4, 5))
	require.NoError(t, err)
	require.Len(t, h.Tensors, 2)
	assert.Equal(t, "a", h.Tensors[0].Name)
	assert.Equal(t, []Entry{{"k", ValueOf("v")}}, h.Metadata)
	for header, rule := range map[string]string{
		``:         "ends within",
		`[]`:       "an object is wanted",
		`{`:        "ends within",
		`{"a":1}`:  "a",
		`{"a":{}}`: "lacks dtype",
		`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}`:                                                       "lacks dtype",
		`{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}`:                                                   "1.5",
		`{"a":{"dtype":"Q9","shape":[1],"data_offsets":[0,1]}}`:                                                     `type "Q9" is not known`,
		`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`:                                                    "-1",
		`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}}`:                                                     "have 2 bytes",
		`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`:                                                     "[1,0]",
		`{"a":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}`:                                                     "no tensor's",
		`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`:                                                     "no multiple of a block of 2",
		`{"a":{"dtype":"U8","shape":[2],"data_offsets":[9223372036854775805,9223372036854775807]}}`:                 "overflow",
		`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,1]}}`:                                 "overflow",
		`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`: "two tensors",
		`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`: "overlap",
		`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}} x`:                                                   "follows the value",
		`{"__metadata__":{"a":1}}`:              "a text is wanted",
		`{"__metadata__":{"a":null}}`:           "a text is wanted",
		`{"__metadata__":{"a":"","a":""}}`:      "twice",
		`{"__metadata__":{},"__metadata__":{}}`: "twice",
		`{"__metadata__":[]}`:                   "an object is wanted",
		`{"a":` + strings.Repeat("[", 20000):    "",
		`{"a":{"dtype":"U8","shape":[` + strings.Repeat("1,", layout.MaxRank) + `1],"data_offsets":[0,1]}}`: "axes",
	} {
		_, err := parse(safetensors(header, 7))
		require.ErrorIs(t, err, layout.ErrInvalid, "%.100s", header)
		assert.ErrorContains(t, err, rule, "%.100s", header)
	}
	for _, b := range [][]byte{nil, {1, 2}, binary.LittleEndian.AppendUint64(nil, 1<<63), binary.LittleEndian.AppendUint64(nil, 9), safetensors(`{}`, 1)} {
		_, err := parse(b)
		require.ErrorIs(t, err, layout.ErrInvalid, "%v", b)
	}
}

// gguf is a file of these fields, little endian; texts have their length before them.
func gguf(fields ...any) []byte {
	b := []byte(magicGGUF)
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			b = binary.LittleEndian.AppendUint64(b, uint64(f))
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, f)
		case string:
			b = append(binary.LittleEndian.AppendUint64(b, uint64(len(f))), f...)
		case []byte:
			b = append(b, f...)
		}
	}
	return b
}

func TestGGUFRules(t *testing.T) {
	v3, u32, u8, array, text := uint32(3), uint32(typeUint32), uint32(typeUint8), uint32(typeArray), uint32(typeText)
	one := func(rest ...any) []byte { return gguf(append([]any{v3, 1, 0, "w"}, rest...)...) }
	h, err := parse(append(gguf(v3, 1, 1, "k", array, array, 2, text, 1, "x", u8, 2, []byte{1, 2}, "w", uint32(2), 32, 1, uint32(2), 0), make([]byte, 64)...))
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 32}, h.Tensors[0].Dims)
	assert.Equal(t, int64(18), h.Tensors[0].Size())
	assert.Equal(t, "2 of array", h.Metadata[0].Value.String())
	for name, b := range map[string][]byte{
		"ends within its header":        gguf(v3, 0),
		"tensors in a file":             gguf(v3, 1<<40, 0),
		"entries of metadata in a file": gguf(v3, 0, 1<<40),
		"18446744073709551615":          gguf(v3, -1, 0),
		"there twice":                   gguf(v3, 0, 2, "k", u8, []byte{1}, "k", u8, []byte{1}, make([]byte, 40)),
		"or none":                       gguf(v3, 0, 1, "", u8, []byte{1}, make([]byte, 40)),
		"is not known":                  gguf(v3, 0, 1, "k", uint32(13), make([]byte, 40)),
		"an array of 1099511627776":     gguf(v3, 0, 1, "k", array, u8, 1<<40, make([]byte, 40)),
		"deep":                          append(append(gguf(v3, 0, 1, "k", array), bytes.Repeat(append(binary.LittleEndian.AppendUint32(nil, array), 1, 0, 0, 0, 0, 0, 0, 0), 9)...), make([]byte, 40)...),
		"at most 4":                     one(uint32(5), make([]byte, 80)),
		"multiple of a block":           one(uint32(1), 31, uint32(2), 0, make([]byte, 80)),
		"no multiple of 32":             one(uint32(1), 32, uint32(2), 1, make([]byte, 80)),
		"the file has":                  one(uint32(1), 1<<40, uint32(0), 0, make([]byte, 80)),
		"overflows":                     one(uint32(2), 1<<40, 1<<40, uint32(0), 0, make([]byte, 80)),
		"begins at byte":                one(uint32(1), 1, uint32(0), 1<<63-32, make([]byte, 80)),
		"an extent is":                  one(uint32(1), -5, uint32(0), 0, make([]byte, 80)),
		"a power of two":                gguf(v3, 0, 1, alignmentKey, u32, uint32(24), make([]byte, 40)),
		"no UTF-8":                      gguf(v3, 1, 0, "\xff", uint32(0), uint32(0), 0, make([]byte, 80)),
		"two tensors":                   gguf(v3, 2, 0, "w", uint32(0), uint32(0), 0, "w", uint32(0), uint32(0), 32, make([]byte, 80)),
		"overlap":                       gguf(v3, 2, 0, "w", uint32(1), 9, uint32(0), 0, "v", uint32(0), uint32(0), 32, make([]byte, 180)),
		"the length of a tensor's name": gguf(v3, 1, 0, -1, make([]byte, 80)),
	} {
		_, err := parse(b)
		require.ErrorIs(t, err, layout.ErrInvalid, name)
		assert.ErrorContains(t, err, name)
	}
	for name, b := range map[string][]byte{
		"version 1 ":        gguf(uint32(1), 0, 0),
		"version 50331648 ": gguf(uint32(3<<24), 0, 0),
	} {
		_, err := parse(b)
		require.ErrorIs(t, err, layout.ErrUnsupported, name)
		assert.ErrorContains(t, err, name)
	}
}

func TestValues(t *testing.T) {
	i16 := Value{typeInt16, "\xfe\xff"}
	n, ok := i16.Int()
	assert.True(t, ok)
	assert.Equal(t, int64(-2), n)
	assert.Equal(t, "-2", i16.String())
	n, ok = ValueOf[uint32](1 << 31).Int()
	assert.True(t, ok)
	assert.Equal(t, int64(1<<31), n)
	_, ok = Value{typeUint64, "\xff\xff\xff\xff\xff\xff\xff\xff"}.Int()
	assert.False(t, ok)
	_, ok = ValueOf("7").Int()
	assert.False(t, ok)
	s, ok := ValueOf("x").Text()
	assert.True(t, ok)
	assert.Equal(t, "x", s)
	assert.Equal(t, `"x\n"`, ValueOf("x\n").String())
	assert.Equal(t, "1.5", Value{typeFloat32, "\x00\x00\xc0\x3f"}.String())
	assert.Equal(t, "true", Value{typeBool, "\x01"}.String())
	assert.Equal(t, "18446744073709551615", Value{typeUint64, "\xff\xff\xff\xff\xff\xff\xff\xff"}.String())
}

// TestResume: a file that was begun is ended by a second run, which writes only what is
// missing; until then nothing is at its path.
func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	header := func() Header {
		u8, err := Safetensors.Type("U8")
		require.NoError(t, err)
		return Header{Format: Safetensors, Tensors: []*Tensor{{Name: "a", Type: u8, Dims: []int64{3}}, {Name: "b", Type: u8, Dims: []int64{2}}}}
	}
	w, err := Create(path, header(), "source")
	require.NoError(t, err)
	_, err = Create(path, header(), "source")
	require.ErrorIs(t, err, file.ErrInUse)
	require.NoError(t, w.WriteAt(0, []byte("abc"), 0))
	require.ErrorIs(t, w.WriteAt(0, []byte("abcd"), 0), layout.ErrInvalid)
	require.ErrorIs(t, w.WriteAt(0, []byte("a"), 3), layout.ErrInvalid)
	require.NoError(t, w.Finish(0))
	require.ErrorContains(t, w.Commit(), `"b" is not finished`)
	require.NoError(t, w.Close())
	require.NoFileExists(t, path)
	_, err = Create(path, header(), "another source")
	require.ErrorContains(t, err, "remove it")

	w, err = Create(path, header(), "source")
	require.NoError(t, err)
	assert.Equal(t, 1, resumed(w))
	assert.True(t, w.Done(0))
	assert.False(t, w.Done(1))
	require.NoError(t, w.WriteAt(1, []byte("de"), 0))
	require.NoError(t, w.Finish(1))
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "abcde", string(b[len(b)-5:]))
	_, err = parse(b)
	require.NoError(t, err)

	// A process may end at any moment: as long as the journal is not there, and when it is cut off.
	for _, left := range [][]byte{nil, b[:20], b[:len(b)-5], b} {
		require.NoError(t, os.WriteFile(path+Partial, left, 0o600))
		w, err := Create(path, header(), "source")
		require.NoError(t, err, "%d bytes", len(left))
		assert.Zero(t, resumed(w))
		require.NoError(t, w.Close())
	}
	require.NoError(t, os.WriteFile(path+Partial, []byte("somebody's"), 0o600))
	_, err = Create(path, header(), "source")
	require.ErrorContains(t, err, "remove it")
}

// resumed counts the tensors that an earlier run has written.
func resumed(w *Writer) int { return bytes.Count(w.done, []byte{1}) }

// TestResumeAfterPowerCut: what another run of the system was told is done counts if it is
// on the disk.
func TestResumeAfterPowerCut(t *testing.T) {
	if file.Boot() == "" {
		t.Skip("the system does not say since when it runs")
	}
	u8, err := Safetensors.Type("U8")
	require.NoError(t, err)
	for sync, want := range map[bool]int{true: 1, false: 0} {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		begin := func() *Writer {
			w, err := Create(path, Header{Format: Safetensors, Tensors: []*Tensor{{Name: "a", Type: u8, Dims: []int64{3}}, {Name: "b", Type: u8, Dims: []int64{2}}}}, "source")
			require.NoError(t, err)
			return w
		}
		w := begin()
		if sync {
			require.NoError(t, w.Sync())
		}
		require.NoError(t, w.WriteAt(0, []byte("abc"), 0))
		require.NoError(t, w.Finish(0))
		end := w.end
		require.NoError(t, w.Close())
		w = begin()
		assert.Equal(t, 1, resumed(w))
		if sync {
			require.NoError(t, w.Sync())
		}
		require.NoError(t, w.Close())

		b, err := os.ReadFile(path + Partial)
		require.NoError(t, err)
		if !sync {
			b[end+int64(journalBoot)] ^= 1
		}
		require.NoError(t, os.WriteFile(path+Partial, b, 0o600))
		w = begin()
		assert.Equal(t, want, resumed(w), "sync %v", sync)
		for i, text := range []string{"abc", "de"} {
			require.NoError(t, w.WriteAt(i, []byte(text), 0))
			require.NoError(t, w.Finish(i))
		}
		require.NoError(t, w.Commit())
		b, err = os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "abcde", string(b[len(b)-5:]))
	}
}

// TestOpen finds the files of a checkpoint.
func TestOpen(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	_, err := Open(dir)
	require.ErrorContains(t, err, "has no .safetensors")
	u8, err := Safetensors.Type("U8")
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		write(t, rng, at(name+".safetensors"), Header{Format: Safetensors, Tensors: []*Tensor{{Name: name, Type: u8, Dims: []int64{1}}, {Name: "unlisted", Type: u8, Dims: []int64{1}}}},
			map[string][]byte{"a": {1}, "b": {2}, "unlisted": {3}})
	}
	_, err = Open(dir)
	require.ErrorContains(t, err, "name one")
	index := func(files map[string]string) {
		b, err := json.Marshal(map[string]any{"metadata": map[string]int{"total_size": 2}, "weight_map": files})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(at("model.safetensors.index.json"), b, 0o600))
	}
	index(map[string]string{"a": "a.safetensors", "b": "b.safetensors"})
	require.NoError(t, os.WriteFile(at("config.json"), []byte(`{"x":1}`), 0o600))
	c, err := Open(dir)
	require.NoError(t, err)
	assert.Len(t, c.Files, 2)
	require.Len(t, c.Tensors, 2)
	assert.Equal(t, "b", c.Tensors[1].Name)
	assert.NotNil(t, c.Lookup("a"))
	assert.Nil(t, c.Lookup("unlisted"))
	assert.JSONEq(t, `{"x":1}`, string(c.Config))
	require.NoError(t, c.Close())
	for name, rule := range map[string]string{"../a.safetensors": "no name of a file", `x\y`: "no name of a file", "c.safetensors": "no such file", "b.safetensors": "has no tensor"} {
		index(map[string]string{"a": name})
		_, err = Open(dir)
		require.ErrorContains(t, err, rule)
	}
	require.NoError(t, os.WriteFile(at("model.safetensors.index.json"), []byte(`{"weight_map":[]}`), 0o600))
	_, err = Open(dir)
	require.ErrorIs(t, err, layout.ErrInvalid)

	gg := t.TempDir()
	f32, err := GGUF.Type("F32")
	require.NoError(t, err)
	for i := range 2 {
		name := fmt.Sprintf("t%d", i)
		write(t, rng, filepath.Join(gg, fmt.Sprintf("m-%05d-of-00002.gguf", i+1)), Header{Format: GGUF, Tensors: []*Tensor{{Name: name, Type: f32, Dims: []int64{1}}}}, map[string][]byte{name: {1, 2, 3, 4}})
	}
	for _, path := range []string{gg, filepath.Join(gg, "m-00002-of-00002.gguf")} {
		c, err := Open(path)
		require.NoError(t, err)
		assert.Len(t, c.Tensors, 2)
		require.NoError(t, c.Close())
	}
	require.NoError(t, os.Remove(filepath.Join(gg, "m-00002-of-00002.gguf")))
	_, err = Open(gg)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// FuzzHeader: no header panics; what is read can be written, and is read again alike.
func FuzzHeader(f *testing.F) {
	f.Add(safetensors(`{"b":{"dtype":"U8","shape":[],"data_offsets":[4,5]},"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}`, 1, 2, 3, 4, 5))
	f.Add(append(gguf(uint32(3), 1, 1, "k", uint32(typeArray), uint32(typeText), 1, "x", "w", uint32(2), 32, 1, uint32(2), 0), make([]byte, 64)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parse(b)
		if err != nil {
			return
		}
		for _, e := range h.Metadata {
			_ = e.Value.String()
		}
		again, err := h.append(nil)
		require.NoError(t, err)
		end := h.end(int64(len(again)))
		if end > 1<<20 {
			return
		}
		got, err := parse(append(again, make([]byte, end-int64(len(again)))...))
		require.NoError(t, err)
		assert.ElementsMatch(t, h.Metadata, got.Metadata)
		assert.ElementsMatch(t, h.Tensors, got.Tensors)
	})
}

// TestBugUnknownType: a tensor of a type that is not known made the whole file unreadable.
func TestBugUnknownType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gguf")
	kind, err := GGUF.Type("Q8_0")
	require.NoError(t, err)
	w, err := Create(path, Header{Format: GGUF, Tensors: []*Tensor{{Name: "odd", Type: kind, Dims: []int64{2, 32}}, {Name: "b", Type: kind, Dims: []int64{32}}}}, "")
	require.NoError(t, err)
	require.NoError(t, errors.Join(w.Finish(0), w.Finish(1), w.Commit()))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(b, []byte("odd")) + 3 + 4 + 2*8
	require.EqualValues(t, 8, b[at])
	b[at] = 99
	require.NoError(t, os.WriteFile(path, b, 0o600))
	c, err := Open(path)
	require.NoError(t, err)
	defer c.Close()
	assert.Equal(t, "type 99", c.Lookup("odd").Type.Name)
	assert.EqualValues(t, 96, c.Lookup("odd").Size()) // with padding
	assert.Equal(t, "Q8_0", c.Lookup("b").Type.Name)
}
