package opencl_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// TestWaitAfterFlush: Wait also waits for work that was flushed before.
func TestWaitAfterFlush(t *testing.T) {
	const size = 8 << 20
	for _, info := range listed(t) {
		t.Run(info.ID(), func(t *testing.T) {
			dev, err := device.Open(info.ID())
			require.NoError(t, err)
			defer dev.Close()
			q, err := dev.NewQueue()
			require.NoError(t, err)
			b, err := dev.Alloc(size)
			require.NoError(t, err)
			all, err := layout.Contiguous(size)
			require.NoError(t, err)
			host := make([]byte, size)
			for n := byte(1); n < 20; n++ {
				require.NoError(t, q.Fill(device.Operand{Buffer: b, Layout: all, Type: layout.Uint8}, []byte{n}))
				_, err := q.(device.AsyncQueue).ReadAsync(host, b, 0)
				require.NoError(t, err)
				require.NoError(t, q.Wait())
				require.True(t, host[0] == n && bytes.Equal(host[1:], host[:size-1]), "Wait returned before ReadAsync was done")
			}
		})
	}
}
