package ptx

// sharedMemory is a block's shared memory, with the threads that accessed each byte since the
// last barrier.
type sharedMemory struct {
	data    []byte
	writers []uint32 // epoch<<threadBits | thread, of the last write; 0: never written
	readers []uint32 // the same, of reads; several for more than one thread
	epoch   uint32   // counts barriers
	block   uint32   // the epoch in which the block began
}

const (
	threadBits = 11
	several    = 1<<threadBits - 1
)

func newShared(size int64) *sharedMemory {
	return &sharedMemory{data: make([]byte, size), writers: make([]uint32, size), readers: make([]uint32, size)}
}

// barrier begins a new epoch.
func (s *sharedMemory) barrier() {
	if s.epoch++; s.epoch >= 1<<(32-threadBits) {
		clear(s.readers)
		for i := range s.writers {
			if s.writers[i] != 0 && s.writers[i]>>threadBits >= s.block {
				s.writers[i] = 1 << threadBits
			} else {
				s.writers[i] = 0
			}
		}
		s.block, s.epoch = 1, 2
	}
}

// begin drops what an earlier block wrote.
func (s *sharedMemory) begin() {
	s.barrier()
	s.block = s.epoch
}

// read records a read of n bytes by a thread, and returns its fault, and the bytes that were
// never written.
func (s *sharedMemory) read(at, n int64, thread uint32) (lack uint32, what string) {
	me := s.epoch<<threadBits | thread
	writers, readers := s.writers[at:at+n], s.readers[at:at+n]
	for i, w := range writers {
		if w>>threadBits < s.block {
			lack |= 1 << i
		}
		if w>>threadBits == s.epoch && w != me {
			return lack, "reads shared memory that another thread writes"
		}
		if readers[i]>>threadBits != s.epoch {
			readers[i] = me
		} else if readers[i] != me {
			readers[i] |= several
		}
	}
	return lack, ""
}

// write is read for a write.
func (s *sharedMemory) write(at, n int64, thread uint32) string {
	me := s.epoch<<threadBits | thread
	writers, readers := s.writers[at:at+n], s.readers[at:at+n]
	for i, w := range writers {
		if w>>threadBits == s.epoch && w != me {
			return "writes shared memory that another thread writes"
		}
		if readers[i]>>threadBits == s.epoch && readers[i] != me {
			return "writes shared memory that another thread reads"
		}
		writers[i] = me
	}
	return ""
}
