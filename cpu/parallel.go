package cpu

import "runtime"

const (
	// parallelBytes is the size from which waking others pays.
	parallelBytes = 256 << 10
	// denseFactor is how many times as large a dense run must be for that: it is
	// moved as much faster than most else.
	denseFactor = 4
	// grainBytes is the most that a worker takes at a time: enough to forget the
	// cost of taking it, little enough that none waits long for the last. Of less
	// work, it takes less, down to leastGrain, so that who comes late finds some.
	grainBytes, leastGrain = 128 << 10, 16 << 10
)

// grain returns how many units a worker takes at a time.
func grain(units, bytes int64, workers int) int64 {
	size := min(max(bytes/int64(8*workers), leastGrain), grainBytes)
	return max(1, units*size/bytes)
}

// execute plans the job, runs it, and returns when it is done.
func (j *job) execute() {
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	if j.packed && j.bytes >= parallelBytes && j.executePacked(sc) {
		return
	}
	j.parts.lead = 0
	j.plan()
	cost := j.bytes
	if j.class == contiguous {
		cost /= denseFactor
	}
	n := workers(j.units, cost)
	if n == 1 || j.packed {
		j.run(0, j.units, sc)
		return
	}
	j.together(n, j.units, grain(j.units, j.bytes, n), sc)
}

// together does units with workers-1 helpers.
func (j *job) together(workers int, units, grain int64, sc *scratch) {
	j.share.work, j.share.units, j.share.grain = j, units, grain
	helpers.run(&j.share, workers-1, sc)
}

// part does the units [lo, hi): blocks, or parts of elements below a byte.
func (j *job) part(lo, hi int64, sc *scratch) {
	if j.parts.lead == 0 {
		j.run(lo, hi, sc)
		return
	}
	for part := lo; part < hi; part++ {
		j.runPart(part, sc)
	}
}

// workers returns how many may share work of this size.
func workers(units, bytes int64) int {
	if bytes < parallelBytes || units < 2 {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), int(min(units, 2*bytes/parallelBytes)))
}
