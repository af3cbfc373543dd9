package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// roundTrip makes tensors of a Go type in every way and reads them in every way.
func roundTrip[T layout.Element](t *testing.T, of layout.DType, values ...T) {
	t.Run(of.String(), func(t *testing.T) {
		require.Equal(t, of, layout.TypeOf[T]())
		for _, open := range streams {
			s := open(t)
			x, err := tensor.FromSlice(s, values)
			if of == layout.String && !s.IsHost() {
				require.ErrorIs(t, err, device.ErrUnsupported)
				require.Nil(t, x)
				continue
			}
			keep(t)(x, err)
			require.Equal(t, of, x.DType())
			require.Equal(t, layout.Shape{int64(len(values))}, x.Shape())
			require.Same(t, s, x.Stream())
			got, err := tensor.Values[T](x)
			require.NoError(t, err)
			require.Equal(t, values, got)

			got = make([]T, len(values))
			reversed := keep(t)(x.Slice(0, -1, math.MinInt64, -1))
			require.NoError(t, reversed.ReadInto(got))
			for i, v := range values {
				require.Equal(t, v, got[len(got)-1-i])
			}
			require.ErrorIs(t, x.ReadInto(make([]T, len(values)+1)), device.ErrInvalid)
			require.ErrorIs(t, x.ReadInto(make([]T, len(values)-1)), device.ErrInvalid)

			y := keep(t)(tensor.New(s, of, 2, 2))
			got, err = tensor.Values[T](y)
			require.NoError(t, err)
			require.Equal(t, make([]T, 4), got)

			scalar := keep(t)(tensor.FromSlice(s, values[:1], []int64{}...))
			require.Zero(t, scalar.Rank())
			requireIs(t, array{Dims: nil, Elems: contents(t, x).Elems[:1]}, scalar)
			empty := keep(t)(tensor.FromSlice(s, []T{}, 2, 0, 3))
			requireIs(t, array{Dims: []int64{2, 0, 3}}, empty)
			requireIs(t, array{Dims: []int64{0}}, keep(t)(tensor.FromSlice(s, []T(nil))))
			requireIs(t, array{Dims: []int64{4, 0}}, keep(t)(tensor.New(s, of, 4, 0)))
		}
		h := keep(t)(tensor.FromHost(values))
		require.Same(t, tensor.Host(), h.Stream())
		got, err := tensor.Values[T](h)
		require.NoError(t, err)
		require.Equal(t, values, got)
	})
}

func TestGoTypes(t *testing.T) {
	roundTrip(t, layout.Bool, true, false, true)
	roundTrip[int8](t, layout.Int8, -128, 0, 127)
	roundTrip[int16](t, layout.Int16, math.MinInt16, 1, math.MaxInt16)
	roundTrip[int32](t, layout.Int32, math.MinInt32, 1, math.MaxInt32)
	roundTrip[int64](t, layout.Int64, math.MinInt64, 1, math.MaxInt64)
	roundTrip[uint8](t, layout.Uint8, 1, 2, 255)
	roundTrip[uint16](t, layout.Uint16, 1, 2, math.MaxUint16)
	roundTrip[uint32](t, layout.Uint32, 1, 2, math.MaxUint32)
	roundTrip[uint64](t, layout.Uint64, 1, 2, math.MaxUint64)
	roundTrip[float32](t, layout.Float32, 1, -2.5, math.MaxFloat32)
	roundTrip(t, layout.Float64, 1, -2.5, math.MaxFloat64)
	roundTrip[complex64](t, layout.Complex64, 1+2i, -2.5, 3i)
	roundTrip(t, layout.Complex128, 1+2i, -2.5, 3i)
	roundTrip(t, layout.String, "a", "", "longer\x00string")
}

// TestBytes gives and takes packed elements of all types but String.
func TestBytes(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, of := range layout.DTypes() {
				if of == layout.String {
					continue
				}
				for _, dims := range [][]int64{nil, {}, {5}, {3, 7}, {2, 0}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}} {
					x, a := fill(t, s, of, 1, dims...)
					requireIs(t, a, x)
					packed, err := x.Bytes()
					require.NoError(t, err)
					room := make([]byte, len(packed))
					require.NoError(t, x.ReadInto(room))
					require.Equal(t, packed, room)
					require.ErrorIs(t, x.ReadInto(make([]byte, len(packed)+1)), device.ErrInvalid)

					_, err = tensor.FromBytes(s, of, append(packed, 0), dims...)
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, "FromBytes of "+of.String())
				}
			}
			_, err := tensor.FromBytes(s, layout.String, nil, 0)
			require.ErrorIs(t, err, device.ErrUnsupported)
			require.ErrorContains(t, err, "FromBytes of string")
			_, err = tensor.FromBytes(s, layout.Invalid, nil, 0)
			require.ErrorIs(t, err, device.ErrInvalid)
		})
	}
}

// TestBytesMaskTail: what follows the last element in its byte is no part of it.
func TestBytesMaskTail(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.FromBytes(s, layout.Uint4, []byte{0x21, 0xf3}, 3))
	packed, err := x.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{0x21, 0x03}, packed)
}

// TestBoolsAreGoBools: a byte that is neither 0 nor 1 must not become a bool.
func TestBoolsAreGoBools(t *testing.T) {
	x := keep(t)(tensor.FromBytes(openCPU(t), layout.Bool, []byte{0, 1, 2, 255}, 4))
	got, err := tensor.Values[bool](x)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, true, true}, got)
	packed, err := x.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 2, 255}, packed)
}

