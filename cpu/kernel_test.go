package cpu_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
)

// The kernels of devicetest.Kernels.
var kernels = map[string]any{
	"scale": func(y []float32, yOff int64, y0, y1 int32, x []float32, xOff int64, _, _ int32, x0, x1 int64, by float32) func(cpu.Block) {
		return func(b cpu.Block) {
			for ti := range b.Size[0] {
				for tj := range b.Size[1] {
					i, j := b.At[0]*b.Size[0]+ti, b.At[1]*b.Size[1]+tj
					y[int(yOff)+i*int(y0)+j*int(y1)] = by * x[int(xOff)+i*int(x0)+j*int(x1)]
				}
			}
		}
	},
	"turned": func(y []uint32) func(cpu.Block) {
		return func(b cpu.Block) {
			n, room := b.Size[0], cpu.Local[uint32](b)
			mine := y[b.At[0]*n:][:n]
			copy(room, mine)
			for i := range mine {
				mine[i] = room[n-1-i]
			}
		}
	},
}

func TestUserKernels(t *testing.T) {
	devicetest.Kernels(t, open(t), open(t), func(_ device.Device, name string) (device.Kernel, error) {
		return cpu.Kernel(name, kernels[name])
	})
}

// launching opens a device, and returns a function that launches Go functions on its queue.
func launching(t *testing.T) (device.Device, device.Queue, func(f any, grid, block device.Dim3, args ...any) error) {
	dev := open(t)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	t.Cleanup(func() { _ = dev.Close() })
	return dev, q, func(f any, grid, block device.Dim3, args ...any) error {
		k, err := cpu.Kernel("f", f)
		require.NoError(t, err)
		return errors.Join(q.(device.Launcher).Launch(k, grid, block, args...), k.Close())
	}
}

// Parameters of all kinds, of named types, and memory of no or odd sizes.
func TestKernelKinds(t *testing.T) {
	dev, _, launch := launching(t)
	type pair struct {
		A int32
		B [2]float32
	}
	type words []uint16
	odd, err := dev.Alloc(7)
	require.NoError(t, err)
	none, err := dev.Alloc(0)
	require.NoError(t, err)
	var got []any
	one := device.Dim3{1}
	raw := binary.LittleEndian.AppendUint64([]byte{4, 0, 0, 0}, 0x40000000_3f800000)
	f := func(w words, p []pair, a int8, b uint16, c int, d uint, e float64, x pair, z complex64) func(cpu.Block) {
		return func(cpu.Block) { got = []any{len(w), len(p), a, b, c, d, e, x, z} }
	}
	require.NoError(t, launch(f, one, one, odd, none, -3, uint16(65535), -1<<40, 7, 2.5, raw, raw[4:]))
	assert.Equal(t, []any{3, 0, int8(-3), uint16(65535), -1 << 40, uint(7), 2.5, pair{4, [2]float32{1, 2}}, complex64(complex(1, 2))}, got)

	shifted := cpu.Wrap(make([]byte, 64)[1:])
	strs, err := dev.(device.StringAllocator).AllocStrings(4)
	require.NoError(t, err)
	g := func([]float32, float32) func(cpu.Block) { return func(cpu.Block) { t.Error("it ran") } }
	for says, args := range map[string][]any{
		"Launch of kernel \"f\": argument 0 lies at an address that is not a multiple of 4, as []float32 needs": {shifted, float32(1)},
		"argument 0 holds strings": {strs, float32(1)},
		"argument 1 for parameter 1, float32, is []byte of 12 bytes; the parameter has 4": {none, raw},
		"1048580 bytes of local memory; a block has at most 1048576":                      {none, float32(1), device.Local(1 << 20), device.Local(4)},
	} {
		err := launch(g, one, one, args...)
		require.ErrorIs(t, err, device.ErrInvalid, says)
		assert.ErrorContains(t, err, says)
	}
	err = launch(g, device.Dim3{1 << 31, 1 << 31, 2}, one, none, float32(1))
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "has too many")
}

