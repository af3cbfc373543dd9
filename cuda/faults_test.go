package cuda

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/faults"
)

// faultyDriver is the simulator.
type faultyDriver struct {
	knobs
	t *testing.T
}

func newFaultyDriver(t *testing.T) *faultyDriver { return &faultyDriver{simulated(t), t} }

func (d *faultyDriver) Fail(f faults.Fault) {
	if f.Call == "" {
		d.Set("FAIL", "")
		return
	}
	d.Set("FAIL", fmt.Sprintf("%s=%d:after=%d%s", f.Call, f.Code, f.After, [...]string{":times=1", "", ":times=1:lose"}[f.Kind]))
}

func (d *faultyDriver) Injected() int { return d.Count("injected") }

// sweepTarget is the program on two simulated devices, which are slow at random. Contexts
// survive from one run to the next, so that leaks are found.
func sweepTarget(d *faultyDriver) *faults.Target {
	return &faults.Target{
		Driver: d,
		Open: func(i int) (device.Device, error) {
			dev, err := OpenWith(i, Options{})
			if err != nil {
				return nil, err
			}
			return dev, nil
		},
		Second: true,
		Kernel: func(dev device.Device) (device.Kernel, error) { return dev.(*Device).Load(userPTX, "turned") },
		More:   adopted,
		Codes:  []int{1, 2, 201, 304, 400, 600, 700, 719, 801, 999},
		Kinds:  []faults.Kind{faults.Once, faults.Always, faults.Lost},
		Skip: func(f faults.Fault) string {
			switch {
			case f.Kind == faults.Lost && !lost[int64(f.Code)]:
				return "contexts are lost with other codes"
			case f.Call == "cuEventQuery" && f.Code == codeNotReady && f.Kind == faults.Always:
				return "that is work without an end"
			}
			return ""
		},
		Dead: ErrLost,
		Leaks: []faults.Balance{
			{Make: []string{"cuMemAlloc"}, End: []string{"cuMemFree"}},
			{Make: []string{"cuMemAllocAsync", "cuMemAllocFromPoolAsync"}, End: []string{"cuMemFreeAsync"}},
			{Make: []string{"cuMemHostAlloc"}, End: []string{"cuMemFreeHost"}},
			{Make: []string{"cuMemPoolCreate"}, End: []string{"cuMemPoolDestroy"}},
			{Make: []string{"cuStreamCreate"}, End: []string{"cuStreamDestroy"}},
			{Make: []string{"cuEventCreate"}, End: []string{"cuEventDestroy"}},
			{Make: []string{"cuModuleLoadDataEx"}, End: []string{"cuModuleUnload"}},
			{Make: []string{"cuGraphInstantiateWithFlags"}, End: []string{"cuGraphExecDestroy"}},
			{Make: []string{"cuStreamEndCapture"}, End: []string{"cuGraphDestroy"}},
			{Make: []string{"cuDevicePrimaryCtxRetain"}, End: []string{"cuDevicePrimaryCtxRelease"}},
		},
	}
}

// adopted is work on an engine's stream and memory.
func adopted(p *faults.Program) error {
	dev := p.Device.(*Device)
	b, err := dev.Alloc(4096)
	if err != nil {
		return err
	}
	same, err := dev.AdoptHandle(handleOf(b), 4096, nil)
	if err != nil {
		return err
	}
	q, err := dev.AdoptStream(StreamOf(p.Other))
	if err != nil {
		return err
	}
	if err := q.Write(same, 0, []byte(strings.Repeat("adopted ", 512))); err != nil {
		return err
	}
	c, err := dev.Alloc(4096)
	if err != nil {
		return err
	}
	if err := dev.CopyByDriver(q, c, same, 4096); err != nil {
		return err
	}
	if err := p.Read(q, "what was copied by the driver", c); err != nil {
		return err
	}
	return errors.Join(same.Free(), q.Close())
}

// TestFaults fails each call of the driver, and checks the outcome of a program with all kinds
// of work: as many faults as RESTRIDE_FAULTS says, otherwise a sample.
func TestFaults(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := inChild(t, "^TestFaults$", "RESTRIDE_SIM_DEVICES=2", "RESTRIDE_SIM_DELAY=60")
		require.NoError(t, err, "%s", out)
		t.Log(strings.Join(lines(out, "faults in"), "\n"))
		return
	}
	what, err := sweepTarget(newFaultyDriver(t)).Sweep()
	t.Log(what)
	require.NoError(t, err)
}
