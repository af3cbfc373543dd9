package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/restride/restride/kernels"
)

// modules are a device's loaded kernels: one module for each, compiled by the
// driver when it is first wanted.
type modules struct {
	g   *gpu
	mu  sync.Mutex
	all map[kernels.Spec]*kernel
}

// kernel is one of them. Of two goroutines that want it, one loads it; others are
// loaded meanwhile.
type kernel struct {
	mu sync.Mutex
	m  module
	f  function // 0: to be loaded
}

func (all *modules) init(g *gpu) { all.g, all.all = g, map[kernels.Spec]*kernel{} }

// get returns the function of a kernel.
func (all *modules) get(s kernels.Spec) (function, error) {
	all.mu.Lock()
	k := all.all[s]
	if k == nil {
		k = new(kernel)
		all.all[s] = k
	}
	all.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.f == 0 {
		if err := all.g.with(func(*frame) error { return k.load(all.g.drv, s) }); err != nil {
			return 0, fmt.Errorf("kernel %v: %w", s, err)
		}
	}
	return k.f, nil
}

func (k *kernel) load(drv driver, s kernels.Spec) error {
	text, err := ptxOf(s)
	if err != nil {
		return err
	}
	m, err := drv.load(text)
	if err != nil {
		return err
	}
	f, err := drv.lookup(m, s.String())
	if err != nil {
		return errors.Join(err, drv.unload(m))
	}
	k.m, k.f = m, f
	return nil
}

// unload gives the modules back. Nobody uses them any more.
func (all *modules) unload() error {
	var errs []error
	for _, k := range all.all {
		if k.f != 0 {
			errs = append(errs, all.g.drv.unload(k.m))
		}
	}
	return errors.Join(errs...)
}
