package gpu_test

import (
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/opencl"
)

// altered is a driver with other properties.
type altered struct {
	gpu.Driver
	gpu.Loader
	properties gpu.Properties
}

func (a altered) Properties() gpu.Properties { return a.properties }

// maker makes a device, with properties that a test may change.
type maker func(change func(*gpu.Properties)) *gpu.Device

// each runs a test on the fake and on OpenCL: on the device that the environment
// names (RESTRIDE_OPENCL_DEVICE=1), or the first one.
func each(t *testing.T, test func(*testing.T, maker)) {
	run := func(name string, driver func(*testing.T) gpu.Driver) {
		t.Run(name, func(t *testing.T) {
			test(t, func(change func(*gpu.Properties)) *gpu.Device {
				d := driver(t)
				a := altered{d, d.(gpu.Loader), d.Properties()}
				if change != nil {
					change(&a.properties)
				}
				dev := gpu.New(a)
				t.Cleanup(func() {
					_ = dev.Close()
					givenBack(t, dev)
					if f, ok := a.Driver.(*fake); ok {
						f.empty()
					}
				})
				return dev
			})
		})
	}
	run("Fake", func(t *testing.T) gpu.Driver { return newFake(t) })
	run("OpenCL", func(t *testing.T) gpu.Driver {
		index, _ := strconv.Atoi(os.Getenv("RESTRIDE_OPENCL_DEVICE"))
		dev, err := opencl.OpenWith(index, opencl.Options{})
		devicetest.Require(t, "opencl", err)
		return gpu.DriverOf(dev.Device)
	})
}

// open opens a device on a fake, and finally checks that everything was released.
func open(t testing.TB, f *fake) *gpu.Device {
	dev := gpu.New(f)
	t.Cleanup(func() {
		_ = dev.Close()
		givenBack(t, dev)
		f.empty()
	})
	return dev
}

// givenBack checks that a closed device holds nothing.
func givenBack(t testing.TB, dev *gpu.Device) {
	assert.Zero(t, dev.DeferredFrees())
	assert.Zero(t, dev.Held())
}

// hold keeps a fake's queue from running until the returned function is called, at the latest
// when the test ends.
func hold(t testing.TB, q *gpu.Queue) (letGo func()) {
	gate := &q.Stream().(*stream).gate
	gate.Lock()
	letGo = sync.OnceFunc(gate.Unlock)
	t.Cleanup(letGo)
	return letGo
}