func TestKernelRefusals(t *testing.T) {
	for says, f := range map[string]any{
		`Kernel "f": a <nil> is not a function`:     nil,
		"a int is not a function":                   3,
		"a func() is not a function":                (func())(nil),
		"a func(int): want a function with":         func(int) {},
		"a func() func(): want a function with":     func() func() { return nil },
		"want a function with the":                  func(...int) func(cpu.Block) { return nil },
		"parameter 1 is a []string: want a slice":   func(int, []string) func(cpu.Block) { return nil },
		"parameter 0 is a []int: want":              func([]int) func(cpu.Block) { return nil },
		"parameter 0 is a bool: want":               func(bool) func(cpu.Block) { return nil },
		"parameter 0 is a *int32: want":             func(*int32) func(cpu.Block) { return nil },
		"parameter 0 is a []struct { p *int }: wan": func([]struct{ p *int }) func(cpu.Block) { return nil },
		"parameter 0 is a []struct {}: want":        func([]struct{}) func(cpu.Block) { return nil },
	} {
		k, err := cpu.Kernel("f", f)
		require.Nil(t, k)
		require.ErrorIs(t, err, device.ErrInvalid, says)
		assert.ErrorContains(t, err, says)
	}
}

// Each block runs once, whether the caller alone runs them or workers do, too.
func TestKernelBlocks(t *testing.T) {
	_, _, launch := launching(t)
	for _, grid := range []device.Dim3{{1}, {7}, {3, 5, 2}, {5000}, {1, 700, 3}} {
		var count [5000]atomic.Int32
		var sum atomic.Int64
		f := func(slow int) func(cpu.Block) {
			return func(b cpu.Block) {
				assert.Equal(t, [3]int{4, 2, 1}, b.Size)
				n := (b.At[2]*b.Grid[1]+b.At[1])*b.Grid[0] + b.At[0]
				count[n].Add(1)
				for i := range slow {
					sum.Add(int64(i))
				}
			}
		}
		for i, slow := range []int{0, 2000} {
			require.NoError(t, launch(f, grid, device.Dim3{4, 2}, slow))
			for n := range max(grid[0], 1) * max(grid[1], 1) * max(grid[2], 1) {
				require.EqualValues(t, i+1, count[n].Load(), grid)
			}
		}
	}
}

// A kernel that panics, or that ends its goroutine, is an error of its launch that names kernel,
// block and place; queues, devices and workers go on.
func TestKernelPanics(t *testing.T) {
	dev, q, launch := launching(t)
	b, err := dev.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, q.Write(b, 0, bytes.Repeat([]byte{1}, 64)))
	slow := func() { time.Sleep(50 * time.Microsecond) } // for workers to come
	for says, f := range map[string]any{
		`Launch of kernel "f": panic in block [0 0 0], at kernel_test.go:`: func(x []int32) func(cpu.Block) {
			return func(b cpu.Block) { x[len(x)+b.At[1]]++ }
		},
		"runtime error: index out of range [99] with length 16": func(x []int32) func(cpu.Block) {
			return func(b cpu.Block) {
				slow()
				if b.At == [3]int{30, 2, 0} {
					x[99+b.At[2]]++
				}
			}
		},
		`\x1b[31m\n`: func([]int32) func(cpu.Block) { return func(cpu.Block) { panic("\x1b[31m\n") } },
		"panic before its blocks, at kernel_test.go": func([]int32) func(cpu.Block) { panic("no") },
		"nil pointer":                          func([]int32) func(cpu.Block) { return func(cpu.Block) { var p *cpu.Block; p.At[0]++ } },
		"the kernel's function returned nil":   func([]int32) func(cpu.Block) { return nil },
		"panic called with nil":                func([]int32) func(cpu.Block) { return func(cpu.Block) { panic(nil) } },
		"cpu.Local of string, which is not ma": func([]int32) func(cpu.Block) { return func(b cpu.Block) { cpu.Local[string](b) } },
	} {
		err := launch(f, device.Dim3{100, 3}, device.Dim3{1}, b)
		require.ErrorIs(t, err, device.ErrInvalid, says)
		assert.ErrorContains(t, err, says)
	}
	for range 20 { // the caller's goroutine, or a worker's
		var all sync.WaitGroup
		all.Go(func() {
			err := launch(func() func(cpu.Block) {
				return func(b cpu.Block) {
					if slow(); b.At[0] == 90 {
						runtime.Goexit()
					}
				}
			}, device.Dim3{200}, device.Dim3{1})
			assert.ErrorContains(t, err, "the kernel ended its goroutine (runtime.Goexit) in block [90 0 0]")
		})
		all.Wait()
		var blocks atomic.Int32
		f := func() func(cpu.Block) { return func(cpu.Block) { slow(); blocks.Add(1) } }
		require.NoError(t, launch(f, device.Dim3{50}, device.Dim3{1}))
		require.EqualValues(t, 50, blocks.Load())
	}
	got := make([]byte, 64)
	require.NoError(t, q.Read(got, b, 0))
	assert.Equal(t, bytes.Repeat([]byte{1}, 64), got)
	require.NoError(t, b.Free())
	require.NoError(t, q.Close())
	require.NoError(t, dev.Close())
}

