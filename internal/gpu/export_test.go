package gpu

const (
	MostFreed = mostFreed
	SlotSize  = slotSize
)

// DriverOf returns what a device was made of.
func DriverOf(d *Device) Driver { return d.driver }

// Limbo returns how many blocks are in limbo.
func (d *Device) DeferredFrees() int64 { return d.deferred.number.Load() }

// Sweep is what Alloc does first.
func (d *Device) Sweep() { d.deferred.sweep(d) }

func (d *Device) IdleCap() int64 { return d.idleCap() }

// Held returns how many bytes of blocks and host memory are held.
func (d *Device) Held() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held
}

// BlockSize returns how much memory a buffer has in all.
func (b *Buffer) BlockSize() int64 { return b.block.size }

// Pins returns how many transfers keep host memory in its place.
func (q *Queue) Pins() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pins)
}

// QueueEvent is what Record of a queue returns.
type QueueEvent = queueEvent
