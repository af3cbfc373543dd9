package model

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func TestExternalDataOfPythonONNX(t *testing.T) {
	m, err := Load("testdata/external.onnx")
	require.NoError(t, err)
	for i, want := range []int16{0, 600} {
		x := &m.Graph.Initializers[i]
		assert.Nil(t, x.Data)
		got, err := Elements[int16](x)
		require.NoError(t, err)
		assert.Len(t, got, 600)
		assert.Equal(t, want, got[0])
	}
	assertRoundTrip(t, m)
}

func externalTensor(typ layout.DType, dims []int64, dir string, pairs ...string) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(int32(typ)), Dims: dims, DataLocation: proto.Int32(1)}
	for i := 0; i < len(pairs); i += 2 {
		p.ExternalData = append(p.ExternalData, &onnxpb.StringStringEntryProto{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return p
}

// A hub's cache has links to blobs in the place of a model and its data. Other links are
// refused there, too.
func TestBugModelInHubsCache(t *testing.T) {
	outside := t.TempDir()
	hub := filepath.Join(outside, "models--some--model")
	snapshot := filepath.Join(hub, "snapshots", "0123abcd", "onnx")
	for _, dir := range []string{snapshot, filepath.Join(hub, "blobs")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for path, content := range map[string]string{filepath.Join(hub, "blobs", "beef"): "abcd", filepath.Join(outside, "secret"): "5678"} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	require.NoError(t, os.Symlink("../../../blobs/beef", filepath.Join(snapshot, "data")))
	require.NoError(t, os.Symlink("../../../../secret", filepath.Join(snapshot, "out")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(snapshot, "absolute")))
	t.Chdir(snapshot)
	for _, dir := range []string{snapshot, "."} {
		read := func(location string) ([]byte, error) {
			x, err := readTensor(encode(t, externalTensor(layout.Uint8, []int64{4}, dir, "location", location)), dir)
			require.NoError(t, err)
			return x.Bytes()
		}
		got, err := read("data")
		require.NoError(t, err)
		require.Equal(t, "abcd", string(got))
		for _, link := range []string{"out", "absolute"} {
			_, err := read(link)
			require.ErrorIs(t, err, layout.ErrInvalid)
			require.ErrorContains(t, err, `"`+link+`" is a link, or lies behind one, that leads out`)
		}
	}
	require.NoError(t, os.Rename(filepath.Join(hub, "blobs"), filepath.Join(hub, "other")))
	x, err := readTensor(encode(t, externalTensor(layout.Uint8, []int64{4}, snapshot, "location", "data")), snapshot)
	require.NoError(t, err)
	_, err = x.Bytes()
	require.ErrorContains(t, err, "leads out of the model's folder", "it is no cache")
}

func TestExternalDataThatIsRefused(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "model")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for _, path := range []string{filepath.Join(parent, "secret"), filepath.Join(dir, "data"), filepath.Join(dir, "sub", "data")} {
		require.NoError(t, os.WriteFile(path, make([]byte, 10), 0o644))
	}
	require.NoError(t, os.Symlink(filepath.Join("..", "secret"), filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "up")))
	require.NoError(t, os.Symlink("data", filepath.Join(dir, "inside")))

	read := func(typ layout.DType, pairs ...string) error {
		x, err := readTensor(encode(t, externalTensor(typ, []int64{4}, dir, pairs...)), dir)
		if err != nil {
			return err
		}
		_, err = x.Bytes()
		return err
	}
	for name, c := range map[string]struct {
		pairs []string
		says  string
	}{
		"no location":          {nil, "no location"},
		"empty location":       {[]string{"location", ""}, "no location"},
		"absolute":             {[]string{"location", filepath.Join(dir, "data")}, "not inside the model's folder"},
		"parent":               {[]string{"location", "../secret"}, "not inside the model's folder"},
		"parent inside":        {[]string{"location", "sub/../../secret"}, "not inside the model's folder"},
		"link out":             {[]string{"location", "link", "length", "4"}, `"link" is a link, or lies behind one, that leads out of the model's folder`},
		"folder link out":      {[]string{"location", "up/secret", "length", "4"}, `"up/secret" is a link, or lies behind one`},
		"missing":              {[]string{"location", "absent"}, `"absent"`},
		"folder":               {[]string{"location", "sub"}, "not a regular file"},
		"offset not a number":  {[]string{"location", "data", "offset", "1x"}, `offset: "1x"`},
		"offset negative":      {[]string{"location", "data", "offset", "-1"}, `offset: "-1"`},
		"offset signed":        {[]string{"location", "data", "offset", "+1"}, `offset: "+1"`},
		"offset beyond int64":  {[]string{"location", "data", "offset", "9223372036854775808"}, "offset"},
		"offset and size wrap": {[]string{"location", "data", "offset", "9223372036854775807"}, "beyond any file"},
		"offset beyond":        {[]string{"location", "data", "offset", "11"}, "0 bytes from offset 11 on, want 4"},
		"length not a number":  {[]string{"location", "data", "length", ""}, `length: ""`},
		"length wrong":         {[]string{"location", "data", "length", "5"}, "has 5 bytes, and uint8[4] takes 4"},
		"length beyond":        {[]string{"location", "data", "offset", "7", "length", "4"}, "3 bytes from offset 7 on, want 4"},
		"key twice":            {[]string{"location", "data", "location", "data"}, "twice"},
		"location not UTF-8":   {[]string{"location", "\xff"}, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			err := read(layout.Uint8, c.pairs...)
			assert.ErrorIs(t, err, layout.ErrInvalid)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, `"w"`)
		})
	}
	assert.ErrorIs(t, read(layout.Uint8, "location", "absent"), fs.ErrNotExist)
	assert.ErrorContains(t, read(layout.String, "location", "data"), "strings cannot be external")
	for _, ok := range [][]string{
		{"location", "data", "offset", "6"}, {"location", "data", "offset", "5"}, {"location", "sub/data", "length", "4"}, {"location", "./inside", "length", "4", "checksum", "?", "newer", "?"},
	} {
		assert.NoError(t, read(layout.Uint8, ok...), ok)
	}

	p := externalTensor(layout.Uint8, []int64{4}, dir, "location", "data")
	p.RawData = make([]byte, 4)
	_, err := parseTensor(encode(t, p))
	assert.ErrorContains(t, err, "both in raw_data and in external data")
	x, err := parseTensor(encode(t, externalTensor(layout.Uint8, []int64{4}, dir, "location", "data")))
	require.NoError(t, err)
	_, err = x.Open()
	assert.ErrorContains(t, err, "without a folder")
}