// Memory that is freed meanwhile stays until the kernel is over.
func TestKernelKeepsMemory(t *testing.T) {
	dev, q, launch := launching(t)
	b, err := dev.Alloc(1 << 20)
	require.NoError(t, err)
	began, freed := make(chan bool), make(chan error)
	go func() {
		<-began
		freed <- b.Free()
	}()
	require.NoError(t, launch(func(x []byte) func(cpu.Block) {
		return func(cpu.Block) {
			began <- true
			assert.NoError(t, <-freed)
			c, err := dev.Alloc(1 << 20) // of the pool
			assert.NoError(t, err)
			mine, _ := cpu.Bytes(c)
			clear(mine)
			for i := range x {
				x[i] = 1
			}
			assert.Equal(t, make([]byte, 1<<20), mine)
			assert.NoError(t, c.Free())
		}
	}, device.Dim3{1}, device.Dim3{1}, b))
	assert.Zero(t, dev.Stats().Buffers)
	require.NoError(t, q.Close())
}

// Launches of one kernel by several goroutines and queues, with copies between them.
func TestKernelParallel(t *testing.T) {
	dev, one, _ := launching(t)
	k, err := cpu.Kernel("add", func(y, x []uint32) func(cpu.Block) {
		return func(b cpu.Block) {
			for i := range b.Size[0] {
				y[b.At[0]*b.Size[0]+i] += x[b.At[0]*b.Size[0]+i]
			}
		}
	})
	require.NoError(t, err)
	const n, rounds = 1 << 14, 30
	l, err := layout.Contiguous(n)
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 4 {
		q := one
		if i%2 == 1 {
			q, err = dev.NewQueue()
			require.NoError(t, err)
		}
		all.Go(func() {
			var b [3]device.Operand
			for i := range b {
				mem, err := dev.Alloc(4 * n)
				assert.NoError(t, err)
				b[i] = device.Operand{Buffer: mem, Layout: l, Type: layout.Uint32}
				assert.NoError(t, q.Fill(b[i], []byte{1, 0, 0, 0}))
			}
			for range rounds {
				assert.NoError(t, q.(device.Launcher).Launch(k, device.Dim3{n / 64}, device.Dim3{64}, b[0], b[1]))
				assert.NoError(t, q.Copy(b[2], b[0]))
			}
			got := make([]byte, 4*n)
			assert.NoError(t, q.Read(got, b[2].Buffer, 0))
			assert.Equal(t, bytes.Repeat([]byte{rounds + 1, 0, 0, 0}, n), got)
		})
	}
	all.Wait()
	require.NoError(t, k.Close())
}

// TestKernelExample runs the example program.
func TestKernelExample(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		devicetest.Require(t, "compilers", err)
	}
	cmd := exec.Command("go", "run", "../examples/kernel/cpu")
	cmd.Env = append(os.Environ(), "GOARCH=") // the machine's own, in an emulator, too
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "float[3,2] on cpu:\n[[10. 40.]\n [20. 50.]\n [30. 60.]]\n", strings.ReplaceAll(string(out), "\r\n", "\n"))
}
