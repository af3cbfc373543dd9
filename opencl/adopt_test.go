package opencl

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// Kernels access vectors of 16 bytes: a buffer over host memory that begins
// elsewhere made the process crash.
func TestBugAdoptUnalignedHostMemory(t *testing.T) {
	dev := openTest(t, Options{})
	host := make([]byte, 8<<10)
	at := (uintptr(unsafe.Pointer(&host[0])) + 63) &^ 63
	for off, fits := range map[uintptr]bool{0: true, 4: false, 8: false, 16: true} {
		mem, err := clCreateBuffer.create(dev.driver.context, memReadWrite|memUseHostPtr, 4096, at+off)
		require.NoError(t, err)
		b, err := dev.AdoptBuffer(mem, 4096)
		if fits {
			require.NoError(t, err)
			require.NoError(t, b.Free())
		} else {
			require.ErrorIs(t, err, device.ErrUnsupported)
			assert.ErrorContains(t, err, "16 bytes")
		}
		require.NoError(t, clReleaseMemObject.call(mem))
	}
	runtime.KeepAlive(host)
}
