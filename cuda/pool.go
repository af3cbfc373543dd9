package cuda

import "github.com/restride/restride/internal/gpu"

// The driver's default pool is shared with the engine, and returns freed memory to the system
// at each wait, including an allocation's. A driver has its own pool, which keeps some.

// mostKept is the most freed memory that a pool keeps unless Options says otherwise.
const mostKept = 1 << 30

// openPool creates the pool, if the driver supports it.
func (d *driver) openPool(o Options) {
	if d.keeps = min(mostKept, d.info.Memory/8); o.Kept != 0 {
		d.keeps = max(o.Kept, 0)
	}
	if !d.ordered {
		return
	}
	pool, err := d.api.newPool(d.ordinal)
	if d.check(err) != nil {
		return // the default one is used
	}
	d.pool = pool
}

// closePool returns all freed memory to the system.
func (d *driver) closePool() error {
	if d.pool == 0 {
		return nil
	}
	return d.api.destroyPool(d.pool)
}

// allocOrdered allocates in the order of the side stream.
func (d *driver) allocOrdered(bytes int64) (*memory, error) {
	if d.pool == 0 {
		p, err := d.api.allocOn(d.side, bytes)
		return &memory{at: p, ordered: true}, err
	}
	d.hold(bytes)
	p, err := d.api.allocFrom(d.pool, d.side, bytes)
	if err != nil {
		d.hold(-bytes)
		return nil, err
	}
	return &memory{p, true, bytes}, nil
}

// hold counts the pool's memory in use. The driver's threshold covers all memory of the pool,
// used or not.
func (d *driver) hold(bytes int64) {
	d.heldMu.Lock()
	defer d.heldMu.Unlock()
	d.held += bytes
	_ = d.check(d.api.setThreshold(d.pool, d.held+d.keeps)) // without it, the pool keeps less
}

// Trim returns freed memory to the system.
func (d *driver) Trim() {
	if d.pool != 0 {
		_ = d.giveBack(func(f *frame) error {
			if err := d.api.synchronize(f, d.side); err != nil { // for frees in progress
				return err
			}
			return d.api.trimPool(d.pool)
		})
	}
}

var _ gpu.Trimmer = (*driver)(nil)
