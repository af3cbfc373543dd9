package opencl

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/internal/planner"
)

// someKernel is a kernel that every device runs.
var someKernel = planner.Spec{Form: planner.Element, DstBits: 32, SrcBits: 32}

func TestBuildFailure(t *testing.T) {
	dev := cached(t, "off")
	good := dev.driver.programs.source
	dev.driver.programs.source = func(s planner.Spec) string { return good(s) + "\nthis_is_no_type x;\n" }
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	b := gputest.Alloc(t, dev, 64)
	before := dev.Stats()
	for range 2 {
		err := q.Copy(gputest.Matrix(b, []int64{2, 2}, []int64{2, 1}), gputest.Matrix(a, []int64{2, 2}, []int64{1, 2}))
		require.ErrorIs(t, err, device.ErrDriver)
	}
	_, err := dev.driver.programs.get(someKernel)
	var driver *device.DriverError
	require.ErrorAs(t, err, &driver)
	assert.Equal(t, "clBuildProgram", driver.Call)
	assert.Equal(t, "CL_BUILD_PROGRAM_FAILURE", driver.Name)
	assert.Contains(t, driver.Log, "this_is_no_type")
	assert.NotContains(t, driver.Log, "\x00")
	assert.ErrorContains(t, err, "element_32")
	assert.Equal(t, before, dev.Stats())

	dev.driver.programs.source = good
	_, err = dev.driver.programs.get(someKernel)
	require.NoError(t, err, "a failure is not kept")
}

func TestProgramsAreBuiltOnce(t *testing.T) {
	dev := cached(t, t.TempDir())
	var n atomic.Int64
	good := dev.driver.programs.source
	dev.driver.programs.source = func(s planner.Spec) string { n.Add(1); return good(s) }
	var group sync.WaitGroup
	handles := make([]uintptr, 16)
	for i := range handles {
		group.Go(func() {
			handle, err := dev.driver.programs.get(someKernel)
			assert.NoError(t, err)
			handles[i] = handle
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, n.Load())
	for _, h := range handles {
		assert.Equal(t, handles[0], h)
	}
}

// BenchmarkFirstUse is how long a process waits for its first copy, when the kernel must be
// compiled and when it is on the disk. Drivers also have their own caches: the variable for
// PoCL's is POCL_CACHE_DIR.
func BenchmarkFirstUse(b *testing.B) {
	folder := b.TempDir()
	run := func(name string, prepare func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				prepare()
				dev := cached(b, folder)
				q := gputest.Queue(b, dev)
				x := gputest.Alloc(b, dev, 64)
				y := gputest.Alloc(b, dev, 64)
				b.StartTimer()
				start := time.Now()
				require.NoError(b, q.Copy(gputest.Matrix(y, []int64{4, 4}, []int64{4, 1}), gputest.Matrix(x, []int64{4, 4}, []int64{1, 4})))
				require.NoError(b, q.Wait())
				b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "last-ms")
				b.StopTimer()
				require.NoError(b, dev.Close())
				b.StartTimer()
			}
		})
	}
	run("Compiled", func() {
		require.NoError(b, os.RemoveAll(filepath.Join(folder, "opencl")))
	})
	run("OnDisk", func() {})
}
