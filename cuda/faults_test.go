package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/faults"
	"github.com/restride/restride/internal/soak"
)

// faultyDriver is the simulator.
type faultyDriver struct {
	knobs
	calls uintptr
	t     *testing.T
}

func newFaultyDriver(t *testing.T) *faultyDriver {
	k := simulated(t)
	lib, err := dl.Open(os.Getenv(library))
	require.NoError(t, err)
	calls, err := lib.Lookup("restrideSimCalls")
	require.NoError(t, err)
	return &faultyDriver{k, calls, t}
}

func (d *faultyDriver) Calls() map[string]int {
	room := make([]byte, 1<<16)
	n := dl.Call(d.calls, uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
	all := map[string]int{}
	for _, name := range strings.Fields(string(room[:n])) {
		all[name] = d.counter(name)
	}
	return all
}

func (d *faultyDriver) Fail(f faults.Fault) {
	if f.Call == "" {
		d.say("FAIL", "")
		return
	}
	d.say("FAIL", fmt.Sprintf("%s=%d:after=%d%s", f.Call, f.Code, f.After, [...]string{":times=1", "", ":times=1:lose"}[f.Kind]))
}

func (d *faultyDriver) Injected() int { return d.counter("injected") }

// sweepTarget is the program on two simulated devices, which are slow at random. Contexts
// live on from one run to the next, so that what is not given back is seen.
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
	same, err := dev.AdoptBuffer(PointerOf(b), 4096)
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

// TestFaults fails each call of the driver, and holds what becomes of a program of all
// kinds of work against what it should: all faults in soaks, else a sample.
func TestFaults(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := inChild(t, "^TestFaults$", "RESTRIDE_SIM_DEVICES=2", "RESTRIDE_SIM_DELAY=60", "RESTRIDE_FAULTS="+faultCount())
		require.NoError(t, err, "%s", out)
		t.Log(strings.Join(lines(out, "faults"), "\n"))
		return
	}
	target := sweepTarget(newFaultyDriver(t))
	sweep(t, target)
}

// faultCount is how many faults are tried: "all", or a number.
func faultCount() string {
	if soak.Enabled() {
		return "all"
	}
	return "60"
}

func sweep(t *testing.T, target *faults.Target) {
	all, err := target.Faults()
	require.NoError(t, err)
	number, seed := len(all), uint64(time.Now().UnixNano())
	if count := os.Getenv("RESTRIDE_FAULTS"); count != "all" {
		all = faults.Sample(all, 60, seed)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	silent, told := 0, 0
	functions := map[string]bool{}
	for _, f := range all {
		functions[f.Call] = true
		r, err := target.Try(f)
		if !assert.NoError(t, err) && errors.Is(err, faults.ErrHangs) {
			break
		}
		if r.Told != nil {
			told++
		} else {
			silent++
		}
	}
	t.Logf("%d of %d faults in %d functions, seed %d: %d were told, %d changed nothing", len(all), number, len(functions), seed, told, silent)
}
