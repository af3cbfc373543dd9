package cpu

// streamBytes is how much must be written for stores past the caches to pay: what
// would not stay in them until it is read. It changes in tests only.
var streamBytes int64 = 4 << 20

// streams reports whether to write past the caches. For tiles that pays sooner:
// their lines do not come in sequence, and would have to be fetched to be written.
func (j *job) streams() bool {
	if j.class == transpose {
		return j.bytes >= streamBytes/4
	}
	return j.bytes >= streamBytes
}
