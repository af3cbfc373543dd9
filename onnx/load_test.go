package onnx_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestExternalInPieces: a large external initializer goes to the device in
// pieces. Beside the device's own memory, none of its size is ever taken.
func TestExternalInPieces(t *testing.T) {
	const skip, size = 5, 64<<20 + 12345
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "weights"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(skip+size))
	marks := map[int64]byte{0: 1, 1: 2, 4<<20 - 1: 3, 4 << 20: 4, 8<<20 - 1: 5, 64<<20 - 1: 6, 64 << 20: 7, size - 1: 8}
	for at, b := range marks {
		_, err := f.WriteAt([]byte{b}, skip+at)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())

	onFake, _ := openFake(t)
	for name, s := range map[string]*tensor.Stream{"cpu": open(t), "fake": onFake} {
		t.Run(name, func(t *testing.T) {
			m := model.New("external", 21)
			m.Graph.Outputs = outputs("w")
			m.Graph.Initializers = []model.Tensor{{
				Name: "w", Type: layout.Uint8, Dims: layout.Shape{size},
				External: &model.External{Dir: dir, Path: "weights", Offset: skip, Length: size},
			}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			sess := session(t, s, m)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "on Go's heap")
			require.EqualValues(t, size, s.Device().Stats().Peak)
			if name == "fake" {
				require.EqualValues(t, size, s.Device().Stats().HostToDevice)
				require.EqualValues(t, 17, s.Device().Stats().Uploads)
			}
			w, err := run(t, sess, nil).Tensor("w")
			require.NoError(t, err)
			for at, b := range marks {
				var one [1]byte
				part, err := w.Slice(0, at, at+1, 1)
				require.NoError(t, err)
				require.NoError(t, part.ReadInto(one[:]))
				require.Equal(t, b, one[0], "byte %d", at)
				require.NoError(t, part.Release())
			}
		})
	}
}

// TestExternalTypes: the last bits of a sub-byte tensor and the bools of a file
// are cleaned and checked as embedded ones are; strings and empty tensors too.
func TestExternalTypes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w"), []byte{0x21, 0xf3, 1, 2}, 0o666))
	load := func(s *tensor.Stream, typ layout.DType, offset, length int64, dims ...int64) (*tensor.Tensor, error) {
		return onnx.Load(s, &model.Tensor{Name: "w", Type: typ, Dims: dims, External: &model.External{Dir: dir, Path: "w", Offset: offset, Length: length}})
	}
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		x := held(t)(load(s, layout.Uint4, 0, 2, 3))
		same(t, layout.Uint4, array{Dims: []int64{3}, Elems: []string{"\x01", "\x02", "\x03"}}, x)
		x = held(t)(load(s, layout.Float32, 4, 0, 0, 7))
		require.Zero(t, x.Count())
		x = held(t)(load(s, layout.Uint16, 0, 2))
		same(t, layout.Uint16, array{Dims: nil, Elems: []string{"\x21\xf3"}}, x)
		for _, c := range []struct {
			typ            layout.DType
			offset, length int64
			dims           []int64
			says           string
		}{
			{layout.Bool, 2, 2, []int64{2}, "element 1 of a bool tensor is 2"},
			{layout.Uint8, 0, 5, []int64{5}, "the file has 4 bytes"},
			{layout.Uint8, 3, 2, []int64{2}, "the file has 1 bytes from offset 3"},
			{layout.Uint8, 0, 1, []int64{2}, "external data has 1 bytes"},
			{layout.Uint8, 0, -1, []int64{1 << 50}, "the file has 4 bytes"},
		} {
			_, err := load(s, c.typ, c.offset, c.length, c.dims...)
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, c.says)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	s := open(t)
	for _, bad := range []*model.Tensor{
		nil,
		{},
		{Type: layout.Float32, Dims: layout.Shape{2}, Data: make([]byte, 7)},
		{Type: layout.Float32, Dims: layout.Shape{-1}},
		{Type: layout.String, Dims: layout.Shape{2}, Strings: []string{"a"}},
		{Type: 99, Dims: layout.Shape{1}, Data: []byte{1}},
	} {
		_, err := onnx.Load(s, bad)
		require.ErrorIs(t, err, device.ErrInvalid)
	}
}

