package gpu

import (
	"errors"
	"runtime"
	"sync"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// Preload loads kernels before they are needed: see device.Preloader.
func (d *Device) Preload(types ...layout.DType) error {
	if err := d.begin("Preload"); err != nil {
		return err
	}
	defer d.end()
	left := make(chan planner.Spec)
	var mu sync.Mutex
	var errs []error
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) { // a driver may compile several at a time
		workers.Go(func() {
			for s := range left {
				if err := d.driver.LoadKernel(s); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, s := range d.properties.Target.Kernels(types...) {
		left <- s
	}
	close(left)
	workers.Wait()
	return errors.Join(errs...)
}
