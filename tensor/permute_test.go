package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestPermuteInPlace(t *testing.T) {
	for name, open := range streams {
		for _, of := range []layout.DType{layout.Int2, layout.Uint4, layout.Float32, layout.String} {
			if name == "fake" && of == layout.String {
				continue
			}
			s := open(t)
			whole, a := fill(t, s, of, 1, 5, 3, 4)
			x := keep(t)(whole.Slice(0, 1, 4, 1))
			part := sliced(a, 0, 1, 4, 1)
			y := keep(t)(x.PermuteInPlace(2, 0, -2))
			require.Same(t, x.Buffer(), y.Buffer())
			require.Equal(t, tensor.Copy, y.Verdict().Kind)
			want := transposed(part, []int{2, 0, 1})
			requireIs(t, want, y)
			requireIs(t, want.Reshape(3, 3, 4), x, "the same memory")
			requireIs(t, sliced(a, 0, 0, 1, 1), keep(t)(whole.Slice(0, 0, 1, 1)), "what is beside it")
			requireIs(t, sliced(a, 0, 4, 5, 1), keep(t)(whole.Slice(0, 4, 5, 1)))
			require.Equal(t, tensor.View, keep(t)(y.PermuteInPlace(0, 1, 2)).Verdict().Kind)

			_, err := keep(t)(y.Transpose()).PermuteInPlace(0, 1, 2)
			require.ErrorIs(t, err, device.ErrUnsupported)
			_, err = y.PermuteInPlace(0, 1)
			require.ErrorIs(t, err, device.ErrInvalid)
		}
	}
}
