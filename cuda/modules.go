package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/planner"
)

// modules are a device's kernels, each in a module that the driver compiles or loads when it is
// first needed.
type modules struct {
	driver *driver
	cubins cubins
	mu     sync.Mutex
	all    map[planner.Spec]*kernel
}

// kernel is one of these kernels. One of the goroutines that need it loads it; other kernels
// can be loaded concurrently.
type kernel struct {
	mu       sync.Mutex
	module   cuModule
	function cuFunction // 0: not loaded
}

func (m *modules) init(d *driver) { m.driver, m.all = d, map[planner.Spec]*kernel{} }

// get returns the function of a kernel.
func (m *modules) get(s planner.Spec) (cuFunction, error) {
	m.mu.Lock()
	k := m.all[s]
	if k == nil {
		k = new(kernel)
		m.all[s] = k
	}
	m.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.function == 0 {
		if err := m.driver.with(func(*frame) error { return m.load(k, s) }); err != nil {
			return 0, fmt.Errorf("kernel %v: %w", s, err)
		}
	}
	return k.function, nil
}

// load loads a kernel's cubin, if there is one for the device, otherwise its PTX.
func (m *modules) load(k *kernel, s planner.Spec) error {
	text, err := cudakernels.PTX(s)
	if err != nil {
		return err
	}
	if image := m.cubins.of(s, text); image != nil {
		if err := k.load(m.driver.api, s, image); err == nil || !unfit(err) {
			return err
		}
	}
	return k.load(m.driver.api, s, append(text, 0)) // zero-terminated
}

func (k *kernel) load(a api, s planner.Spec, image []byte) error {
	m, err := a.load(image)
	if err != nil {
		return err
	}
	f, err := a.lookup(m, s.String())
	if err != nil {
		return errors.Join(err, a.unload(m))
	}
	k.module, k.function = m, f
	return nil
}

// LoadKernel loads a kernel.
func (d *driver) LoadKernel(s planner.Spec) error {
	_, err := d.modules.get(s)
	return err
}

// unload unloads the modules, which are no longer in use.
func (m *modules) unload() error {
	var errs []error
	for _, k := range m.all {
		if k.function != 0 {
			errs = append(errs, m.driver.api.unload(k.module))
		}
	}
	return errors.Join(errs...)
}
