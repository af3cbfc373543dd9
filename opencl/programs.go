package opencl

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
)

// buildOptions are compiler options. Warnings are not shown on the user's terminal: the tests
// check them.
const buildOptions = "-cl-std=CL1.2 -w"

// programs are a device's kernels: a program for each, built when it is first needed.
type programs struct {
	driver *driver
	disk   *diskCache
	// Tests replace these.
	source  func(planner.Spec) string
	compile func(source, options string) (uintptr, error)
	trial   string // of arithmetic

	arithmetic func() arithmetic // the device's own, as far as it is exact

	mu  sync.Mutex
	all map[planner.Spec]*program
}

// program is one of these programs. One of the goroutines that need it builds it; other
// programs can be built concurrently.
type program struct {
	mu     sync.Mutex
	handle uintptr // 0: not built
	unkept string  // its key in the disk cache, if it is not stored yet
}

func (p *programs) init(d *driver, claim arithmetic) {
	p.driver, p.disk = d, newDiskCache()
	p.source = func(s planner.Spec) string { return planner.Source(planner.OpenCL, s) }
	p.compile = p.compileWith
	p.trial = planner.Source(planner.OpenCL) + trial
	p.arithmetic = d.provenOf(claim)
	p.all = map[planner.Spec]*program{}
}

// get returns the program for a kernel.
func (p *programs) get(s planner.Spec) (uintptr, error) {
	p.mu.Lock()
	one := p.all[s]
	if one == nil {
		one = new(program)
		p.all[s] = one
	}
	p.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.handle == 0 {
		if err := p.make(one, s); err != nil {
			return 0, fmt.Errorf("kernel %v: %w", s, err)
		}
	}
	return one.handle, nil
}

// LoadKernel builds a kernel.
func (d *driver) LoadKernel(s planner.Spec) error {
	_, err := d.programs.get(s)
	return err
}

// make loads a program from the disk, or compiles it.
func (p *programs) make(one *program, s planner.Spec) error {
	source, options := p.source(s), p.options(s)
	key := p.key(s.String(), source, options)
	if binary := p.disk.load(key); binary != nil {
		if handle, err := p.fromBinary(binary, options); err == nil {
			one.handle = handle
			return nil
		} // otherwise the driver changed without a new version
	}
	handle, err := p.compile(source, options)
	if err != nil {
		return err
	}
	one.handle, one.unkept = handle, key
	if !p.driver.properties.compilesTwice {
		// Before the first launch, when the program has no other user.
		p.keep(one)
	}
	return nil
}

// keep stores a program in the disk cache, unless it is there.
func (p *programs) keep(one *program) {
	if one.unkept != "" {
		p.disk.store(one.unkept, p.binary(one.handle))
		one.unkept = ""
	}
}

// options are the compiler options for a kernel.
func (p *programs) options(s planner.Spec) string {
	if !s.Computes() {
		return buildOptions
	}
	return buildOptions + p.arithmetic().options()
}

// key is a text of everything that a compiled program depends on, and of its purpose.
func (p *programs) key(name, source, options string) string {
	info := &p.driver.properties.info
	return strings.Join([]string{
		info.Driver, info.Vendor, info.Name, p.driver.properties.version, options, name,
		fmt.Sprintf("%x", sha256.Sum256([]byte(source))),
	}, "\n")
}

// compileWith compiles source with compiler options.
func (p *programs) compileWith(source, options string) (uintptr, error) {
	text := []byte(source)
	at, length := address(unsafe.SliceData(text)), uintptr(len(text))
	handle, err := clCreateProgramWithSource.create(p.driver.context, 1, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&length)))
	runtime.KeepAlive(text)
	if err != nil {
		return 0, err
	}
	return p.build(handle, options)
}

func (p *programs) fromBinary(binary []byte, options string) (uintptr, error) {
	at, length, status := address(unsafe.SliceData(binary)), uintptr(len(binary)), int32(0)
	handle, err := clCreateProgramWithBinary.create(p.driver.context, 1, uintptr(unsafe.Pointer(&p.driver.properties.id)),
		uintptr(unsafe.Pointer(&length)), uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&status)))
	runtime.KeepAlive(binary)
	if err == nil && status != 0 {
		_ = clReleaseProgram.call(handle)
		err = clCreateProgramWithBinary.check(status)
	}
	if err != nil {
		return 0, err
	}
	return p.build(handle, options)
}

// build prepares a program for use; on failure it is released.
func (p *programs) build(handle uintptr, options string) (uintptr, error) {
	text := append([]byte(options), 0)
	err := clBuildProgram.call(handle, 1, uintptr(unsafe.Pointer(&p.driver.properties.id)), uintptr(unsafe.Pointer(&text[0])), 0, 0)
	if err == nil {
		return handle, nil
	}
	var driver *device.DriverError
	if errors.As(err, &driver) {
		log, _ := clGetProgramBuildInfo.bytes(handle, p.driver.properties.id, programBuildLog)
		driver.Log = strings.TrimSpace(strings.Trim(string(log), "\x00"))
	}
	_ = clReleaseProgram.call(handle)
	return 0, err
}

// binary returns a built program's code; nil: the driver does not return it.
func (p *programs) binary(handle uintptr) []byte {
	if p.disk.folder == "" {
		return nil
	}
	size, err := clGetProgramInfo.number(handle, programBinarySizes) // of one device
	if err != nil || size == 0 || size > mostCached {
		return nil
	}
	b := make([]byte, size)
	at := address(&b[0])
	if clGetProgramInfo.call(handle, programBinaries, unsafe.Sizeof(at), uintptr(unsafe.Pointer(&at)), 0) != nil {
		return nil
	}
	return b
}

// release releases all programs, which are no longer in use.
func (p *programs) release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for s, one := range p.all {
		if one.handle != 0 {
			p.keep(one)
			errs = append(errs, clReleaseProgram.call(one.handle))
		}
		delete(p.all, s)
	}
	return errors.Join(errs...)
}
