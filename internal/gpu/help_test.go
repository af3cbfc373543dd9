package gpu_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
)

// altered is a driver that says something else of its device.
type altered struct {
	gpu.Driver
	properties gpu.Properties
}

func (a altered) Properties() gpu.Properties { return a.properties }

// maker makes a device, with traits that are changed where a test needs it.
type maker func(change func(*gpu.Properties)) *gpu.Device

// each runs a test on the fake and on OpenCL: on the device that the environment
// names (RESTRIDE_OPENCL_DEVICE=1), or the first one.
func each(t *testing.T, test func(*testing.T, maker)) {
	run := func(name string, driver func(*testing.T) gpu.Driver) {
		t.Run(name, func(t *testing.T) {
			test(t, func(change func(*gpu.Properties)) *gpu.Device {
				a := altered{Driver: driver(t)}
				a.properties = a.Driver.Properties()
				if change != nil {
					change(&a.properties)
				}
				dev := gpu.New(a)
				t.Cleanup(func() {
					_ = dev.Close()
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

// open makes a device of a fake, and checks in the end that all was given back.
func open(t testing.TB, f *fake) *gpu.Device {
	dev := gpu.New(f)
	t.Cleanup(func() {
		_ = dev.Close()
		f.empty()
	})
	return dev
}

func queueOf(t testing.TB, dev *gpu.Device) *gpu.Queue {
	t.Helper()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	return q.(*gpu.Queue)
}

// hold keeps a fake's queue from going on until the function that it returns is
// called, at the latest when the test ends.
func hold(t testing.TB, q *gpu.Queue) (letGo func()) {
	gate := &q.Stream().(*stream).gate
	gate.Lock()
	letGo = sync.OnceFunc(gate.Unlock)
	t.Cleanup(letGo)
	return letGo
}

func alloc(t testing.TB, dev *gpu.Device, bytes int64) *gpu.Buffer {
	t.Helper()
	b, err := dev.Alloc(bytes)
	require.NoError(t, err)
	return b.(*gpu.Buffer)
}

// row is a buffer of so many bytes seen as a row of them.
func row(b device.Buffer, n int64) device.Operand {
	l, err := layout.Contiguous(n)
	if err != nil {
		panic(err)
	}
	return device.Operand{Buffer: b, Layout: l, Type: layout.Uint8}
}

// floats is a buffer seen as a matrix.
func floats(b device.Buffer, dims, strides []int64) device.Operand {
	l, err := layout.Strided(dims, strides, 0)
	if err != nil {
		panic(err)
	}
	return device.Operand{Buffer: b, Layout: l, Type: layout.Float32}
}

func fill(t testing.TB, q device.Queue, b device.Buffer, value byte) {
	t.Helper()
	require.NoError(t, q.Fill(row(b, b.Size()), []byte{value}))
}

func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
