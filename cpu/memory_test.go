package cpu_test

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func operand(t testing.TB, buf device.Buffer, typ layout.DType, dims ...int64) device.Operand {
	l, err := layout.Contiguous(dims...)
	require.NoError(t, err)
	return device.Operand{Buffer: buf, Layout: l, Type: typ}
}

func TestRegistered(t *testing.T) {
	dev, err := device.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	info := dev.Info()
	require.Equal(t, "cpu", info.ID())
	require.Equal(t, device.CPU, info.Kind)
	require.NotEmpty(t, info.Name)
	require.True(t, info.Strings)
	if runtime.GOOS == "linux" {
		require.Greater(t, info.Memory, int64(1<<20))
	}
	_, err = device.Open("cpu:1")
	require.ErrorIs(t, err, device.ErrNoDevice)
}

func TestAbsurdSizes(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	for _, size := range []int64{1 << 44, 1 << 62, math.MaxInt64} {
		_, err := dev.Alloc(size)
		require.ErrorIs(t, err, device.ErrOutOfMemory, "%d bytes", size)
		_, err = dev.(device.StringAllocator).AllocStrings(size)
		require.ErrorIs(t, err, device.ErrOutOfMemory, "%d strings", size)
	}
	_, err := dev.Alloc(-1)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = dev.(device.StringAllocator).AllocStrings(-1)
	require.ErrorIs(t, err, device.ErrInvalid)
	require.Zero(t, dev.Stats().Reserved)
	require.Zero(t, dev.Stats().Live)
}

// Memory is counted before it is asked for: many buffers that nobody touches
// must end in an error, not in a dead process.
func TestOutOfMemory(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	if dev.Info().Memory == 0 {
		t.Skip("the system does not say how much memory there is")
	}
	part := dev.Info().Memory / 4
	var kept []device.Buffer
	for range 8 {
		buf, err := dev.Alloc(part)
		if err != nil {
			require.ErrorIs(t, err, device.ErrOutOfMemory)
			require.ErrorContains(t, err, "Alloc")
			break
		}
		kept = append(kept, buf)
	}
	require.Less(t, len(kept), 5)
	for _, buf := range kept {
		require.NoError(t, buf.Free())
	}
	buf, err := dev.Alloc(1 << 20)
	require.NoError(t, err)
	require.NoError(t, buf.Free())
}

func TestBlocksAreAligned(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	for _, size := range []int64{1, 65, 100, 4096, 100_000, 3 << 20} {
		buf, err := dev.Alloc(size)
		require.NoError(t, err)
		mem, ok := cpu.Bytes(buf)
		require.True(t, ok)
		require.Len(t, mem, int(size))
		require.Zero(t, uintptr(unsafe.Pointer(&mem[0]))%64, "%d bytes", size)
	}
}

func TestPoolReuses(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	buf, err := dev.Alloc(5 << 20)
	require.NoError(t, err)
	mem, _ := cpu.Bytes(buf)
	first := &mem[0]
	require.NoError(t, buf.Free())
	require.Positive(t, dev.Stats().Reserved)
	buf, err = dev.Alloc(5<<20 - 100)
	require.NoError(t, err)
	mem, _ = cpu.Bytes(buf)
	require.Same(t, first, &mem[0])
	require.NoError(t, buf.Free())
}

func TestWrap(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	mem := []byte{1, 2, 3, 4, 5, 6}
	w := cpu.Wrap(mem)
	require.EqualValues(t, 6, w.Size())
	buf, err := dev.Alloc(6)
	require.NoError(t, err)
	require.NoError(t, q.Copy(operand(t, buf, layout.Uint8, 6), operand(t, w, layout.Uint8, 6)))
	got, ok := cpu.Bytes(buf)
	require.True(t, ok)
	require.Equal(t, mem, got)
	require.NoError(t, q.Write(w, 4, []byte{9}))
	require.Equal(t, []byte{1, 2, 3, 4, 9, 6}, mem)
	live, ok := cpu.Bytes(w)
	require.True(t, ok)
	require.Same(t, &mem[0], &live[0])
	require.ErrorIs(t, q.Write(w, 4, make([]byte, 3)), device.ErrInvalid)
	_, ok = cpu.Strings(w)
	require.False(t, ok)
	require.EqualValues(t, 1, dev.Stats().Buffers)

	require.NoError(t, w.Free())
	require.ErrorIs(t, w.Free(), device.ErrClosed)
	require.ErrorIs(t, q.Write(w, 0, []byte{9}), device.ErrClosed)
	_, ok = cpu.Bytes(w)
	require.False(t, ok)

	held := make([]byte, 1<<10)
	seen := weak.Make(&held[0])
	w = cpu.Wrap(held)
	require.NoError(t, w.Free())
	held = nil
	runtime.GC()
	runtime.GC()
	require.Nil(t, seen.Value(), "Free forgets the memory")
	runtime.KeepAlive(w)

	none := cpu.Wrap(nil)
	require.NoError(t, q.Read(nil, none, 0))
	require.NoError(t, none.Free())
}

