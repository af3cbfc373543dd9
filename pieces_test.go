package restride_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// What is written by pieces is what is read at once, on every device there is.
func TestWriteToOnAllDevices(t *testing.T) {
	infos, _ := device.List()
	for _, info := range infos {
		t.Run(info.ID(), func(t *testing.T) {
			s, err := tensor.Open(info.ID())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			for of, dims := range map[layout.DType][]int64{
				layout.Int2:       {3, 3, 2_000_003},
				layout.Float4E2M1: {5, 2_100_001},
				layout.Float16:    {1501, 1601},
				layout.Complex128: {3, 100_003},
			} {
				size, err := layout.Shape(dims).Bytes(of)
				require.NoError(t, err)
				data := make([]byte, size)
				for i := range data {
					data[i] = byte(i * 7 >> 3)
				}
				x, err := tensor.FromBytes(s, of, data, dims...)
				require.NoError(t, err)
				y, err := x.Slice(-1, -2, -1<<40, -1)
				require.NoError(t, err)
				want, err := y.Bytes()
				require.NoError(t, err)
				var got bytes.Buffer
				n, err := y.WriteTo(&got)
				require.NoError(t, err)
				require.Equal(t, int64(len(want)), n)
				require.True(t, bytes.Equal(want, got.Bytes()), "%v%v", of, dims)
				require.NoError(t, x.Release())
				require.NoError(t, y.Release())
			}
		})
	}
}
