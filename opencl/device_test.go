package opencl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

// listed returns the machine's devices, or skips the test.
func listed(t *testing.T) []device.Info {
	t.Helper()
	dev, err := device.Open("opencl")
	devicetest.Require(t, "opencl", err)
	require.NoError(t, dev.Close())
	all, _ := device.List() // errors of other backends do not matter
	var infos []device.Info
	for _, i := range all {
		if i.Backend == "opencl" {
			infos = append(infos, i)
		}
	}
	return infos
}

// TestDevice runs the suite on every device, with the planner that fits it: a sample on
// the first device, and the small suite on others; in a soak all of it, with both
// planners.
func TestDevice(t *testing.T) {
	t.Parallel() // with TestOclgrind
	planners := []opencl.Planner{opencl.Auto}
	if soak.Enabled() {
		planners = []opencl.Planner{opencl.Serial, opencl.Parallel}
	}
	for _, info := range listed(t) {
		for _, planner := range planners {
			t.Run(strings.TrimSuffix(fmt.Sprintf("%d/%s", info.Index, planner), "/"), func(t *testing.T) {
				t.Log(info.Name, "by", info.Driver)
				open := func() (*opencl.Device, error) {
					return opencl.OpenWith(info.Index, opencl.Options{Planner: planner})
				}
				dev, err := open()
				if errors.Is(err, device.ErrUnsupported) {
					t.Skip(err) // not every planner works on every device
				}
				require.NoError(t, err)
				require.NoError(t, dev.Close())
				devicetest.Suite{Small: info.Index > 0 && !soak.Enabled()}.Run(t, func(t *testing.T) device.Device {
					dev, err := open()
					require.NoError(t, err)
					return dev
				})
			})
		}
	}
}

// TestBugFirstWordOfItems: PoCL 3.1 must not miscompile a cast of 16 bits to 2 by the parallel
// planner, which lost the first two elements of eight.
func TestBugFirstWordOfItems(t *testing.T) {
	c, err := oracle.ParseCase("convert/uint16-uint2/8/dst=1@0/src=1@0")
	require.NoError(t, err)
	for _, info := range listed(t) {
		dev, err := opencl.OpenWith(info.Index, opencl.Options{Planner: opencl.Parallel})
		if errors.Is(err, device.ErrUnsupported) {
			continue
		}
		require.NoError(t, err)
		q, err := dev.NewQueue()
		require.NoError(t, err)
		require.NoError(t, oracle.CheckOn(dev, q, c, 1), info.Name)
		require.NoError(t, q.Close())
		require.NoError(t, dev.Close())
	}
}

// chain makes 50 views and copies, one after the other, and returns the result.
func chain(t *testing.T, s *tensor.Stream) []int32 {
	t.Helper()
	data := make([]int32, 2*3*5*7)
	for i := range data {
		data[i] = int32(i * i)
	}
	x, err := tensor.FromSlice(s, data, 2, 3, 5, 7)
	require.NoError(t, err)
	step := func(next *tensor.Tensor, err error) {
		t.Helper()
		require.NoError(t, err)
		require.NoError(t, x.Release())
		x = next
	}
	for range 25 {
		step(x.Transpose(2, 0, 3, 1))
		step(x.Reshape(7, 5, 3, 2)) // a view is impossible
	}
	values, err := tensor.Values[int32](x)
	require.NoError(t, err)
	require.NoError(t, x.Release())
	return values
}

// TestNoHiddenTransfers counts the transfers to and from the device in a chain of 50 calls: its
// input and its output, once each.
func TestNoHiddenTransfers(t *testing.T) {
	host, err := tensor.Open("cpu")
	require.NoError(t, err)
	want := chain(t, host)
	require.NoError(t, host.Close())
	for _, info := range listed(t) {
		t.Run(info.ID(), func(t *testing.T) {
			s, err := tensor.Open(info.ID())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			before := s.Device().Stats()
			got := chain(t, s)
			stats := s.Device().Stats()
			assert.Equal(t, want, got)
			assert.EqualValues(t, 1, stats.Uploads-before.Uploads)
			assert.EqualValues(t, 1, stats.Downloads-before.Downloads)
			assert.EqualValues(t, 4*len(want), stats.HostToDevice-before.HostToDevice)
			assert.EqualValues(t, 4*len(want), stats.DeviceToHost-before.DeviceToHost)
			assert.EqualValues(t, 25, stats.Launches-before.Launches)
			assert.Zero(t, stats.Live)
		})
	}
}
