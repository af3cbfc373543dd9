package cpu

// pastBytes is how much must be written for stores past the caches to pay: as much
// as would not stay there until it is read.
const pastBytes = 4 << 20

// past reports whether to write past the caches.
func (j *job) past() bool { return j.bytes >= pastBytes }
