package gpu

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
)

// AllocHost returns host memory for fast transfers, especially those of WriteAsync and
// ReadAsync. The device's Close frees memory that FreeHost did not.
func (d *Device) AllocHost(bytes int64) ([]byte, error) {
	const op = "AllocHost"
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	if bytes < 0 || !d.properties.Pinned {
		if err := d.checkSize(op, bytes); err != nil {
			return nil, err
		}
	}
	if bytes == 0 {
		return []byte{}, nil
	}
	h, err := d.newHost(bytes)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.hosts[unsafe.SliceData(h)] = h
	d.mu.Unlock()
	return h, nil
}

// FreeHost frees what AllocHost returned.
func (d *Device) FreeHost(b []byte) error {
	const op = "FreeHost"
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.end()
	if cap(b) == 0 {
		return nil
	}
	at := unsafe.SliceData(b)
	d.mu.Lock()
	h := d.hosts[at]
	delete(d.hosts, at)
	d.mu.Unlock()
	if h == nil {
		return layout.Errorf(device.ErrInvalid, op, "%d bytes that AllocHost of this device has not returned, or that are freed", len(b))
	}
	return d.freeHost(h)
}

func (d *Device) newHost(bytes int64) ([]byte, error) {
	b := d.hostBudget()
	if err := b.Take("AllocHost", bytes); err != nil {
		return nil, err
	}
	h, err := d.driver.AllocHost(bytes)
	if err != nil {
		b.Give(bytes)
	}
	return h, err
}

func (d *Device) freeHost(h []byte) error {
	d.hostBudget().Give(int64(len(h)))
	return d.driver.FreeHost(h)
}

// hostBudget is the budget of host memory: pinned memory is separate from the device's.
func (d *Device) hostBudget() *budget.Budget {
	if d.properties.Pinned {
		return budget.Process()
	}
	return d.budget
}

// staging returns pinned memory if the driver has any, otherwise Go's.
func (d *Device) staging(size int64) (mem []byte, pinned bool) {
	if d.properties.Pinned {
		if h, err := d.newHost(size); err == nil {
			return h, true
		}
	}
	return make([]byte, size), false
}
