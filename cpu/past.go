package cpu

// pastBytes is streamBytes for what is below a byte or converted. It changes in
// tests only.
var pastBytes int64 = streamBytes

// past reports whether to write past the caches.
func (j *job) past() bool { return j.bytes >= pastBytes }