type alien struct{}

func (alien) Size() int64 { return 100 }
func (alien) Free() error { return nil }

func TestForeignBuffers(t *testing.T) {
	dev, other := open(t), open(t)
	defer dev.Close()
	defer other.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	mine, err := dev.Alloc(100)
	require.NoError(t, err)
	theirs, err := other.Alloc(100)
	require.NoError(t, err)
	for _, buf := range []device.Buffer{theirs, alien{}} {
		require.ErrorIs(t, q.Write(buf, 0, []byte{1}), device.ErrInvalid)
		require.ErrorIs(t, q.Copy(operand(t, buf, layout.Uint8, 4), operand(t, mine, layout.Uint8, 4)), device.ErrInvalid)
		require.ErrorIs(t, q.Copy(operand(t, mine, layout.Uint8, 4), operand(t, buf, layout.Uint8, 4)), device.ErrInvalid)
	}
	otherQueue, err := other.NewQueue()
	require.NoError(t, err)
	e, err := otherQueue.Record()
	require.NoError(t, err)
	require.ErrorIs(t, q.WaitFor(e), device.ErrInvalid)
	require.ErrorIs(t, q.WaitFor(nil), device.ErrInvalid)
}

// Free while copies run: each either copies whole or is refused, and the block
// goes to nobody else before the copy is done with it.
func TestConcurrentFree(t *testing.T) {
	t.Run("long calls", func(t *testing.T) { testConcurrentFree(t, 3<<20, 30) })
	t.Run("brief calls", func(t *testing.T) { testConcurrentFree(t, 64<<10, 300) })
}

func testConcurrentFree(t *testing.T, size int64, rounds int) {
	severalWorkers(t, 4)
	dev := open(t)
	if testing.Short() {
		rounds /= 6
	}
	for range rounds {
		dst, err := dev.Alloc(size)
		require.NoError(t, err)
		src, err := dev.Alloc(size)
		require.NoError(t, err)
		mem, _ := cpu.Bytes(src)
		for i := range mem {
			mem[i] = 1
		}
		var wait sync.WaitGroup
		for range 4 {
			q, err := dev.NewQueue()
			require.NoError(t, err)
			wait.Go(func() {
				got := make([]byte, size)
				own := cpu.Wrap(got)
				for {
					err := q.Copy(operand(t, own, layout.Uint8, size), operand(t, src, layout.Uint8, size))
					if err != nil {
						require.ErrorIs(t, err, device.ErrClosed)
						return
					}
					if bytes.IndexByte(got, 0) >= 0 {
						t.Error("a copy of what somebody else has written")
						return
					}
				}
			})
		}
		wait.Go(func() {
			if err := src.Free(); err != nil {
				t.Error(err)
			}
			// Whoever gets the block may write to it.
			again, err := dev.Alloc(size)
			if err != nil {
				t.Error(err)
				return
			}
			mem, _ := cpu.Bytes(again)
			clear(mem)
			if err := again.Free(); err != nil {
				t.Error(err)
			}
		})
		wait.Wait()
		require.NoError(t, dst.Free())
	}
	require.Zero(t, dev.Stats().Live)
	require.NoError(t, dev.Close())
	require.Zero(t, dev.Stats().Reserved)
}

