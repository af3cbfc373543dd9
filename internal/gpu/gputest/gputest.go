// Package gputest holds what tests of package gpu and of its drivers share: small
// helpers, and the tests that a device must pass whatever its driver.
package gputest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// Queue returns a new queue of a device.
func Queue(tb testing.TB, dev device.Device) *gpu.Queue {
	tb.Helper()
	q, err := dev.NewQueue()
	require.NoError(tb, err)
	return q.(*gpu.Queue)
}

// Alloc returns a buffer of a device, or of a queue.
func Alloc(tb testing.TB, from device.Allocator, bytes int64) *gpu.Buffer {
	tb.Helper()
	b, err := from.Alloc(bytes)
	require.NoError(tb, err)
	return b.(*gpu.Buffer)
}

// Matrix is a buffer as float32, from its first element on.
func Matrix(b device.Buffer, dims, strides []int64) device.Operand {
	return operand(b, layout.Float32, dims, strides, 0)
}

// Copies returns two copies of a small matrix that share a source.
func Copies(tb testing.TB, dev device.Device) (dsts [2]device.Operand, src device.Operand) {
	tb.Helper()
	src = Matrix(Alloc(tb, dev, 256), []int64{8, 8}, []int64{1, 8})
	for i := range dsts {
		dsts[i] = Matrix(Alloc(tb, dev, 256), []int64{8, 8}, []int64{8, 1})
	}
	return dsts, src
}

// Words is n elements of a buffer as uint32, from a given one on.
func Words(b device.Buffer, from, n int64) device.Operand {
	return operand(b, layout.Uint32, []int64{n}, []int64{1}, from)
}

// Bytes is the first n elements of a buffer as uint8.
func Bytes(b device.Buffer, n int64) device.Operand {
	return operand(b, layout.Uint8, []int64{n}, []int64{1}, 0)
}

func operand(b device.Buffer, t layout.DType, dims, strides []int64, offset int64) device.Operand {
	l, err := layout.Strided(dims, strides, offset)
	if err != nil {
		panic(err)
	}
	return device.Operand{Buffer: b, Layout: l, Type: t}
}

// Read returns the content of a buffer.
func Read(tb testing.TB, q device.Queue, b device.Buffer) []byte {
	tb.Helper()
	got := make([]byte, b.Size())
	require.NoError(tb, q.Read(got, b, 0))
	return got
}

// Fill sets every byte of a buffer.
func Fill(tb testing.TB, q device.Queue, b device.Buffer, value byte) {
	tb.Helper()
	require.NoError(tb, q.Fill(Bytes(b, b.Size()), []byte{value}))
}

// Random returns n bytes.
func Random(n int, seed uint64) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
