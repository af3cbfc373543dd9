package dlpack

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func exported(t testing.TB, x *tensor.Tensor, o ExportOptions) Capsule {
	t.Helper()
	if err := dl.Available(); err != nil {
		t.Skip(err)
	}
	c, err := Export(x, o)
	require.NoError(t, err)
	return c
}

// An export and import changes nothing: every type, views of all kinds, both structures.
func TestExportAndImport(t *testing.T) {
	tensor.CheckLeaks(t, tensor.Host())
	for _, of := range append(layout.DTypes(), layout.Bit) {
		if of == layout.String {
			continue
		}
		x, err := tensor.FromBytes(tensor.Host(), of, count(4*6*of.Bits()), 8, 4, 6)
		require.NoError(t, err)
		turned, err := x.Transpose(2, 0, 1)
		require.NoError(t, err)
		back, err := x.Slice(0, 7, -9, -2) // negative strides
		require.NoError(t, err)
		for _, v := range []*tensor.Tensor{x, turned, back} {
			want, err := v.Bytes()
			require.NoError(t, err)
			for _, unversioned := range []bool{false, true} {
				c := exported(t, v, ExportOptions{Unversioned: unversioned})
				y, err := Import(tensor.Host(), c, ImportOptions{})
				require.NoError(t, err)
				assert.Equal(t, of, y.DType())
				assert.Equal(t, v.Shape(), y.Shape())
				got, err := y.Bytes()
				require.NoError(t, err)
				assert.Equal(t, want, got)
				release(t, y)
			}
		}
		release(t, x, turned, back)
	}
}

func TestExportDescribes(t *testing.T) {
	x, err := tensor.FromSlice(tensor.Host(), []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	v, err := x.Slice(1, 2, -4, -1)
	require.NoError(t, err)
	c := exported(t, v, ExportOptions{ReadOnly: true})
	assert.Equal(t, "dltensor_versioned", c.Name())
	m := (*managedVersioned)(c.Pointer)
	assert.EqualValues(t, [3]uint64{1, 1, flagReadOnly}, [3]uint64{uint64(m.major), uint64(m.minor), m.flags})
	assert.Equal(t, []int64{2, 3}, numbers(m.tensor.shape, m.tensor.rank))
	assert.Equal(t, []int64{3, -1}, numbers(m.tensor.strides, m.tensor.rank))
	assert.EqualValues(t, 3, *(*float32)(dl.Pointer(m.tensor.data)), "data points to the first element")
	assert.Zero(t, m.tensor.byteOffset)
	require.NoError(t, c.Delete())

	empty, err := v.Slice(0, 0, 0, 1)
	require.NoError(t, err)
	c = exported(t, empty, ExportOptions{Unversioned: true})
	assert.Equal(t, "dltensor", c.Name())
	assert.Zero(t, (*managed)(c.Pointer).tensor.data)
	require.NoError(t, c.Delete())
	release(t, x, v, empty)
}

// The sizes and offsets of dlpack.h's structures with C compilers for 64 bits.
func TestStructures(t *testing.T) {
	assert.EqualValues(t, 48, unsafe.Sizeof(cTensor{}))
	assert.EqualValues(t, 64, unsafe.Sizeof(managed{}))
	assert.EqualValues(t, 80, unsafe.Sizeof(managedVersioned{}))
	assert.EqualValues(t, 20, unsafe.Offsetof(cTensor{}.code))
	assert.EqualValues(t, 24, unsafe.Offsetof(cTensor{}.shape))
	assert.EqualValues(t, 16, unsafe.Offsetof(managedVersioned{}.deleter))
	assert.EqualValues(t, 32, unsafe.Offsetof(managedVersioned{}.tensor))
}

// The memory outlives its tensor and its scope, until the deleter is called; another call, by
// an incorrect consumer, does nothing.
func TestExportKeepsMemory(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer s.Close()
	scope := tensor.NewScope(s)
	x, err := tensor.FromSlice(s, []int32{1, 2, 3})
	require.NoError(t, err)
	c := exported(t, x, ExportOptions{})
	require.NoError(t, scope.Close())
	assert.NotZero(t, s.Device().Stats().Live)
	m := (*managedVersioned)(c.Pointer)
	assert.EqualValues(t, 2, *(*int32)(dl.Pointer(m.tensor.data + 4)))
	for range 2 {
		dl.Call(m.deleter, uintptr(c.Pointer))
		assert.Zero(t, s.Device().Stats().Live)
	}
	dl.Call(m.deleter, 0)
}

// The capsule's reference is in no scope, however early another goroutine ends one.
func TestBugExportRacesScope(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer s.Close()
	x, err := tensor.FromSlice(s, []int8{1, 2})
	require.NoError(t, err)
	defer x.Release()
	exported(t, x, ExportOptions{}).Delete()
	var stop atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		for !stop.Load() {
			assert.NoError(t, tensor.NewScope(s).Close())
		}
	})
	for range 20000 {
		var c Capsule
		if c, err = Export(x, ExportOptions{}); err != nil {
			break
		}
		require.NoError(t, c.Delete())
	}
	stop.Store(true)
	other.Wait()
	require.NoError(t, err)
}

func TestExportRefuses(t *testing.T) {
	host := tensor.Host()
	_, err := Export(nil, ExportOptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
	text, err := tensor.FromSlice(host, []string{"a"})
	require.NoError(t, err)
	_, err = Export(text, ExportOptions{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "string")
	nibbles, err := tensor.FromBytes(host, layout.Int4, []byte{0x21, 0x43}, 4)
	require.NoError(t, err)
	odd, err := nibbles.Slice(0, 1, 4, 1)
	require.NoError(t, err)
	_, err = Export(odd, ExportOptions{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "bit 4")
	_, err = Export(nibbles, ExportOptions{Unversioned: true, ReadOnly: true})
	require.ErrorIs(t, err, device.ErrUnsupported)
	release(t, text, nibbles, odd)
	_, err = Export(odd, ExportOptions{})
	require.ErrorIs(t, err, tensor.ErrReleased)

	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	x, err := tensor.New(s, layout.Int8, 4)
	require.NoError(t, err)
	_, err = Export(x, ExportOptions{Queue: host.Queue()})
	require.ErrorIs(t, err, device.ErrInvalid, "a queue of another device")
	require.NoError(t, s.Close())
	_, err = Export(x, ExportOptions{NoWait: true})
	require.ErrorIs(t, err, device.ErrClosed)
}

// Many goroutines, as many threads of a consumer, export, import and delete.
func TestConcurrently(t *testing.T) {
	tensor.CheckLeaks(t, tensor.Host())
	x, err := tensor.FromSlice(tensor.Host(), []int64{1, 2, 3, 4}, 2, 2)
	require.NoError(t, err)
	require.NoError(t, exported(t, x, ExportOptions{}).Delete())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				c, err := Export(x, ExportOptions{})
				if !assert.NoError(t, err) {
					return
				}
				y, err := Import(tensor.Host(), c, ImportOptions{})
				if assert.NoError(t, err) {
					assert.NoError(t, y.Release())
				}
			}
		})
	}
	all.Wait()
	release(t, x)
}
