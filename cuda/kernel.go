package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/arguments"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Load loads a kernel of the user's, for Launch of the device's queues
// (device.Launcher): PTX, as text, or a cubin. name is the kernel's there, which C++
// mangles unless the source says extern "C". PTX that does not compile is a
// *device.DriverError with the driver's log.
//
// The kernel's parameters are read from PTX or, for a cubin, from the driver, from CUDA 12.4
// on: with older ones, a cubin is device.ErrUnsupported.
func (d *Device) Load(image []byte, name string) (device.Kernel, error) {
	const op = "Load"
	if strings.ContainsRune(name, 0) || name == "" {
		return nil, layout.Errorf(device.ErrInvalid, op, "%s is no kernel's name", quote.Name(name))
	}
	ptx, err := checkImage(image)
	var k device.Kernel
	if err == nil {
		err = gpu.While(d.Device, op, func() error {
			u := &userKernel{driver: d.driver}
			if err := d.driver.with(func(*frame) error { return u.load(image, ptx, name) }); err != nil {
				return err
			}
			k = gpu.NewKernel(d.Device, u, arguments.Kernel{Name: name, Parameters: u.parameters, MostThreads: uint32(max(u.most, 0))})
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s of kernel %s: %w", op, quote.Name(name), err)
	}
	return k, nil
}

// checkImage reports whether an image is PTX or a complete cubin: the driver would read beyond
// a truncated one.
func checkImage(image []byte) (ptx bool, err error) {
	if bytes.HasPrefix(image, []byte("\x7fELF")) {
		f, err := elf.NewFile(bytes.NewReader(plainELF(image)))
		if err != nil {
			return false, layout.Errorf(device.ErrInvalid, "Load", "the cubin is damaged: %s", quote.Text(err.Error()))
		}
		for _, s := range f.Sections {
			if end := s.Offset + s.FileSize; s.Type != elf.SHT_NOBITS && (end < s.Offset || end > uint64(len(image))) {
				return false, layout.Errorf(device.ErrInvalid, "Load", "the cubin is cut: section %s ends at byte %d of %d", quote.Name(s.Name), end, len(image))
			}
		}
		return false, nil
	}
	text := bytes.TrimRight(image, "\x00")
	if bytes.IndexByte(text, 0) >= 0 || !bytes.Contains(text, []byte(".version")) {
		return false, layout.Errorf(device.ErrInvalid, "Load", "the %d bytes are neither PTX, whose text has a .version, nor a cubin", len(image))
	}
	return true, nil
}

// plainELF is a cubin in a form that other readers of ELF accept: newer ones have the version
// of CUDA in the field for the version of ELF, which is 1.
func plainELF(cubin []byte) []byte {
	const at = 20 // in the header
	if len(cubin) < at+4 {
		return cubin
	}
	plain := bytes.Clone(cubin)
	copy(plain[at:], []byte{1, 0, 0, 0})
	return plain
}

// userKernel is a user's kernel, in a module of its own.
type userKernel struct {
	driver     *driver
	module     cuModule
	function   cuFunction
	most       int // threads in a block; 0: not reported
	parameters []arguments.Parameter
}

// load loads the module. The device's context is current.
func (u *userKernel) load(image []byte, ptx bool, name string) error {
	api := u.driver.api
	if ptx {
		kernels, err := readEntries(string(bytes.TrimRight(image, "\x00")))
		if err != nil {
			return err
		}
		var found bool
		if u.parameters, found = kernels[name]; !found {
			return layout.Errorf(device.ErrInvalid, "Load", "the PTX has no such kernel; it has %s", names(kernels))
		}
		image = append(bytes.TrimRight(image, "\x00"), 0)
	}
	m, err := api.load(image)
	if err != nil {
		return err
	}
	if u.function, err = api.lookup(m, name); err == nil && !ptx {
		u.parameters, err = u.ask()
	}
	if err != nil {
		return errors.Join(err, api.unload(m))
	}
	u.module = m
	u.most, err = api.functionAttribute(u.function, maxThreads)
	_ = u.driver.check(err) // launches report it if there are too many
	return nil
}

// maxThreads and maxShared are attributes of a function: the most threads of a block, and the
// most shared memory that a launch may add.
const (
	maxThreads = 0
	maxShared  = 8
)

// mostParameters bounds the query: on all GPUs, the parameters have less than 32 KiB in total.
const mostParameters = 1 << 15

// ask queries the driver for the parameters.
func (u *userKernel) ask() ([]arguments.Parameter, error) {
	var all []arguments.Parameter
	for i := range mostParameters {
		bytes, ok, err := u.driver.api.parameter(u.function, i)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		kind := arguments.ByValue
		if bytes == 8 {
			kind |= arguments.Pointer
		}
		all = append(all, arguments.Parameter{Type: fmt.Sprintf("%d bytes", bytes), Kind: kind, Bytes: bytes})
	}
	return all, nil
}

// Release unloads the module.
func (u *userKernel) Release() error {
	return u.driver.giveBack(func(*frame) error { return u.driver.api.unload(u.module) })
}

// LaunchProgram queues a user's kernel.
func (s *stream) LaunchProgram(p gpu.Program, grid, block [3]uint32, values []gpu.Value, shared uint32) error {
	u := p.(*userKernel)
	data, at := pack(values)
	if err := s.driver.enter(&s.thread); err != nil {
		return err
	}
	defer s.driver.leave(&s.thread)
	if shared > 48<<10 { // more must be allowed explicitly
		if err := s.driver.api.setFunctionAttribute(u.function, maxShared, int(shared)); err != nil {
			return s.driver.check(err)
		}
	}
	return s.driver.check(s.driver.api.launchUser(&s.thread.frame, u.function, grid, block, shared, s.handle, data, at))
}

// pack lays out the values of a launch at the offsets at.
func pack(values []gpu.Value) (data []byte, at []uint32) {
	for i := range values {
		data = append(data, make([]byte, -len(data)&15)...)
		at = append(at, uint32(len(data)))
		if v := &values[i]; v.Kind == arguments.Pointer {
			address := cuDevicePtr(0)
			if m, ok := v.Mem.(*memory); ok {
				address = m.at
			}
			data = binary.LittleEndian.AppendUint64(data, uint64(address))
		} else {
			data = append(data, v.Bytes...)
		}
	}
	return data, at
}
