package device

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/restride/restride/internal/nearest"
)

// Backend is a family of devices behind one driver.
type Backend interface {
	// Name is the first part of device names: "cpu", "opencl", "cuda".
	Name() string
	// List returns the backend's devices in the order of their index. A machine without the
	// driver gives ErrNoDevice with the reason.
	List() ([]Info, error)
	// Open opens the device with the given index.
	Open(index int) (Device, error)
}

// autoOrder is the order in which Open("auto") tries backends; unlisted ones follow, and cpu is
// last.
var autoOrder = []string{"cuda", "opencl"}

var registry struct {
	sync.RWMutex
	backends []Backend // in the order of autoOrder, "cpu" last
}

// Register makes a backend known to Open and List. Backend packages call it when they are
// imported. It replaces an earlier backend of the same name.
func Register(b Backend) {
	registry.Lock()
	defer registry.Unlock()
	registry.backends = slices.DeleteFunc(slices.Clone(registry.backends), func(old Backend) bool { return old.Name() == b.Name() })
	registry.backends = append(registry.backends, b)
	rank := func(b Backend) int {
		if i := slices.Index(autoOrder, b.Name()); i >= 0 {
			return i
		}
		if b.Name() == "cpu" {
			return len(autoOrder) + 1
		}
		return len(autoOrder)
	}
	slices.SortStableFunc(registry.backends, func(a, b Backend) int { return rank(a) - rank(b) })
}

func backends() []Backend {
	registry.RLock()
	defer registry.RUnlock()
	return registry.backends
}

// List returns all devices of the registered backends. The error joins the errors of backends
// that could not list their devices (ErrNoDevice if there is no driver). The devices of all
// other backends are returned even then.
func List() ([]Info, error) {
	var all []Info
	var errs []error
	for _, b := range backends() {
		infos, err := b.List()
		all = append(all, infos...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.Name(), err))
		}
	}
	return all, errors.Join(errs...)
}

// Open opens a device by name: "cpu", "opencl:0", "cuda:1". A backend's name alone means its
// first device. "auto" (or "") is the first GPU or accelerator of cuda, then of opencl, and
// otherwise cpu. (OpenCL drivers that run kernels on the processor are slower than the cpu
// device: they are opened only by name, or if cpu is not imported.) If a driver is there and
// refuses, the device that is opened in its place tells of it, as Diagnostics.
func Open(name string) (Device, error) {
	all := backends()
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no backend is imported", ErrNoDevice)
	}
	if name == "" || name == "auto" {
		return openFirst(all)
	}
	family, number, numbered := strings.Cut(name, ":")
	index := uint64(0)
	if numbered {
		var err error
		if index, err = strconv.ParseUint(number, 10, 31); err != nil {
			return nil, fmt.Errorf("%w: device %q: %q is not a device number", ErrInvalid, name, number)
		}
	}
	var known []string
	for _, b := range all {
		if b.Name() == family {
			dev, err := b.Open(int(index))
			if err != nil {
				return nil, fmt.Errorf("device %q: %w", name, err)
			}
			return dev, nil
		}
		known = append(known, b.Name())
	}
	return nil, fmt.Errorf("%w: %q%s: this program has the backends %s", ErrNoDevice, name, meant(name, known), strings.Join(known, ", "))
}

// meant guesses which device an unknown name means: a word for any GPU, or a misspelt backend.
func meant(name string, known []string) string {
	plain := strings.ToLower(strings.TrimSpace(name))
	guess := ""
	for _, k := range known {
		if index, ok := strings.CutPrefix(plain, k); ok {
			index = strings.TrimLeft(index, " :-_.")
			if _, err := strconv.ParseUint(index, 10, 31); err == nil {
				index = ":" + index
			}
			if index == "" || index[0] == ':' {
				guess = k + index
			}
		}
	}
	family, index, numbered := strings.Cut(plain, ":")
	if slices.Contains([]string{"gpu", "accelerator", "any", "default", "best"}, family) {
		guess = "auto"
	}
	if near := nearest.To(family, append([]string{"auto"}, known...)); guess == "" && near != "" {
		guess = near
		if numbered && near != "auto" {
			guess += ":" + index
		}
	}
	if guess == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", guess)
}

func openFirst(all []Backend) (Device, error) {
	var errs, refused []error
	failed := func(b Backend, err error) {
		err = fmt.Errorf("%s: %w", b.Name(), err)
		errs = append(errs, err)
		if refuses(err) {
			refused = append(refused, err)
		}
	}
	var processors []choice // of kind CPU, the backend cpu first
	for _, b := range all {
		infos, err := b.List()
		if err != nil {
			failed(b, err)
		}
		for _, info := range infos {
			c := choice{b, info.Index}
			switch {
			case b.Name() == "cpu":
				processors = slices.Insert(processors, 0, c)
				continue
			case info.Kind == CPU:
				processors = append(processors, c)
				continue
			}
			dev, err := openWorking(b, info.Index)
			if err == nil {
				return inPlaceOf(dev, refused), nil
			}
			failed(b, err)
		}
	}
	for _, c := range processors {
		dev, err := c.Open(c.index)
		if err == nil {
			return inPlaceOf(dev, refused), nil
		}
		failed(c.Backend, err)
	}
	return nil, errors.Join(errs...)
}

// choice is a device that Open("auto") may open.
type choice struct {
	Backend
	index int
}