// What queues have done counts while they are open and after that, whoever asks.
func TestStatsOfQueues(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	const queues, calls = 4, 200
	buf, err := dev.Alloc(16 * queues)
	require.NoError(t, err)
	var wait, reader sync.WaitGroup
	done := make(chan struct{})
	reader.Go(func() {
		last := dev.Stats()
		for {
			now := dev.Stats()
			if now.Launches < last.Launches || now.HostToDevice < last.HostToDevice {
				t.Errorf("%+v after %+v", now, last)
			}
			last = now
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for k := range int64(queues) {
		wait.Go(func() {
			for range calls {
				q, err := dev.NewQueue()
				if err != nil {
					t.Error(err)
					return
				}
				own := operand(t, buf, layout.Uint8, 16)
				own.Layout, err = own.Layout.Rebase(16 * k)
				err = errors.Join(err, q.Fill(own, []byte{1}), q.Write(buf, 16*k, []byte{1, 2, 3}), q.Read(make([]byte, 2), buf, 16*k), q.Close())
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	close(done)
	reader.Wait()
	s := dev.Stats()
	const all = queues * calls
	require.Equal(t, []int64{all, 16 * all, all, 3 * all, all, 2 * all},
		[]int64{s.Launches, s.DeviceToDevice, s.Uploads, s.HostToDevice, s.Downloads, s.DeviceToHost})
}

// Close while queues are at work.
func TestConcurrentClose(t *testing.T) {
	dev := open(t)
	var wait sync.WaitGroup
	started := make(chan struct{}, 4)
	for range 4 {
		wait.Go(func() {
			q, err := dev.NewQueue()
			if err != nil {
				t.Error(err)
				return
			}
			started <- struct{}{}
			for {
				buf, err := dev.Alloc(2 << 20)
				if err == nil {
					err = q.Write(buf, 0, make([]byte, 2<<20))
				}
				if err == nil {
					err = buf.Free()
				}
				if err != nil {
					require.ErrorIs(t, err, device.ErrClosed)
					return
				}
			}
		})
	}
	for range 4 {
		<-started
	}
	require.NoError(t, dev.Close())
	wait.Wait()
	require.ErrorIs(t, dev.Close(), device.ErrClosed)
	require.Zero(t, dev.Stats().Reserved)
}

func TestStringsAreCollected(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	sq := q.(device.StringQueue)
	const n = 40
	buf, err := dev.(device.StringAllocator).AllocStrings(n * n)
	require.NoError(t, err)
	turned, err := dev.(device.StringAllocator).AllocStrings(n * n)
	require.NoError(t, err)
	require.EqualValues(t, 2*16*n*n, dev.Stats().Live)
	pointers := make([]weak.Pointer[byte], n*n)
	words := make([]string, n*n)
	for i := range words {
		words[i] = strings.Repeat(string(rune('a'+i%26)), 100+i%7)
		pointers[i] = weak.Make(unsafe.StringData(words[i]))
	}
	require.NoError(t, sq.WriteStrings(buf, 0, words))
	clear(words)
	src := operand(t, buf, layout.String, n, n)
	src.Layout, err = src.Layout.Permute(1, 0)
	require.NoError(t, err)
	require.NoError(t, q.Copy(operand(t, turned, layout.String, n, n), src))
	require.NoError(t, buf.Free())

	// The copy alone keeps them.
	runtime.GC()
	runtime.GC()
	mem, ok := cpu.Strings(turned)
	require.True(t, ok)
	for i := range mem {
		j := i%n*n + i/n
		require.Equal(t, strings.Repeat(string(rune('a'+j%26)), 100+j%7), mem[i])
	}
	require.NoError(t, turned.Free()) // while mem is still held
	runtime.GC()
	runtime.GC()
	for _, p := range pointers {
		require.Nil(t, p.Value())
	}
	runtime.KeepAlive(mem)
	require.Zero(t, dev.Stats().Live)
}

// Calls of several goroutines on one queue are whole: none sees half of another.
func TestOneQueueIsInOrder(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	const size = 1 << 20
	buf, err := dev.Alloc(size)
	require.NoError(t, err)
	var wait sync.WaitGroup
	for g := range byte(4) {
		wait.Go(func() {
			for range 10 {
				if err := q.Fill(operand(t, buf, layout.Uint8, size), []byte{g}); err != nil {
					t.Error(err)
				}
				got := make([]byte, size)
				if err := q.Read(got, buf, 0); err != nil {
					t.Error(err)
				}
				for _, v := range got {
					if v != got[0] {
						t.Error("two fills are mixed")
						return
					}
				}
			}
		})
	}
	wait.Wait()
}
