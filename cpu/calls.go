package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// calls orders the calls of a queue, keeps their memory alive and counts them.
type calls struct {
	dev *processor
	// mu orders the calls of several goroutines, as a queue must. It also keeps the memory of
	// brief calls alive (see memory.uses).
	mu      sync.Mutex
	closed  bool
	long    atomic.Bool  // the current call is a long one that holds its memory
	done    device.Stats // only the numbers that count adds
	capture *capture     // nil: calls are executed

	// For goroutines that wait neither for a long call nor for later calls: see over.
	asked, answered atomic.Int64
	showing         sync.Mutex
	shown           device.Stats // done, at the start of a long call or at the latest answer
}

// begin starts a call. Every begin without an error needs an end.
func (c *calls) begin(op string) error {
	c.mu.Lock()
	if c.closed || c.dev.closed.Load() {
		c.mu.Unlock()
		return layout.Errorf(device.ErrClosed, op, "the queue or its device is closed")
	}
	if c.capture != nil {
		if err := backend.CheckCaptured(op); err != nil {
			c.mu.Unlock()
			return err
		}
	}
	return nil
}

func (c *calls) end() {
	if c.asked.Load() > c.answered.Load() {
		c.answer()
	}
	c.mu.Unlock()
}

// answer reports that the calls that began before the latest question are over.
func (c *calls) answer() {
	n := c.asked.Load()
	c.show()
	c.answered.Store(n)
}

func (c *calls) show() {
	c.showing.Lock()
	c.shown = c.done
	c.showing.Unlock()
}

// over returns when all brief calls that began earlier are over, with the counts at that time or
// later. Calls may follow one another without a gap, so the end of each one answers.
func (c *calls) over() device.Stats {
	for ticket := int64(0); ; runtime.Gosched() {
		if c.long.Load() || ticket > 0 && c.answered.Load() >= ticket {
			c.showing.Lock()
			defer c.showing.Unlock()
			return c.shown
		}
		if c.mu.TryLock() {
			defer c.mu.Unlock()
			return c.done
		}
		if ticket == 0 {
			ticket = c.asked.Add(1)
		}
	}
}

// region is a buffer's memory with its address at the start of a call, or an address outside all
// buffers.
type region struct {
	*memory
	base unsafe.Pointer
}

// use finds the memory of a buffer, which stays valid until end or, in a long call, until
// releaseMemory.
func (c *calls) use(op, role string, b device.Buffer) (region, error) {
	var m *memory
	switch b := b.(type) {
	case *byteBuffer:
		m = &b.memory
	case *stringBuffer:
		m = &b.memory
	default:
		return region{}, layout.Errorf(device.ErrInvalid, op, "%s is a %T, which is not a cpu buffer", role, b)
	}
	if m.dev != c.dev && m.dev != nil {
		return region{}, layout.Errorf(device.ErrInvalid, op, "%s is a buffer of another cpu device", role)
	}
	at := m.at.Load()
	if at == nil {
		return region{}, isFreed(op, role, m)
	}
	return region{m, unsafe.Pointer(at)}, nil
}

// hold turns a call into a long one, which keeps the given memory until releaseMemory.
func (c *calls) hold(op string, all ...region) error {
	for i, m := range all {
		if m.memory != nil && !m.acquire() {
			c.releaseMemory(all[:i]...)
			return isFreed(op, "the buffer", m.memory)
		}
	}
	c.show()
	c.long.Store(true)
	return nil
}

func isFreed(op, role string, m *memory) error {
	return layout.Errorf(device.ErrClosed, op, "%s, a buffer of size %d, is freed", role, m.size)
}

func (c *calls) releaseMemory(all ...region) {
	c.long.Store(false)
	for _, m := range all {
		if m.memory != nil {
			m.release()
		}
	}
}

// useRange is use for a range of a buffer of bytes or strings.
func (c *calls) useRange(op string, b device.Buffer, off, n int64, strings bool) (region, error) {
	if err := backend.CheckRange(op, b, off, n); err != nil {
		return region{}, err
	}
	m, err := c.use(op, "the buffer", b)
	if err != nil {
		return region{}, err
	}
	if _, ok := b.(*stringBuffer); ok != strings {
		holds := "bytes"
		if ok {
			holds = "strings"
		}
		return region{}, layout.Errorf(device.ErrInvalid, op, "the buffer holds %s", holds)
	}
	return m, nil
}

func (c *calls) usePair(op string, dst, src *device.Operand) (to, from region, err error) {
	if to, err = c.use(op, "dst", dst.Buffer); err == nil {
		from, err = c.use(op, "src", src.Buffer)
	}
	return to, from, err
}

// launched counts a call that wrote n bytes.
func (c *calls) launched(n int64) {
	c.done.Launches++
	c.done.DeviceToDevice += n
}
