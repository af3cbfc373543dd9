package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// gpu is a device that claims to be a GPU with a given memory, and counts the host's writes to
// it.
type gpu struct {
	device.Device
	memory  int64
	written int64
	fullest int64
}

func (g *gpu) Info() device.Info {
	info := g.Device.Info()
	info.Kind = device.GPU
	return info
}

func (g *gpu) Alloc(n int64) (device.Buffer, error) {
	live := g.Stats().Live + n
	if live > g.memory {
		return nil, device.ErrOutOfMemory
	}
	g.fullest = max(g.fullest, live)
	return g.Device.Alloc(n)
}

func (g *gpu) NewQueue() (device.Queue, error) {
	q, err := g.Device.NewQueue()
	return gpuQueue{q, g}, err
}

type gpuQueue struct {
	device.Queue
	g *gpu
}

func (q gpuQueue) Write(b device.Buffer, at int64, data []byte) error {
	q.g.written += int64(len(data))
	return q.Queue.Write(b, at, data)
}

// bytesOf reads all buffers but dst's.
func bytesOf(t *testing.T, q device.Queue, o *Operands) (all [][]byte) {
	for _, b := range o.buffers()[1:] {
		data := make([]byte, b.Size())
		require.NoError(t, q.Read(data, b, 0))
		all = append(all, data)
	}
	return all
}

// To a GPU the host writes noise once, and indices and conditions once a pass; operands hold
// the same as elsewhere.
func TestContentsOfGPU(t *testing.T) {
	dev := &gpu{Device: onCPU(t), memory: 1 << 40}
	q, err := dev.NewQueue()
	require.NoError(t, err)
	r := &runner{Options: Options{Seed: 7, footprint: 1}, dev: dev, q: q, contents: contents{seed: 7, kept: map[string][]byte{}, room: mostKept}}
	require.NoError(t, r.hold(4<<20))
	for _, c := range some(t, "^(c-heads/16|take-elements/32|put-rows/16|where-|map-nibbles/|dequantize-groups/)") {
		at, err := c.At(1 << 20)
		require.NoError(t, err)
		host, err := NewOperands(dev.Device, at)
		require.NoError(t, err)
		require.NoError(t, host.Fill(q.(gpuQueue).Queue, r.noise, 7))
		made := int64(0)
		for _, b := range []device.Buffer{host.At.Buffer, host.cond.Buffer} {
			if b != nil {
				made += b.Size()
			}
		}
		for range 2 {
			dev.written = 0
			all, err := r.operands(at)
			require.NoError(t, err)
			assert.Equal(t, made, dev.written, c.Name)
			require.Len(t, all, 2)
			for i := range all {
				assert.Equal(t, bytesOf(t, q, &host), bytesOf(t, q, &all[i]), "%s, operands %d", c.Name, i)
				require.NoError(t, all[i].Free())
			}
		}
		require.NoError(t, host.Free())
	}
	require.NoError(t, r.dropMirror())
	require.NoError(t, q.Close())
}

// Indices and conditions are kept while there is room.
func TestKept(t *testing.T) {
	c := &contents{noise: make([]byte, 64), seed: 1, kept: map[string][]byte{}, room: 100}
	small := parse(t, "take/float/16/dst=1@0/src=0@0/at=1@0/int32/by=0:100:1/wrong=0")
	large := parse(t, "take/float/8/dst=1@0/src=0@0/at=1@0/int64/by=0:100:1/wrong=0")
	for range 2 {
		assert.Equal(t, indices(small, 64, 1), c.made(&small, 64))
		assert.Equal(t, indices(large, 64, 1), c.made(&large, 64))
	}
	assert.Len(t, c.kept, 1)
	assert.EqualValues(t, 36, c.room)
}

// A run on a GPU gives the same, and releases all memory. If memory is short, the host writes
// instead of copying its noise on the device.
func TestRunOnGPU(t *testing.T) {
	run := func(memory int64) *gpu {
		dev := &gpu{Device: onCPU(t), memory: memory}
		list := some(t, "^(d-every-second/32|kv-cache-append/16|take-rows/16|put-rows/16|where-mask/16)$")
		r, err := Run(context.Background(), dev, Options{Cases: list, Size: 2 << 20, Time: time.Nanosecond, footprint: 1})
		require.NoError(t, err)
		for _, c := range r.Cases {
			assert.Empty(t, c.Error, c.Name)
			assert.Contains(t, c.Verified, "every bit", c.Name)
		}
		assert.Zero(t, dev.Stats().Buffers)
		return dev
	}
	roomy := run(1 << 40)
	scarce := run(roomy.fullest - 1)
	assert.Less(t, scarce.fullest, roomy.fullest)
	assert.Greater(t, scarce.written, roomy.written)
}
