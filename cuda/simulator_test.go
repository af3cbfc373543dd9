package cuda

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/internal/soak"
)

// TestConditions runs tests again with a device that is slow at random, with two devices, and
// with drivers that lack optional functions.
func TestConditions(t *testing.T) {
	if os.Getenv(child) != "" {
		t.Skip("in a process of its own")
	}
	// Kernels' results are the same everywhere: of the suite, the tests that depend on a
	// driver's memory and order.
	run, part := "^Test(Device|Queues|Capture)", "/^([01]|ManyQueues|CloseMeanwhile)$/^(Transfers|Alloc|Free|CloseDevice|TakeOrder|Order|Parallel)$"
	if soak.Enabled() {
		part = ""
	}
	for name, c := range map[string][]string{
		"Slow":           {"RESTRIDE_SIM_DELAY=150", "RESTRIDE_SIM_SEED=3"},
		"TwoDevices":     {"RESTRIDE_SIM_DEVICES=2", "RESTRIDE_SIM_SEED=4"},
		"NoPools":        {"RESTRIDE_SIM_FAIL=cuMemAllocFromPoolAsync=801,cuMemFreeAsync=801", "RESTRIDE_SIM_SEED=5"},
		"NoOwnPool":      {"RESTRIDE_SIM_FAIL=cuMemPoolCreate=801", "RESTRIDE_SIM_SEED=7"},
		"OldestGPU":      {"RESTRIDE_SIM_CAPABILITY=70", "RESTRIDE_SIM_DRIVER_VERSION=11000"},
		"LittleMemory":   {"RESTRIDE_SIM_MEMORY=67108864"},
		"NoPinnedMemory": {"RESTRIDE_SIM_FAIL=cuMemHostAlloc=2", "RESTRIDE_SIM_SEED=6"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := inChild(t, run+part, c...)
			require.NoError(t, err, "%s", out)
			want := []string{"--- PASS: TestDevice/0 "}
			if name == "TwoDevices" {
				want = append(want, "--- PASS: TestDevice/1 ")
			}
			for _, w := range want {
				assert.Contains(t, out, w)
			}
		})
	}
}

// Faults in the driver that the suite must detect.
func TestPlantedFaults(t *testing.T) {
	if os.Getenv(child) != "" {
		t.Skip("in a process of its own")
	}
	for fault, c := range map[string]struct{ test, word string }{
		"none":     {"Order", ""},
		"oob":      {"Runs", "ILLEGAL_ADDRESS"},
		"skipwait": {"Order", "PingPong"},
		"params":   {"Fill", "kernel "},
	} {
		t.Run(fault, func(t *testing.T) {
			out, err := inChild(t, "^TestDevice$/^0$/^"+c.test+"$", "RESTRIDE_SIM_PLANT="+fault, "RESTRIDE_SIM_DELAY=100", "RESTRIDE_SIM_SEED=1")
			if c.word == "" {
				require.NoError(t, err, "%s", out)
				return
			}
			require.Error(t, err, "the suite did not find the fault")
			assert.Contains(t, out, "--- FAIL: TestDevice/0/"+c.test)
			assert.Contains(t, out, c.word)
			assert.NotContains(t, out, "panic:")
		})
	}
}

// A device whose context is lost reports it in each call, and can be closed and reopened; the
// other device continues.
func TestLostDevice(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := inChild(t, "^TestLostDevice$", "RESTRIDE_SIM_DEVICES=2")
		require.NoError(t, err, "%s", out)
		t.Log(strings.Join(lines(out, "reason:"), "\n"))
		return
	}
	k := simulated(t)
	open := func(index int) (*Device, device.Queue, device.Buffer) {
		dev, err := OpenWith(index, Options{})
		require.NoError(t, err)
		return dev, gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
	}
	sick, q, b := open(0)
	healthy, q2, b2 := open(1)
	e, err := q.Record()
	require.NoError(t, err)
	host, err := sick.AllocHost(64)
	require.NoError(t, err)

	k.turn(t, "PLANT", "oob")
	require.NoError(t, q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4}))
	err = q.Wait()
	k.turn(t, "PLANT", "")
	t.Log("reason:", err)
	for range 2 {
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, device.ErrDriver)
		assert.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS (700)")
		err = q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4})
	}
	_, err = sick.Alloc(1 << 20)
	require.ErrorIs(t, err, ErrLost)
	_, err = q.Record()
	require.ErrorIs(t, err, ErrLost)
	_, err = q.(device.Recorder).Capture(func() error { return nil })
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, q.Read(make([]byte, 4), b, 0), ErrLost)
	require.True(t, e.Done())

	works := func(q device.Queue, b device.Buffer) {
		t.Helper()
		require.NoError(t, q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4}))
		got := make([]byte, 4)
		require.NoError(t, q.Read(got, b, 60))
		assert.Equal(t, []byte{1, 2, 3, 4}, got)
	}
	works(q2, b2)
	k.turn(t, "FAIL", "cuStreamWaitEvent=700:times=1") // of the other device
	require.ErrorIs(t, q2.(*gpu.Queue).Stream().WaitFor(&event{driver: sick.driver}), ErrLost)
	works(q2, b2)
	require.ErrorIs(t, sick.FreeHost(host[1:]), device.ErrInvalid)
	require.NoError(t, sick.FreeHost(host))
	require.NoError(t, b.Free())
	err = sick.Close()
	require.ErrorIs(t, err, ErrLost)
	t.Log("reason of Close:", err)
	works(q2, b2)
	sick, q, b = open(0)
	works(q, b)
	require.NoError(t, sick.Close())
	require.NoError(t, healthy.Close())
}

// Devices are independent.
func TestStrangers(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := inChild(t, "^TestStrangers$", "RESTRIDE_SIM_DEVICES=2")
		require.NoError(t, err, "%s", out)
		return
	}
	a, err := device.Open("cuda:0")
	require.NoError(t, err)
	b, err := device.Open("cuda:1")
	require.NoError(t, err)
	require.Equal(t, 1, b.Info().Index)
	qa, qb := gputest.Queue(t, a.(*Device)), gputest.Queue(t, b.(*Device))
	x, y := gputest.Alloc(t, a.(*Device), 64), gputest.Alloc(t, b.(*Device), 64)
	require.ErrorIs(t, qa.Copy(gputest.Words(x, 0, 4), gputest.Words(y, 0, 4)), device.ErrInvalid)
	e, err := qb.Record()
	require.NoError(t, err)
	require.ErrorIs(t, qa.WaitFor(e), device.ErrInvalid)
	_, err = a.(*Device).AdoptHandle(handleOf(y), 64, nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = a.(*Device).AdoptStream(StreamOf(qb))
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Adopt(Handles{b.(*Device).Handles().Context, 0}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = device.Open("cuda:2")
	require.ErrorIs(t, err, device.ErrNoDevice)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}
