package gorgonia_test

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	gt "gorgonia.org/tensor"
)

// isCause is errors.Is, also through gorgonia's wrapping.
func isCause(err, kind error) bool {
	for err != nil {
		if errors.Is(err, kind) {
			return true
		}
		c, ok := err.(interface{ Cause() error })
		if !ok {
			return false
		}
		err = c.Cause()
	}
	return false
}

func accessible[T any](t *testing.T, e *gorgonia.Device, m gt.Memory) []T {
	t.Helper()
	h, err := e.Accessible(m)
	require.NoError(t, err)
	address := h.Uintptr()
	var one T
	return unsafe.Slice(*(**T)(unsafe.Pointer(&address)), int(h.MemSize()/unsafe.Sizeof(one)))
}

func TestDeviceMemory(t *testing.T) {
	onDevices(t, func(t *testing.T, e *gorgonia.Device, s *tensor.Stream) {
		x := gt.New(gt.WithShape(2, 3), gt.Of(gt.Int32), gt.WithEngine(e)) // by Alloc
		assert.False(t, x.IsNativelyAccessible())
		assert.True(t, x.IsManuallyManaged())
		require.NoError(t, e.Memset(x, int32(7)))
		assert.Equal(t, []int32{7, 7, 7, 7, 7, 7}, accessible[int32](t, e, x))

		column, err := x.Slice(nil, gt.S(1))
		require.NoError(t, err)
		require.NoError(t, e.Memset(column, int32(-1)))
		assert.Equal(t, []int32{7, -1, 7, 7, -1, 7}, accessible[int32](t, e, x))
		got, err := e.ToHost(column)
		require.NoError(t, err)
		assert.Equal(t, []int32{-1, -1}, got.Data())

		m, err := e.Alloc(24)
		require.NoError(t, err)
		require.NoError(t, e.Memcpy(m, x))
		require.NoError(t, e.Memset(m, byte(1)))
		require.NoError(t, e.Memcpy(m, column)) // the range of the view
		assert.Equal(t, []int32{-1, 7, 7, -1, 0x01010101, 0x01010101}, accessible[int32](t, e, m))
		require.NoError(t, e.Memset(m, math.Float64frombits(1<<32)))
		assert.Equal(t, []int32{0, 1, 0, 1, 0, 1}, accessible[int32](t, e, m))
		require.NoError(t, e.Memcpy(m, m))
		e.Memclr(m)
		assert.Equal(t, make([]int32, 6), accessible[int32](t, e, m))
		require.NoError(t, e.Wait())

		host := []int32{1, 2, 3, 4, 5, 6}
		require.NoError(t, e.Memcpy(x, gt.New(gt.WithBacking(host))))
		clone := x.Clone().(*gt.Dense) // by Alloc and Memcpy
		back := gt.New(gt.WithShape(6), gt.Of(gt.Int32))
		require.NoError(t, e.Memcpy(back, clone))
		assert.Equal(t, host, back.Data())
		moved, err := gt.Transpose(x)
		require.NoError(t, err)
		assert.Equal(t, []int32{1, 4, 2, 5, 3, 6}, accessible[int32](t, e, moved))

		for _, m := range []gt.Memory{x, m, clone, moved} {
			require.NoError(t, e.Free(m, 0))
		}
	})
}

func TestDeviceRefusesMemory(t *testing.T) {
	onDevices(t, func(t *testing.T, e *gorgonia.Device, s *tensor.Stream) {
		_, err := e.Alloc(-1)
		refused(t, err, "Alloc: -1 bytes")
		_, err = e.Alloc(math.MaxInt64)
		refused(t, err, "Alloc")
		_, err = e.Alloc(1 << 47)
		refused(t, err, "Alloc")

		x := gt.New(gt.WithShape(4), gt.Of(gt.Float32), gt.WithEngine(e))
		refused(t, e.Memset(x, int32(1)), "elements are of type float32, and the value of type int32")
		refused(t, e.Memset(x, nil), "no value")
		refused(t, e.Memset(x, "a"), "elements of type string")
		m, err := e.Alloc(6)
		require.NoError(t, err)
		refused(t, e.Memset(m, float32(1)), "6 bytes are no number of elements of 4 bytes")
		view, err := x.Slice(gt.S(1, 3))
		require.NoError(t, err)
		refused(t, e.Free(view, 0), "begins 4 bytes before")

		require.NoError(t, e.Free(x, 16))
		refused(t, e.Free(x, 16), "has been freed")
		refused(t, e.Memcpy(m, x), "has been freed")
		refused(t, e.Memcpy(x, m), "has been freed")
		_, err = e.Accessible(x)
		refused(t, err, "has been freed")
		_, err = e.ToHost(view)
		refused(t, err, "has been freed")
		e.Memclr(x)
		refused(t, e.Wait(), "Memclr")
		require.NoError(t, e.Wait())
	})
	_, err := gorgonia.NewDevice(nil)
	refused(t, err, "no stream")
}

// A scope of the stream does not free the engine's memory.
func TestDeviceMemoryOutlivesScopes(t *testing.T) {
	onDevices(t, func(t *testing.T, e *gorgonia.Device, s *tensor.Stream) {
		scope := tensor.NewScope(s)
		x, err := e.ToDevice(numbers(gt.StdEng{}, 2, 3))
		require.NoError(t, err)
		y, err := x.Concat(0, x)
		require.NoError(t, err)
		require.NoError(t, scope.Close())
		got, err := e.ToHost(y)
		require.NoError(t, err)
		assert.Equal(t, []float32{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, got.Data())
	})
}

// Addresses are reused, but not immediately, and are never in use twice.
func TestAddresses(t *testing.T) {
	s := tensor.Host()
	tensor.CheckLeaks(t, s)
	e, err := gorgonia.NewDevice(s)
	require.NoError(t, err)
	live, seen := map[uintptr]gt.Memory{}, map[uintptr]bool{}
	again := 0
	for i := range 5000 {
		m, err := e.Alloc(int64(1 + i%300))
		require.NoError(t, err)
		require.NotContains(t, live, m.Uintptr())
		if seen[m.Uintptr()] {
			again++
		}
		live[m.Uintptr()], seen[m.Uintptr()] = m, true
		if i%3 != 0 {
			require.NoError(t, e.Free(m, 0))
			delete(live, m.Uintptr())
		}
	}
	assert.Greater(t, again, 500)
	require.NoError(t, e.Close())
}