func TestReaderReadsInPieces(t *testing.T) {
	dir := t.TempDir()
	content := []byte{9, 9, 0x11, 0x22, 0x33, 0x44, 0xff}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d"), content, 0o644))
	want := []byte{0x11, 0x22, 0x33, 0x44, 0x0f}
	for name, x := range map[string]*Tensor{
		"external": {Name: "w", Type: layout.Uint4, Dims: layout.Shape{9}, External: &External{Dir: dir, Path: "d", Offset: 2, Length: 5}},
		"embedded": {Name: "w", Type: layout.Uint4, Dims: layout.Shape{9}, Data: content[2:]},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := x.Open()
			require.NoError(t, err)
			assert.Equal(t, int64(5), r.Size())
			for size := 1; size <= 6; size++ {
				var got []byte
				piece := make([]byte, size)
				for off := int64(0); off < r.Size(); {
					n, err := r.ReadAt(piece, off)
					if err != io.EOF {
						require.NoError(t, err)
						assert.Equal(t, size, n)
					}
					got = append(got, piece[:n]...)
					off += int64(n)
				}
				assert.Equal(t, want, got)
			}
			all, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
			require.NoError(t, err)
			assert.Equal(t, want, all)
			_, err = r.ReadAt(make([]byte, 1), 5)
			assert.Equal(t, io.EOF, err)
			_, err = r.ReadAt(make([]byte, 1), -1)
			assert.ErrorIs(t, err, layout.ErrInvalid)
			assert.NoError(t, r.Close())
			b, err := x.Bytes()
			require.NoError(t, err)
			assert.Equal(t, want, b)
		})
	}
	bools := &Tensor{Name: "b", Type: layout.Bool, Dims: layout.Shape{7}, External: &External{Dir: dir, Path: "d", Length: -1}}
	_, err := bools.Bytes()
	assert.ErrorContains(t, err, "element 0 of a bool tensor is 9")
	words, err := NewTensor("s", []string{"a"})
	require.NoError(t, err)
	_, err = words.Open()
	assert.ErrorIs(t, err, layout.ErrUnsupported)
}

