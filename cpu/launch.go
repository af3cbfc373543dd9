package cpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/arguments"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// mostLocal bounds a block's local memory, in bytes: GPUs have less.
const mostLocal = 1 << 20

// aloneTime is the time that a launch runs before it wakes workers.
const aloneTime = 20 * time.Microsecond

// Launch runs a kernel that Kernel made.
func (q *queue) Launch(kernel device.Kernel, grid, block device.Dim3, args ...any) error {
	const op = "Launch"
	k, ok := kernel.(*kernelFunc)
	if !ok || k == nil {
		return layout.Errorf(device.ErrInvalid, op, "the kernel is a %T, which is none of cpu", kernel)
	}
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.closed {
		return k.Named(layout.Errorf(device.ErrClosed, "", "the kernel is closed"))
	}
	bound, err := k.Bind(grid, block, args)
	if err != nil {
		return err
	}
	l, all, err := q.newLaunch(k, &bound)
	if err != nil {
		return k.Named(err)
	}
	if bound.Empty() {
		return nil
	}
	return q.do(op, l, all...)
}

// launch is a launch of a Go function, ready to run.
type launch struct {
	kernel *kernelFunc
	args   []reflect.Value
	block  Block // the first one
	blocks int64
	local  int64 // per block
	f      func(Block)
	share  share
	failed atomic.Pointer[error] // the first failure
}

// newLaunch makes a launch, and returns the memory that it uses.
func (q *queue) newLaunch(k *kernelFunc, bound *arguments.Launch) (*launch, []region, error) {
	l := &launch{kernel: k, blocks: 1, local: int64(bound.Shared)}
	if l.local > mostLocal {
		return nil, nil, layout.Errorf(device.ErrInvalid, "", "%d bytes of local memory; a block has at most %d", l.local, mostLocal)
	}
	for i := range 3 {
		l.block.Grid[i], l.block.Size[i] = int(bound.Grid[i]), int(bound.Block[i])
		hi, lo := bits.Mul64(uint64(l.blocks), uint64(bound.Grid[i]))
		if hi > 0 || lo > math.MaxInt64/2 || l.block.Grid[i] < 0 || l.block.Size[i] < 0 { // int32 overflow
			return nil, nil, layout.Errorf(device.ErrInvalid, "", "a grid of %d by %d by %d blocks has too many", bound.Grid[0], bound.Grid[1], bound.Grid[2])
		}
		l.blocks = int64(lo)
	}
	var all []region
	for i, v := range bound.Values {
		t := k.f.Type().In(i)
		if v.Kind != arguments.Pointer {
			l.args = append(l.args, valueOf(t, v.Bytes))
			continue
		}
		m, err := q.use("Launch", v.Role, v.Memory.Buffer)
		if err != nil {
			return nil, nil, err
		}
		x, err := sliceOf(t, v.Role, m)
		if err != nil {
			return nil, nil, err
		}
		l.args, all = append(l.args, x), append(all, m)
	}
	return l, all, nil
}

// sliceOf returns memory as a slice of the given type.
func sliceOf(t reflect.Type, role string, m region) (reflect.Value, error) {
	of := t.Elem()
	switch {
	case m.strs != nil:
		return reflect.Value{}, layout.Errorf(device.ErrInvalid, "", "%s holds strings", role)
	case uintptr(m.base)%uintptr(of.Align()) != 0:
		return reflect.Value{}, layout.Errorf(device.ErrInvalid, "", "%s lies at an address that is not a multiple of %d, as %v needs", role, of.Align(), t)
	}
	return reflect.SliceAt(of, m.base, int(m.size/int64(of.Size()))).Convert(t), nil
}

