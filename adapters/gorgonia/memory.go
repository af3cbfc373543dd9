package gorgonia

import (
	"reflect"
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

// NonStdAlloc says that Alloc allocates tensors' memory.
func (*Device) NonStdAlloc() {}

// AllocAccessible reports that Go code cannot access the memory.
func (*Device) AllocAccessible() bool { return false }

// WorksWith reports that any order of elements works.
func (*Device) WorksWith(gt.DataOrder) bool { return true }

// block is memory of a device, in gorgonia's form.
type block struct{ address, size uintptr }

func (b block) Uintptr() uintptr { return b.address }
func (b block) MemSize() uintptr { return b.size }

// Alloc returns memory of the device, at an address that cannot be read. Its content is
// undefined.
func (e *Device) Alloc(size int64) (gt.Memory, error) { return e.alloc("Alloc", size) }

func (e *Device) alloc(op string, size int64) (gt.Memory, error) {
	if size == 0 {
		return block{firstAddress, 0}, nil
	}
	address, err := addresses.take(op, size)
	if err != nil {
		return nil, err
	}
	x, err := tensor.Empty(e.s, layout.Uint8, size)
	if err == nil {
		err = tensor.Keep(x) // Free releases it, not a scope of the caller
	}
	if err != nil {
		addresses.give(address)
		return nil, layout.Named(op, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.blocks[address] = x
	return block{address, uintptr(size)}, nil
}

// Free frees memory from Alloc, or memory that a tensor begins with, in order after the work on
// it. All of it is freed, whatever the size.
func (e *Device) Free(m gt.Memory, _ int64) error {
	const op = "Free"
	if m.MemSize() == 0 {
		return nil
	}
	b, at, err := e.find(op, m)
	if err != nil {
		return err
	}
	if at != 0 {
		return layout.Errorf(device.ErrInvalid, op, "the memory begins %d bytes before: a view does not free it", at)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	address := m.Uintptr()
	if e.blocks[address] != b {
		return noMemory(op, address)
	}
	delete(e.blocks, address)
	addresses.give(address)
	return b.Release()
}

// find returns the block that contains memory, and the offset in the block in bytes.
func (e *Device) find(op string, m gt.Memory) (*tensor.Tensor, int64, error) {
	address := m.Uintptr()
	start, ours := startOf(address)
	if ours {
		e.mu.Lock()
		b := e.blocks[start]
		e.mu.Unlock()
		if at := int64(address - start); b != nil && at+int64(m.MemSize()) <= b.Count() {
			return b, at, nil
		}
	}
	return nil, 0, noMemory(op, address)
}

func noMemory(op string, address uintptr) error {
	return layout.Errorf(device.ErrInvalid, op, "%#x is not memory of this engine: it is another's, or has been freed", address)
}

// Memcpy copies as many bytes as the shorter one has, within memory of the device, or between
// it and the host.
func (e *Device) Memcpy(dst, src gt.Memory) error {
	const op = "Memcpy"
	n := int64(min(dst.MemSize(), src.MemSize()))
	if n == 0 {
		return nil
	}
	defer runtime.KeepAlive(dst)
	defer runtime.KeepAlive(src)
	_, toDevice := startOf(dst.Uintptr())
	_, fromDevice := startOf(src.Uintptr())
	if !toDevice && !fromDevice {
		copy(bytesAt(dst), bytesAt(src))
		return nil
	}
	if !toDevice {
		return e.read(op, bytesAt(dst)[:n], src)
	}
	to, err := e.run(op, dst, n)
	if err != nil {
		return err
	}
	q := e.s.Queue()
	if !fromDevice {
		return layout.Named(op, q.Write(to.Buffer, to.Layout.Offset(), bytesAt(src)[:n]))
	}
	from, err := e.run(op, src, n)
	if err != nil || dst.Uintptr() == src.Uintptr() {
		return err
	}
	return layout.Named(op, q.Copy(to, from))
}

// run returns the first bytes of memory as an operand.
func (e *Device) run(op string, m gt.Memory, n int64) (device.Operand, error) {
	b, at, err := e.find(op, m)
	if err != nil {
		return device.Operand{}, err
	}
	l, err := layout.Strided(layout.Shape{n}, []int64{1}, at)
	return device.Operand{Buffer: b.Operand().Buffer, Layout: l, Type: layout.Uint8}, err
}

// read fills dst from the device, and waits.
func (e *Device) read(op string, dst []byte, src gt.Memory) error {
	b, at, err := e.find(op, src)
	if err != nil {
		return err
	}
	return layout.Named(op, e.s.Queue().Read(dst, b.Operand().Buffer, at))
}

// bytesAt returns host memory as bytes.
func bytesAt(m gt.Memory) []byte {
	address := m.Uintptr()
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), m.MemSize())
}

// Memset sets all elements of a tensor or a view to a value of their type; for other memory,
// all elements that fit.
func (e *Device) Memset(m gt.Memory, value any) error {
	const op = "Memset"
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return layout.Errorf(device.ErrInvalid, op, "no value")
	}
	of := gt.Dtype{Type: v.Type()}
	dt, ok := typeOf(of)
	if !ok {
		return layout.Errorf(device.ErrUnsupported, op, "elements of type %v are not bits alone", of)
	}
	pattern := reflect.New(v.Type())
	pattern.Elem().Set(v)
	raw := unsafe.Slice((*byte)(pattern.UnsafePointer()), of.Size())
	t, isDense := m.(*gt.Dense)
	if !isDense {
		return e.fill(op, m, dt, raw)
	}
	if t.Dtype() != of {
		return layout.Errorf(device.ErrInvalid, op, "elements are of type %v, and the value of type %v", t.Dtype(), of)
	}
	x, err := see(e, op, t)
	if err != nil {
		return err
	}
	defer x.Release()
	return layout.Named(op, e.s.Queue().Fill(x.Operand(), raw))
}

// fill sets memory to equal elements of a type.
func (e *Device) fill(op string, m gt.Memory, dt layout.DType, element []byte) error {
	n, width := int64(m.MemSize()), int64(len(element))
	if n%width != 0 {
		return layout.Errorf(device.ErrInvalid, op, "%d bytes are no number of elements of %d bytes", n, width)
	}
	if n == 0 {
		return nil
	}
	o, err := e.run(op, m, n)
	if err != nil {
		return err
	}
	at := o.Layout.Offset()
	if at%width != 0 {
		return layout.Errorf(device.ErrUnsupported, op, "elements of %d bytes that begin at byte %d", width, at)
	}
	o.Type = dt
	if o.Layout, err = layout.Strided(layout.Shape{n / width}, []int64{1}, at/width); err != nil {
		return layout.Named(op, err)
	}
	return layout.Named(op, e.s.Queue().Fill(o, element))
}

// Memclr sets memory to zero. Wait and Close return its error.
func (e *Device) Memclr(m gt.Memory) {
	if err := e.fill("Memclr", m, layout.Uint8, []byte{0}); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.failed == nil {
			e.failed = err
		}
	}
}

// hostBytes is host memory.
type hostBytes []byte

func (b hostBytes) Uintptr() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
func (b hostBytes) MemSize() uintptr { return uintptr(len(b)) }

// Accessible returns a copy of memory on the host.
func (e *Device) Accessible(m gt.Memory) (gt.Memory, error) {
	const op = "Accessible"
	if m.MemSize() == 0 {
		return hostBytes{}, nil
	}
	if _, _, err := e.find(op, m); err != nil {
		return nil, err
	}
	raw, err := budget.Make[byte](budget.Process(), op, int64(m.MemSize()))
	if err != nil {
		return nil, err
	}
	if err := e.read(op, raw, m); err != nil {
		return nil, err
	}
	return hostBytes(raw), nil
}