// TestStoreAndLoadValues: what is stored is loaded again.
func TestStoreAndLoadValues(t *testing.T) {
	s := open(t)
	for _, typ := range []layout.DType{layout.Float32, layout.Int4, layout.String} {
		a := numbered(typ, 2, 3)
		item := model.Type{Kind: model.TensorType, Elem: typ}
		x := uploadAs(t, a, s, typ, "transposed")
		seq := &onnx.Sequence{Elem: typ, Items: []onnx.Value{x, x}}
		for _, c := range []struct {
			v    onnx.Value
			kind model.Type
		}{
			{x, item},
			{seq, model.SequenceOf(item)},
			{&onnx.Optional{Elem: typ, Value: x}, model.OptionalOf(item)},
			{&onnx.Optional{Elem: typ, Value: seq}, model.OptionalOf(model.SequenceOf(item))},
			{&onnx.Optional{Elem: typ}, model.OptionalOf(item)},
			{&onnx.Sequence{Elem: typ}, model.SequenceOf(item)},
		} {
			stored, err := onnx.StoreValue("v", c.v)
			require.NoError(t, err)
			require.Equal(t, "v", stored.Name)
			want, err := stored.Marshal()
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "v.pb")
			require.NoError(t, onnx.SaveValue(path, "v", c.v))
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, want, got, "by pieces")
			loaded, err := onnx.LoadValue(s, stored, c.kind)
			require.NoError(t, err)
			require.IsType(t, c.v, loaded)
			again, err := onnx.StoreValue("v", loaded)
			require.NoError(t, err)
			require.Equal(t, stored, again)
			require.NoError(t, loaded.Release())
		}
	}
}

func TestLoadValueRefuses(t *testing.T) {
	s := open(t)
	float, long := numbered(layout.Float32, 2), numbers(1, 2)
	value := func(a array, typ layout.DType) model.Value {
		return model.Value{Kind: model.TensorType, Tensor: tensorOf(a, typ)}
	}
	f, l := value(float, layout.Float32), value(long, layout.Int64)
	item := model.Type{Kind: model.TensorType, Elem: layout.Float32}
	unknown := model.Type{Kind: model.SequenceType}
	for _, c := range []struct {
		v    model.Value
		typ  model.Type
		says string
	}{
		{model.Value{Kind: model.SequenceType, Items: []model.Value{f, l}}, model.SequenceOf(item), "value 1 of sequence is of int64; it must be of float"},
		{model.Value{Kind: model.SequenceType, Items: []model.Value{f, l}}, unknown, "value 1 of sequence is of int64; it must be of float"},
		{model.Value{Kind: model.OptionalType, Items: []model.Value{l}}, model.OptionalOf(item), "is of int64; it must be of float"},
		{model.Value{Kind: model.OptionalType, Items: []model.Value{f, f}}, model.OptionalOf(item), "an optional of 2 values"},
		{model.Value{Kind: model.TensorType}, item, "the tensor is nil"},
		{model.Value{Kind: model.SequenceType, Items: []model.Value{f, {Kind: model.TensorType}}}, unknown, "the tensor is nil"},
	} {
		_, err := onnx.LoadValue(s, &c.v, c.typ)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := onnx.LoadValue(s, &model.Value{Kind: model.MapType}, model.Type{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	for _, v := range []onnx.Value{nil, (*tensor.Tensor)(nil), (*onnx.Sequence)(nil), &onnx.Sequence{Items: []onnx.Value{nil}}} {
		_, err := onnx.StoreValue("v", v)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorIs(t, onnx.SaveValue(filepath.Join(t.TempDir(), "v.pb"), "v", v), device.ErrInvalid)
	}
	// Where the type says nothing, the items do.
	loaded, err := onnx.LoadValue(s, &model.Value{Kind: model.SequenceType, Items: []model.Value{f}}, unknown)
	require.NoError(t, err)
	require.Equal(t, layout.Float32, loaded.(*onnx.Sequence).Elem)
	require.NoError(t, loaded.Release())
}
