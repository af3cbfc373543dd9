package cpu

// pastBytes is how much must be written for stores past the caches to pay: what
// would not stay in them until it is read. It changes in tests only.
var pastBytes int64 = 4 << 20

// past reports whether to write past the caches.
func (j *job) past() bool { return j.bytes >= pastBytes }