// valueOf returns a value of a type from its bytes: numbers are little-endian.
func valueOf(t reflect.Type, raw []byte) reflect.Value {
	x := reflect.New(t).Elem()
	var number [8]byte
	copy(number[:], raw)
	n := binary.LittleEndian.Uint64(number[:])
	switch {
	case x.CanInt():
		unused := 64 - t.Bits()
		x.SetInt(int64(n) << unused >> unused)
	case x.CanUint():
		x.SetUint(n)
	case t.Kind() == reflect.Float32:
		*(*uint32)(x.Addr().UnsafePointer()) = uint32(n) // SetFloat would quiet a NaN
	case t.Kind() == reflect.Float64:
		*(*uint64)(x.Addr().UnsafePointer()) = n
	default:
		copy(unsafe.Slice((*byte)(x.Addr().UnsafePointer()), len(raw)), raw)
	}
	return x
}

func (l *launch) release() {}

// perform runs the first blocks alone, and shares the rest if they took long.
func (l *launch) perform(sc *scratch) (int64, error) {
	l.failed.Store(nil)
	l.begin()
	start := time.Now()
	for lo, n := int64(0), int64(1); lo < l.blocks && l.failed.Load() == nil; n *= 2 {
		past := time.Since(start)
		if goroutines := min(int64(runtime.GOMAXPROCS(0)), l.blocks-lo); past > aloneTime && goroutines > 1 {
			l.share.work, l.share.units = &rest{l, lo}, l.blocks-lo
			l.share.grain = max(1, min(lo*int64(aloneTime)/int64(past), l.share.units/(4*goroutines)))
			allWorkers.run(&l.share, int(goroutines-1), sc)
			break
		}
		hi := min(lo+n, l.blocks)
		l.part(lo, hi, sc)
		lo = hi
	}
	l.f = nil
	if err := l.failed.Load(); err != nil {
		return 0, l.kernel.Named(*err)
	}
	return 0, nil
}

// rest is the work of the blocks from a number on.
type rest struct {
	*launch
	from int64
}

func (r *rest) part(lo, hi int64, sc *scratch) { r.launch.part(r.from+lo, r.from+hi, sc) }

// begin calls the user's function, for the goroutine that runs blocks.
func (l *launch) begin() {
	over := false
	defer l.catch("before its blocks", &over, nil)
	f := l.kernel.f.Call(l.args)[0]
	if l.f = f.Interface().(func(Block)); l.f == nil {
		l.fail("the kernel's function returned nil")
	}
	over = true
}

// part runs the blocks with the numbers [lo, hi), x fastest.
func (l *launch) part(lo, hi int64, sc *scratch) {
	b, over := l.block, false
	x, y := int64(b.Grid[0]), int64(b.Grid[1])
	b.At = [3]int{int(lo % x), int(lo / x % y), int(lo / x / y)}
	b.local = unsafe.Slice((*byte)(room(&sc.local, l.local)), l.local)
	defer l.catch("in block", &over, &b.At)
	for ; lo < hi && l.failed.Load() == nil; lo++ {
		l.f(b)
		for i := range b.At {
			if b.At[i]++; b.At[i] < b.Grid[i] {
				break
			}
			b.At[i] = 0
		}
	}
	over = true
}

// catch is deferred around calls of user functions, which may panic or end the goroutine.
func (l *launch) catch(where string, over *bool, block *[3]int) {
	if *over {
		return
	}
	if block != nil {
		where += fmt.Sprintf(" %d", *block)
	}
	if p := recover(); p != nil {
		l.fail("panic %s, at %s: %s", where, panicked(), quote.Text(fmt.Sprint(p)))
	} else {
		l.fail("the kernel ended its goroutine (runtime.Goexit) %s", where)
	}
}

func (l *launch) fail(format string, args ...any) {
	err := layout.Errorf(device.ErrInvalid, "", format, args...)
	l.failed.CompareAndSwap(nil, &err)
}

// panicked returns the source position of the panic that the deferred caller handles.
func panicked() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for began := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			began = true
		case began && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		case !more:
			return "an unknown place"
		}
	}
}
