package cpu_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/layout"
)

// of returns a run of elements of a buffer.
func of(t *testing.T, b device.Buffer, dtype layout.DType, n int64) device.Operand {
	l, err := layout.Contiguous(n)
	require.NoError(t, err)
	return device.Operand{Buffer: b, Layout: l, Type: dtype}
}

func captured(t *testing.T, q device.Queue, f func() error) device.Replay {
	r, err := q.(device.Recorder).Capture(f)
	require.NoError(t, err)
	return r
}

// Runs by several goroutines follow one another; frees, Close of the replay, of the queue and of
// the device wait for them.
func TestReplayMeanwhile(t *testing.T) {
	for _, closer := range []string{"replay", "queue", "device"} {
		dev := open(t)
		q, err := dev.NewQueue()
		require.NoError(t, err)
		const n = 1 << 17
		a, err := dev.Alloc(n)
		require.NoError(t, err)
		b, err := dev.Alloc(n)
		require.NoError(t, err)
		require.NoError(t, q.Write(a, 0, make([]byte, n)))
		k, err := cpu.Kernel("add", func(x []byte) func(cpu.Block) {
			return func(b cpu.Block) {
				for i := range x[b.At[0]*1024:][:1024] {
					x[b.At[0]*1024+i]++
				}
			}
		})
		require.NoError(t, err)
		r := captured(t, q, func() error {
			return errors.Join(q.(device.Launcher).Launch(k, device.Dim3{n / 1024}, device.Dim3{1024}, a),
				q.Copy(of(t, b, layout.Uint8, n), of(t, a, layout.Uint8, n)))
		})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 25 {
					if err := r.Run(); err != nil {
						assert.ErrorIs(t, err, device.ErrClosed)
						return
					}
				}
			})
		}
		if closer == "replay" {
			all.Wait()
			got := make([]byte, n)
			require.NoError(t, q.Read(got, b, 0))
			require.Equal(t, bytes.Repeat([]byte{100}, n), got)
		}
		require.NoError(t, k.Close())
		require.NoError(t, a.Free())
		require.NoError(t, map[string]func() error{"replay": r.Close, "queue": q.Close, "device": dev.Close}[closer]())
		all.Wait()
		require.ErrorIs(t, r.Run(), device.ErrClosed)
		require.ErrorIs(t, r.Close(), device.ErrClosed)
		if closer != "device" {
			require.NoError(t, b.Free())
			require.Zero(t, dev.Stats().Live)
			require.NoError(t, dev.Close())
		}
	}
}

// Strings are captured like other elements, and work after a call that fails is done.
func TestReplayOfStrings(t *testing.T) {
	dev := open(t)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	words := q.(device.StringQueue)
	a, err := dev.(device.StringAllocator).AllocStrings(3)
	require.NoError(t, err)
	b, err := dev.(device.StringAllocator).AllocStrings(3)
	require.NoError(t, err)
	at, err := dev.Alloc(12)
	require.NoError(t, err)
	require.NoError(t, q.Write(at, 0, []byte{2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}))
	table := of(t, a, layout.String, 3)
	table.Layout, err = layout.Strided([]int64{3}, []int64{0}, 0)
	require.NoError(t, err)
	first := of(t, a, layout.String, 1)
	r := captured(t, q, func() error {
		return errors.Join(words.FillString(of(t, b, layout.String, 3), "-"),
			q.Take(of(t, b, layout.String, 3), table, of(t, at, layout.Int32, 3), layout.Index{Extent: 3, Stride: 1}),
			words.FillString(first, "done"))
	})
	for _, list := range [][]string{{"a", "b", "c"}, {"x", "y", "z"}} {
		require.NoError(t, words.WriteStrings(a, 0, list))
		err := r.Run()
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "index 9 is outside")
		got := make([]string, 3)
		require.NoError(t, words.ReadStrings(got, b, 0))
		require.Equal(t, []string{list[2], "-", list[0]}, got)
		require.NoError(t, words.ReadStrings(got, a, 0))
		require.Equal(t, "done", got[0])
	}
	_, err = q.(device.Recorder).Capture(func() error { return words.WriteStrings(a, 0, []string{"no"}) })
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "WriteStrings: the queue is capturing")
	require.NoError(t, dev.Close())
}

// A kernel that panics in a replay is an error of that run.
func TestReplayPanics(t *testing.T) {
	dev, q, _ := launching(t)
	b, err := dev.Alloc(4)
	require.NoError(t, err)
	k, err := cpu.Kernel("odd", func(x []byte) func(cpu.Block) {
		return func(cpu.Block) {
			if x[0]%2 == 1 {
				panic("odd")
			}
		}
	})
	require.NoError(t, err)
	r := captured(t, q, func() error { return q.(device.Launcher).Launch(k, device.Dim3{2}, device.Dim3{1}, b) })
	for i := range byte(6) {
		require.NoError(t, q.Write(b, 0, []byte{i}))
		if err := r.Run(); i%2 == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, `Launch of kernel "odd": panic in block [0 0 0]`)
		}
	}
	require.NoError(t, r.Close())
}

func TestReplayAllocatesNothing(t *testing.T) {
	dev, q, _ := launching(t)
	a, err := dev.Alloc(4096)
	require.NoError(t, err)
	b, err := dev.Alloc(4096)
	require.NoError(t, err)
	r := captured(t, q, func() error {
		return errors.Join(q.Fill(of(t, a, layout.Uint8, 64), []byte{1}), q.Copy(of(t, b, layout.Uint8, 4096), of(t, a, layout.Uint8, 4096)),
			q.Convert(of(t, b, layout.Float32, 64), of(t, a, layout.Int8, 64), device.Rounding{}))
	})
	require.NoError(t, r.Run())
	if !race.Enabled { // under it, sync.Pool drops items at random
		require.Zero(t, testing.AllocsPerRun(100, func() { assert.NoError(t, r.Run()) }))
	}
	require.NoError(t, r.Close())
}

func BenchmarkReplay(b *testing.B) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	q, err := dev.NewQueue()
	require.NoError(b, err)
	mem, err := dev.Alloc(4096)
	require.NoError(b, err)
	l, err := layout.Contiguous(64)
	require.NoError(b, err)
	f := func() error { return q.Fill(device.Operand{Buffer: mem, Layout: l, Type: layout.Uint8}, []byte{1}) }
	r, err := q.(device.Recorder).Capture(func() (err error) {
		for range 100 {
			err = errors.Join(err, f())
		}
		return err
	})
	require.NoError(b, err)
	b.Run("Calls", func(b *testing.B) {
		for b.Loop() {
			for range 100 {
				_ = f()
			}
		}
	})
	b.Run("Run", func(b *testing.B) {
		for b.Loop() {
			_ = r.Run()
		}
	})
	require.NoError(b, dev.Close())
}
