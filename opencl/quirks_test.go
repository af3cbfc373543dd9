package opencl_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
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

// PoCL runs ld, and ends the process without it: the device is not opened.
func TestBugPoCLWithoutLinker(t *testing.T) {
	index := -1
	for _, info := range listed(t) {
		if strings.HasPrefix(info.Driver, "Portable Computing Language") {
			index = info.Index
		}
	}
	if index < 0 {
		t.Skip("there is no PoCL")
	}
	t.Setenv("PATH", t.TempDir())
	_, err := opencl.OpenWith(index, opencl.Options{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "ld, which PATH does not have")
}
