package dlpack

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// taken are the consumed capsules whose deleters have not been called.
var taken = struct {
	sync.Mutex
	at map[unsafe.Pointer]struct{}
}{at: map[unsafe.Pointer]struct{}{}}

// take makes this package the owner of a capsule. After an error it is not.
func (c Capsule) take(op string) error {
	if err := dl.Available(); err != nil {
		return layout.Errorf(device.ErrUnsupported, op, "%v", err)
	}
	switch {
	case c.Pointer == nil:
		return layout.Errorf(device.ErrInvalid, op, "the capsule is nil")
	case uintptr(c.Pointer)%unsafe.Alignof(managed{}) != 0:
		return layout.Errorf(device.ErrInvalid, op, "the capsule's address, %p, is that of no structure", c.Pointer)
	}
	taken.Lock()
	defer taken.Unlock()
	if _, twice := taken.at[c.Pointer]; twice {
		return layout.Errorf(device.ErrInvalid, op, "the capsule at %p has been consumed before", c.Pointer)
	}
	taken.at[c.Pointer] = struct{}{}
	return nil
}

// giveBack calls the deleter of a capsule that was taken. The producer may reuse its address
// immediately.
func (c Capsule) giveBack() {
	deleter := c.deleter()
	taken.Lock()
	delete(taken.at, c.Pointer)
	taken.Unlock()
	if deleter != 0 {
		dl.Call(deleter, uintptr(c.Pointer))
	}
}

// export is the state that Export keeps for a consumer: the structure that it gets comes first.
type export struct {
	versioned   managedVersioned
	unversioned managed

	axes   []int64 // extents, then strides
	pinner runtime.Pinner
	tensor *tensor.Tensor
	queue  device.Queue // the consumer's; nil: unknown
}

// exports are those whose deleter has not been called.
var exports = struct {
	sync.Mutex
	at map[uintptr]*export
}{at: map[uintptr]*export{}}

// deleteExport is the deleter of all exports. It ignores anything that is not a live export.
var deleteExport = sync.OnceValue(func() uintptr {
	return dl.Callback(func(at uintptr) uintptr {
		exports.Lock()
		e := exports.at[at]
		delete(exports.at, at)
		exports.Unlock()
		if e != nil {
			e.end()
		}
		return 0
	})
})

// begin gives an export to its consumer.
func (e *export) begin(unversioned bool) Capsule {
	c := Capsule{unsafe.Pointer(&e.versioned), false}
	if unversioned {
		c = Capsule{unsafe.Pointer(&e.unversioned), true}
	}
	e.pinner.Pin(e)
	if len(e.axes) > 0 {
		e.pinner.Pin(&e.axes[0])
	}
	exports.Lock()
	exports.at[uintptr(c.Pointer)] = e
	exports.Unlock()
	return c
}

// end releases the memory when the consumer no longer needs it. Errors have no receiver: a
// closed queue has waited for its work, and a closed device has freed its memory.
func (e *export) end() {
	if q, ok := device.As[device.Sharer](e.queue); ok {
		_ = q.MarkUsed(e.tensor.Buffer())
	}
	_ = e.tensor.Release()
	e.pinner.Unpin()
}
