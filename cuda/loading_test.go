package cuda

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/planner"
)

// loading is the cost of loading a kernel, and its use of a multiprocessor.
type loading struct {
	Kernel    string
	MS        float64
	Registers int // per thread
	Local     int // bytes of private memory per thread: spilled registers
	Shared    int // bytes per block
}

// TestLoading loads every kernel, and measures it if RESTRIDE_MEASURE names a file for the
// results. The driver may have cached compiled kernels in CUDA_CACHE_PATH.
func TestLoading(t *testing.T) {
	dev := openTest(t)
	lib, err := dl.Open(dev.driver.api.name())
	require.NoError(t, err)
	attribute, err := lib.Lookup("cuFuncGetAttribute")
	require.NoError(t, err)
	var all []loading
	for _, s := range planner.Specs() {
		if s.CPUTarget {
			continue
		}
		began := time.Now()
		f, err := dev.driver.modules.get(s)
		require.NoError(t, err)
		one := loading{Kernel: s.String(), MS: float64(time.Since(began)) / 1e6}
		get := func(to *int, which uintptr) {
			var value int32
			require.NoError(t, dev.driver.with(func(*frame) error {
				require.Zero(t, dl.Call(attribute, uintptr(unsafe.Pointer(&value)), which, uintptr(f)))
				return nil
			}))
			*to = int(value)
		}
		get(&one.Shared, 1)
		get(&one.Local, 3)
		get(&one.Registers, 4)
		require.Positive(t, one.Registers)
		all = append(all, one)
	}
	save(t, all)
}
