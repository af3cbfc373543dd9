package gpu

const (
	MostFreed = mostFreed
	SlotSize  = slotSize
)

// DriverOf returns the driver of a device.
func DriverOf(d *Device) Driver { return d.driver }

// DeferredFrees returns the number of frees that are deferred.
func (d *Device) DeferredFrees() int64 { return d.deferred.number.Load() }

// Sweep polls the queues, as Alloc does at its start.
func (d *Device) Sweep() { d.deferred.sweep(d) }

func (d *Device) IdleCap() int64 { return d.idleCap() }

// Held returns the bytes of blocks and host memory that are held.
func (d *Device) Held() int64 { return d.budget.InUse() }

// BlockSize returns the size of the buffer's block.
func (b *Buffer) BlockSize() int64 { return b.block.size }

// Pins returns the number of transfers that pin host memory.
func (q *Queue) Pins() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pins)
}

// QueueEvent is the type of a queue's events.
type QueueEvent = queueEvent

// Marks returns the number of outcomes with which the buffer is marked.
func (b *Buffer) Marks() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.marks)
}
