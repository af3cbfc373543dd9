package device

// Stats counts what a device has done since it was opened. Sizes are in bytes;
// strings count 16 each, the size of a Go string's header.
type Stats struct {
	HostToDevice   int64 // written by Queue.Write
	DeviceToHost   int64 // read by Queue.Read
	DeviceToDevice int64 // written by Copy, Fill, Convert and Take, each call rounded up to a byte
	PeerToDevice   int64 // written by PeerQueue.CopyPeer; counted where it arrives
	Uploads        int64 // calls of Write that were accepted
	Downloads      int64 // calls of Read that were accepted
	PeerCopies     int64 // calls of CopyPeer that were accepted
	Launches       int64 // calls of Copy, Fill, Convert and Take that had work to do
	Waits          int64 // times that a call waited for the device; 0 if calls do the work themselves
	Live           int64 // in buffers that are not freed
	Peak           int64 // the most that Live has been
	Buffers        int64 // buffers that are not freed
	Reserved       int64 // allocated from the driver: Live, rounding, and idle memory for reuse
}

// Trimmer is implemented by devices that keep the memory of freed buffers for later ones.
type Trimmer interface {
	// Trim returns idle memory to the driver, or on the cpu device to the system. It does not
	// wait: queued work keeps the memory of freed buffers until the queues' Wait. Stats.Reserved
	// says how many bytes are left; without buffers and work it equals Live. Later calls of Alloc
	// must ask the driver again, which is slow.
	Trim() error
}
