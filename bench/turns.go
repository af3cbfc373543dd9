package bench

// Buffers of figures that are about memory take turns, so that caches hold little of
// them when their turn comes again. Those of figures about caches do not.

// resident is the most that two buffers have which the second-level cache of any
// core is taken to hold.
const resident = 1 << 20

// cached reports whether a run at a size is about what caches hold.
func cached(size int64) bool { return 2*size <= resident }

// footprint is about how many bytes take turns on a processor: twice what its last
// cache holds, as far as the system tells, but neither too few nor too many.
func footprint() int64 { return min(max(2*lastCache(), 256<<20), 1<<30) }

// turns is how many operands, of so many bytes each, take turns in a run at a size.
func turns(size, bytes, footprint int64) int {
	if cached(size) {
		return 1
	}
	return int(min(max(footprint/max(bytes, 1), 2), 256))
}
