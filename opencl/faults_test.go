//go:build linux && (amd64 || arm64)

package opencl

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/faults"
)

// faultyDriver is the machine's drivers, each of whose functions can fail.
type faultyDriver struct {
	mu       sync.Mutex
	calls    map[string]int
	fault    faults.Fault
	left     int // calls that succeed first
	injected int
}

// codeAt is the index of the argument for the code, of functions that return a handle.
var codeAt = map[string]int{
	"clCreateContext": 5, "clCreateCommandQueue": 3, "clCreateBuffer": 4, "clEnqueueMapBuffer": 9,
	"clCreateSubBuffer": 4, "clCreateFromGLBuffer": 3, "clCreateProgramWithSource": 4, "clCreateProgramWithBinary": 6, "clCreateKernel": 2,
}

// failedWork is a fault of clGetEventInfo that reports failed work: the call succeeds.
const failedWork = "clGetEventInfo, the status"

// newFaultyDriver is inserted between package and drivers until the test ends. Such a test must
// not run in parallel with others.
func newFaultyDriver(t *testing.T) *faultyDriver {
	t.Helper()
	require.NoError(t, load())
	d := &faultyDriver{calls: map[string]int{}}
	for _, f := range functions {
		real := f.addr
		f.addr = purego.NewCallback(func(a, b, c, e, f0, g, h, i, j, k uintptr) uintptr {
			return d.call(f.name, real, []uintptr{a, b, c, e, f0, g, h, i, j, k})
		})
		t.Cleanup(func() { f.addr = real })
	}
	return d
}

// call is a call of a function of the driver.
func (d *faultyDriver) call(name string, real uintptr, args []uintptr) uintptr {
	code := d.next(name)
	at, handle := codeAt[name]
	switch {
	case code == 0:
	case handle:
		*(*int32)(dl.Pointer(args[at])) = code
		return 0
	default:
		return uintptr(uint32(code))
	}
	result := dl.Call(real, args...)
	if name == "clGetEventInfo" && int32(result) == 0 && *(*int32)(dl.Pointer(args[3])) == 0 {
		if code := d.next(failedWork); code != 0 {
			*(*int32)(dl.Pointer(args[3])) = code
		}
	}
	return result
}

// next counts a call, and returns the code with which it fails; 0: none.
func (d *faultyDriver) next(name string) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[name]++
	f := &d.fault
	if f.Call == "" || f.Call != name && (f.Kind != faults.Lost || d.left >= 0) {
		return 0
	}
	if f.Call == name && d.left >= 0 {
		if d.left--; d.left >= 0 {
			return 0
		}
	}
	d.injected++
	code := int32(f.Code)
	if f.Kind == faults.Once {
		*f = faults.Fault{}
	}
	return code
}

func (d *faultyDriver) Calls() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

func (d *faultyDriver) Fail(f faults.Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.left = f, f.After
}

func (d *faultyDriver) Injected() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.injected
}

// sweepTarget is the program on a device.
func sweepTarget(d *faultyDriver, index int) *faults.Target {
	return &faults.Target{
		Driver: d,
		Open: func(int) (device.Device, error) {
			dev, err := OpenWith(index, Options{})
			if err != nil {
				return nil, err
			}
			return dev, nil
		},
		Kernel: func(dev device.Device) (device.Kernel, error) { return dev.(*Device).Compile(userSource, "turned", "") },
		More:   adopted,
		Codes:  []int{memObjectAllocationFailure, outOfResources, outOfHostMemory, -14, -30, -34, -36, -59, -9999, 7},
		Kinds:  []faults.Kind{faults.Once, faults.Always, faults.Lost},
		Skip: func(f faults.Fault) string {
			if f.Call == failedWork && (f.Code > 0 || f.Kind == faults.Lost) {
				return "work has no such status"
			}
			return ""
		},
		Leaks: []faults.Balance{
			{Make: []string{"clCreateContext", "clRetainContext"}, End: []string{"clReleaseContext"}},
			{Make: []string{"clCreateCommandQueue", "clRetainCommandQueue"}, End: []string{"clReleaseCommandQueue"}},
			{Make: []string{"clCreateBuffer", "clCreateSubBuffer", "clRetainMemObject"}, End: []string{"clReleaseMemObject"}},
			{Make: []string{"clCreateProgramWithSource", "clCreateProgramWithBinary"}, End: []string{"clReleaseProgram"}},
			{Make: []string{"clCreateKernel"}, End: []string{"clReleaseKernel"}},
			{Make: []string{"clEnqueueMapBuffer"}, End: []string{"clEnqueueUnmapMemObject"}},
		},
	}
}

// adopted is work on an engine's queue and memory.
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
	q, err := dev.AdoptQueue(CommandQueueOf(p.Other))
	if err != nil {
		return err
	}
	if err := q.Write(same, 0, bytes.Repeat([]byte("adopted "), 512)); err != nil {
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
	errs := []error{same.Free(), q.Close()}
	if dev.driver.properties.onHost {
		host := bytes.Repeat([]byte("the host's memory"), 16)
		own, err := dev.AdoptHost(host, nil)
		if err == nil {
			err = errors.Join(p.Read(p.Queue, "memory of the host's", own), own.Free())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TestFaults fails each call of the driver, and checks the outcome of a program with all kinds
// of work: as many faults on each device as RESTRIDE_FAULTS says, otherwise a sample on the
// first one.
func TestFaults(t *testing.T) {
	openTest(t, Options{})
	t.Setenv("RESTRIDE_CACHE_DIR", t.TempDir()) // compiled once
	d := newFaultyDriver(t)
	for i, p := range devices().usable {
		if i > 0 && os.Getenv("RESTRIDE_FAULTS") == "" {
			break
		}
		t.Run(p.info.ID(), func(t *testing.T) {
			what, err := sweepTarget(d, i).Sweep()
			t.Log(what)
			require.NoError(t, err)
		})
	}
}