// A file that shrinks while it is read gives an error, not zeros.
func TestReaderOfShrinkingFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "d")
	require.NoError(t, os.WriteFile(path, make([]byte, 8), 0o644))
	x := &Tensor{Name: "w", Type: layout.Int8, Dims: layout.Shape{8}, External: &External{Dir: dir, Path: "d", Length: 8}}
	r, err := x.Open()
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, os.Truncate(path, 3))
	_, err = r.ReadAt(make([]byte, 8), 0)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestSaveExternal(t *testing.T) {
	m := small(t)
	big, err := NewTensor("big", make([]int32, 3000), 3000)
	require.NoError(t, err)
	for i := range big.Data {
		big.Data[i] = byte(i)
	}
	empty := Tensor{Name: "empty", Type: layout.Int8, Dims: layout.Shape{0}, Data: []byte{}}
	inner, _ := m.Graph.Nodes[1].Attrs.Get("g")
	inner.Value.(*Graph).Initializers = []Tensor{big}
	m.Graph.Initializers = append(m.Graph.Initializers, big, empty)

	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	require.NoError(t, m.SaveExternal(path, "m.data", 0))
	assert.Nil(t, m.Graph.Initializers[0].External, "the model itself is not changed")
	loaded, err := Load(path)
	require.NoError(t, err)
	assert.Nil(t, loaded.Graph.Initializers[1].External, "strings stay")
	for _, i := range []int{0, 2, 3, 4} {
		x := loaded.Graph.Initializers[i]
		require.NotNil(t, x.External, x.Name)
		assert.Zero(t, x.External.Offset%4096)
		b, err := x.Bytes()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(m.Graph.Initializers[i].Data, b), x.Name)
	}
	g, _ := loaded.Graph.Nodes[1].Attrs.Get("g")
	assert.NotNil(t, g.Value.(*Graph).Initializers[0].External)
	attr, _, err := loaded.Graph.Nodes[1].Attrs.Tensor("t")
	require.NoError(t, err)
	assert.Nil(t, attr.External, "an attribute that was embedded stays so")

	// Onto itself, with fewer tensors outside: the data must not be lost.
	require.NoError(t, loaded.SaveExternal(path, "m.data", 1<<40))
	again, err := Load(path)
	require.NoError(t, err)
	b, err := again.Graph.Initializers[3].Bytes()
	require.NoError(t, err)
	assert.True(t, bytes.Equal(big.Data, b))

	// In place, references stay; elsewhere they would lead nowhere.
	require.NoError(t, again.Save(filepath.Join(dir, "copy.onnx")))
	err = again.Save(filepath.Join(t.TempDir(), "m.onnx"))
	assert.ErrorIs(t, err, layout.ErrInvalid)
	assert.ErrorContains(t, err, "SaveExternal")

	elsewhere := t.TempDir()
	require.NoError(t, again.SaveExternal(filepath.Join(elsewhere, "m.onnx"), "w", 1<<40))
	moved, err := Load(filepath.Join(elsewhere, "m.onnx"))
	require.NoError(t, err)
	b, err = moved.Graph.Initializers[3].Bytes()
	require.NoError(t, err)
	assert.True(t, bytes.Equal(big.Data, b))

	for _, name := range []string{"", ".", "..", "a/b", "/a", "m.onnx"} {
		assert.ErrorIs(t, m.SaveExternal(filepath.Join(elsewhere, "m.onnx"), name, 0), layout.ErrInvalid, name)
	}
	none := t.TempDir()
	require.NoError(t, m.SaveExternal(filepath.Join(none, "m.onnx"), "w", 1<<40))
	files, err := os.ReadDir(none)
	require.NoError(t, err)
	assert.Len(t, files, 1, "no data, no data file")
}

func TestLoadOfMissingFiles(t *testing.T) {
	_, err := Load("testdata/absent")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = loadTensor("testdata/absent")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = LoadValue("testdata/absent", TensorOf(layout.Int8))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Load("testdata")
	assert.Error(t, err)
	_, err = Load("testdata/make.py")
	assert.ErrorIs(t, err, layout.ErrInvalid)
	assert.ErrorContains(t, err, "testdata/make.py")
}
