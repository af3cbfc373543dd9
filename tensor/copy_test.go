package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestCopyFrom writes into strided and reversed parts of a larger tensor, and
// nothing else of it changes.
func TestCopyFrom(t *testing.T) {
	for name, open := range streams {
		for _, of := range layout.DTypes() {
			if name == "fake" && of == layout.String {
				continue
			}
			s := open(t)
			x, whole := fill(t, s, of, 1, 5, 7)
			part := keep(t)(keep(t)(x.Slice(1, 6, 0, -2)).Slice(0, 1, 4, 2)) // rows 1,3; columns 6,4,2
			src, a := fill(t, s, of, 2, 3, 2)
			require.NoError(t, part.CopyFrom(keep(t)(src.Transpose())))
			requireIs(t, transposed(a, []int{1, 0}), part, of)
			want := array{Dims: whole.Dims, Elems: append([]string{}, whole.Elems...)}
			for row := range 2 {
				for col := range 3 {
					want.Elems[(1+2*row)*7+6-2*col] = a.Elems[col*2+row]
				}
			}
			requireIs(t, want, x, of)
		}
	}
}

func TestCopyFromRefuses(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.New(s, layout.Float32, 4, 4))
	row := keep(t)(tensor.New(s, layout.Float32, 1, 4))
	require.NoError(t, x.CopyFrom(keep(t)(tensor.New(s, layout.Int32, 4, 4))), "types may differ")
	for name, c := range map[string][2]*tensor.Tensor{
		"shapes":         {x, row},
		"widths":         {x, keep(t)(tensor.New(s, layout.Float64, 4, 4))},
		"overlap":        {x, keep(t)(x.Transpose())},
		"broadcast dst":  {keep(t)(row.Expand(4, 4)), x},
		"another device": {x, keep(t)(tensor.New(openFake(t), layout.Float32, 4, 4))},
	} {
		err := c[0].CopyFrom(c[1])
		require.ErrorIs(t, err, device.ErrInvalid, name)
		require.ErrorContains(t, err, "CopyFrom of float[4,4]: ", name)
	}
	require.ErrorContains(t, x.CopyFrom(keep(t)(tensor.New(openFake(t), layout.Float32, 4, 4))), "fake:3")
}

// TestCopyFromOtherStream: the copy comes after the source's stream's work.
func TestCopyFromOtherStream(t *testing.T) {
	s := openCPU(t)
	other := must(tensor.NewStream(s.Device()))
	defer other.Close()
	x, a := fill(t, s, layout.Int4, 1, 3, 5)
	y := keep(t)(tensor.Empty(other, layout.Int4, 3, 5))
	require.NoError(t, y.CopyFrom(x))
	requireIs(t, a, y)
}

// TestPackUnpack holds conversions, on strided tensors too, against arithmetic.
func TestPackUnpack(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		for _, of := range layout.DTypes() {
			x, err := tensor.New(s, of, 2)
			if of == layout.String && err != nil {
				continue
			}
			keep(t)(x, err)
			if of.Container() == layout.Invalid {
				_, err := x.Unpack()
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, "Unpack of "+of.String()+"[2]: ")
				continue
			}
			packed, a := fill(t, s, of, 3, 5, 7)
			v := keep(t)(keep(t)(packed.Transpose()).Slice(0, 6, 0, -1))
			wide := keep(t)(v.Unpack())
			require.Equal(t, of.Container(), wide.DType())
			require.Equal(t, tensor.Verdict{Kind: tensor.Copy, Bytes: 30, Class: "convert"}, wide.Verdict())
			want := sliced(transposed(a, []int{1, 0}), 0, 6, 0, -1)
			bits := of.Bits()
			for i, e := range contents(t, wide).Elems {
				value := want.Elems[i][0]
				if of.Container() == layout.Int8 {
					value = byte(int8(value<<(8-bits)) >> (8 - bits)) // the sign
				}
				require.Equal(t, value, e[0])
			}
			back := keep(t)(keep(t)(wide.Transpose()).Pack(of))
			require.Equal(t, of, back.DType())
			require.Equal(t, int64((30*bits+7)/8), back.Verdict().Bytes)
			requireIs(t, transposed(want, []int{1, 0}), back)
		}
		bytes := keep(t)(tensor.FromSlice(s, []int8{-9, 8, 7, 17}))
		wrapped := keep(t)(bytes.Pack(layout.Int4))
		got, err := tensor.Values[int8](keep(t)(wrapped.Unpack()))
		require.NoError(t, err)
		require.Equal(t, []int8{7, -8, 7, 1}, got)
		for _, to := range []layout.DType{layout.Uint4, layout.Float4E2M1, layout.Int8, layout.String, layout.Invalid, 200} {
			_, err := bytes.Pack(to)
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, "Pack of int8[4]: ")
		}
	}
}

// TestClone: a clone is apart from what it was made of.
func TestClone(t *testing.T) {
	s := openFake(t)
	x, a := fill(t, s, layout.Int16, 1, 4, 3)
	c := keep(t)(x.Clone())
	require.NoError(t, x.CopyFrom(keep(t)(tensor.New(s, layout.Int16, 4, 3))))
	requireIs(t, a, c)
	require.Equal(t, tensor.Copy, c.Verdict().Kind)
}

// TestHighRank: tensors of a rank beyond what layouts hold inline.
func TestHighRank(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		dims := []int64{2, 1, 3, 1, 2, 1, 2, 1, 2, 1, 2}
		x, a := fill(t, s, layout.Uint2, 1, dims...)
		perm := []int{10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}
		y := keep(t)(x.Transpose())
		want := transposed(a, perm)
		requireIs(t, want, y)
		c := keep(t)(y.Contiguous())
		require.Equal(t, tensor.Copy, c.Verdict().Kind)
		requireIs(t, want, c)
		requireIs(t, want, keep(t)(y.To(openFake(t))))
		requireIs(t, want.Reshape(96), keep(t)(y.Reshape(-1)))
	}
}