func TestEmpty(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		for _, of := range layout.DTypes() {
			if of == layout.String && !s.IsHost() {
				_, err := tensor.Empty(s, of, 2)
				require.ErrorIs(t, err, device.ErrUnsupported)
				require.ErrorContains(t, err, "fake:3")
				_, err = tensor.New(s, of, 2)
				require.ErrorIs(t, err, device.ErrUnsupported)
				continue
			}
			x := keep(t)(tensor.Empty(s, of, 3, 5))
			require.True(t, new(x.Layout()).IsContiguous())
			y, a := fill(t, s, of, 2, 3, 5)
			require.NoError(t, x.CopyFrom(y))
			requireIs(t, a, x)
		}
	}
}

func TestOwnAndBorrowBuffer(t *testing.T) {
	s := openCPU(t)
	b, err := s.Device().Alloc(64)
	require.NoError(t, err)
	memory, _ := cpu.Bytes(b)
	for i := range memory {
		memory[i] = byte(i)
	}
	l, err := layout.Strided([]int64{2, 3}, []int64{8, 2}, 1)
	require.NoError(t, err)

	lent, err := tensor.BorrowBuffer(s, b, layout.Uint8, l)
	require.NoError(t, err)
	got, err := tensor.Values[uint8](lent)
	require.NoError(t, err)
	require.Equal(t, []uint8{1, 3, 5, 9, 11, 13}, got)
	require.Equal(t, tensor.View, lent.Verdict().Kind)
	require.Same(t, b, lent.Buffer())
	require.NoError(t, lent.Release())
	require.EqualValues(t, 64, s.Device().Stats().Live, "the buffer stays the caller's")

	owned, err := tensor.OwnBuffer(s, b, layout.Uint8, l)
	require.NoError(t, err)
	view, err := owned.Transpose()
	require.NoError(t, err)
	require.NoError(t, owned.Release())
	require.EqualValues(t, 64, s.Device().Stats().Live)
	require.NoError(t, view.Release())
	require.Zero(t, s.Device().Stats().Live)

	for name, refused := range map[string]struct {
		b  device.Buffer
		of layout.DType
		l  layout.Layout
	}{
		"no buffer":            {nil, layout.Uint8, l},
		"no type":              {b, layout.Invalid, l},
		"strings in bytes":     {b, layout.String, l},
		"reaches beyond 64 ":   {b, layout.Complex128, l},
		"offset beyond buffer": {b, layout.Uint8, must(l.Rebase(60))},
	} {
		x, err := tensor.OwnBuffer(s, refused.b, refused.of, refused.l)
		require.ErrorIs(t, err, device.ErrInvalid, name)
		require.ErrorContains(t, err, "OwnBuffer", name)
		require.Nil(t, x, name)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestFromHost: the tensor is the caller's own memory.
func TestFromHost(t *testing.T) {
	data := []float32{0, 1, 2, 3, 4, 5}
	before := tensor.Host().Device().Stats()
	x := keep(t)(tensor.FromHost(data, 2, 3))
	require.Equal(t, before, tensor.Host().Device().Stats())
	memory, ok := cpu.Bytes(x.Buffer())
	require.True(t, ok)
	memory[3], memory[2] = 0xbf, 0x80 // -1
	require.Equal(t, float32(-1), data[0])
	requireIs(t, array{Dims: []int64{3, 2}, Elems: contents(t, keep(t)(x.Transpose())).Elems}, keep(t)(x.Transpose()))

	_, err := tensor.FromHost(data, 7)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = tensor.FromHost([]string{"a"}, 2)
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "FromHost of string: ")
	requireIs(t, array{Dims: []int64{0}}, keep(t)(tensor.FromHost([]int8{})))
	words := []string{"a", "b"}
	w := keep(t)(tensor.FromHost(words))
	words[0] = "changed"
	requireIs(t, array{Dims: []int64{2}, Elems: []string{"a", "b"}}, w, "strings are copied")
}

func TestAppendInts(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			read := func(x *tensor.Tensor, want ...int64) {
				t.Helper()
				before := s.Device().Stats().Downloads
				got, err := x.AppendInts([]int64{99})
				require.NoError(t, err)
				require.Equal(t, append([]int64{99}, want...), got)
				downloads := s.Device().Stats().Downloads - before
				require.Equal(t, map[bool]int64{true: 0, false: 1}[s.IsHost()], downloads)
			}
			x := keep(t)(tensor.FromSlice(s, []int64{0, -1, 2, math.MinInt64, 4, math.MaxInt64}))
			read(x, 0, -1, 2, math.MinInt64, 4, math.MaxInt64)
			read(keep(t)(x.Slice(0, 5, 0, -2)), math.MaxInt64, math.MinInt64, -1)
			y := keep(t)(tensor.FromSlice(s, []int32{0, -1, math.MinInt32, math.MaxInt32}))
			read(y, 0, -1, math.MinInt32, math.MaxInt32)
			read(keep(t)(y.Slice(0, 1, 4, 2)), -1, math.MaxInt32)
			one := keep(t)(y.Slice(0, 1, 2, 1))
			read(keep(t)(one.Squeeze()), -1)
			read(keep(t)(one.Expand(3)), -1, -1, -1)
			read(keep(t)(y.Slice(0, 2, 2, 1)))

			for _, wrong := range []*tensor.Tensor{
				keep(t)(tensor.New(s, layout.Float32, 2)),
				keep(t)(tensor.New(s, layout.Uint32, 2)),
				keep(t)(x.Reshape(2, 3)),
			} {
				got, err := wrong.AppendInts([]int64{1})
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, "AppendInts of "+wrong.DType().String()+wrong.Shape().String())
				require.Equal(t, []int64{1}, got)
			}
			_, err := keep(t)(one.Expand(1 << 60)).AppendInts(nil)
			require.ErrorIs(t, err, device.ErrUnsupported)
		})
	}
}
