package dlpack

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// deleted counts, by the address of a capsule, the calls of the deleter of these tests'
// producers.
var deleted sync.Map

var deleter = sync.OnceValue(func() uintptr {
	return dl.Callback(func(at uintptr) uintptr {
		n, _ := deleted.LoadOrStore(at, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		return 0
	})
})

// producer is a library with a capsule of its own memory.
type producer struct {
	versioned     managedVersioned
	unversioned   managed
	dims, strides []int64
	data          []byte
	pinner        runtime.Pinner
}

// produce returns a producer of a dense tensor of a type.
func produce(t testing.TB, of layout.DType, data []byte, dims ...int64) *producer {
	t.Helper()
	if err := dl.Available(); err != nil {
		t.Skip(err)
	}
	p := &producer{data: data, dims: dims}
	k := kinds[of]
	x := &p.versioned.tensor
	*x = cTensor{device: onCPU, rank: int32(len(dims)), code: k.code, bits: k.bits, lanes: 1}
	p.versioned.major, p.versioned.minor, p.versioned.deleter = 1, 1, deleter()
	p.pinner.Pin(p)
	// An earlier test's capsules may have been at these addresses.
	forget(p.capsule())
	forget(Capsule{unsafe.Pointer(&p.unversioned), true})
	if len(data) > 0 {
		p.pinner.Pin(&data[0])
		x.data = uintptr(unsafe.Pointer(&data[0]))
	}
	x.shape = p.pin(dims)
	t.Cleanup(p.pinner.Unpin)
	return p
}

func (p *producer) pin(axes []int64) uintptr {
	if len(axes) == 0 {
		return 0
	}
	p.pinner.Pin(&axes[0])
	return uintptr(unsafe.Pointer(&axes[0]))
}

// strided gives the tensor strides, and a first element.
func (p *producer) strided(offset uint64, strides ...int64) *producer {
	p.strides = strides
	p.versioned.tensor.strides, p.versioned.tensor.byteOffset = p.pin(strides), offset
	return p
}

// unaligned returns an address within a capsule.
func unaligned(p *producer) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(&p.versioned), 4) }

func (p *producer) capsule() Capsule { return Capsule{Pointer: unsafe.Pointer(&p.versioned)} }

// old returns the capsule before 1.0.
func (p *producer) old() Capsule {
	p.unversioned = managed{tensor: p.versioned.tensor, deleter: p.versioned.deleter}
	return Capsule{unsafe.Pointer(&p.unversioned), true}
}

// deletions returns the number of calls of a capsule's deleter.
func deletions(c Capsule) int64 {
	if n, ok := deleted.Load(uintptr(c.Pointer)); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

// forget is for addresses that are reused.
func forget(c Capsule) { deleted.Delete(uintptr(c.Pointer)) }

// deletedOnce checks that a capsule was deleted, once, perhaps a moment later.
func deletedOnce(t testing.TB, c Capsule) {
	t.Helper()
	require.Eventually(t, func() bool { return deletions(c) > 0 }, time.Minute, time.Millisecond)
	assert.EqualValues(t, 1, deletions(c))
}

func release(t testing.TB, xs ...*tensor.Tensor) {
	t.Helper()
	for _, x := range xs {
		require.NoError(t, x.Release())
	}
}

func values[T layout.Element](t testing.TB, x *tensor.Tensor) []T {
	t.Helper()
	v, err := tensor.Values[T](x)
	require.NoError(t, err)
	return v
}
