package cpu

import "runtime"

const (
	// parallelBytes is the size from which waking others pays.
	parallelBytes = 256 << 10
	// grainBytes is what a worker takes at a time: enough to forget the cost of
	// taking it, little enough that none waits long for the last.
	grainBytes = 128 << 10
)

// execute plans the job, runs it, and returns when it is done.
func (j *job) execute() {
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	if j.packed && j.bytes >= parallelBytes && j.executePacked(sc) {
		return
	}
	j.parts.lead = 0
	j.plan()
	n := workers(j.units, j.bytes)
	if n == 1 || j.packed {
		j.run(0, j.units, sc)
		return
	}
	j.grain = max(1, j.units*grainBytes/j.bytes)
	j.together(n, sc)
}

// together takes units with workers-1 goroutines more. Goroutines are started
// anew: that costs about a microsecond, and leaves none behind.
func (j *job) together(workers int, sc *scratch) {
	j.taken.Store(0)
	for range workers - 1 {
		j.wait.Add(1)
		go j.help()
	}
	j.take(sc)
	j.wait.Wait()
}

func (j *job) help() {
	defer j.wait.Done()
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	j.take(sc)
}

func (j *job) take(sc *scratch) {
	for {
		hi := j.taken.Add(j.grain)
		lo := hi - j.grain
		if lo >= j.units {
			return
		}
		hi = min(hi, j.units)
		if j.parts.lead == 0 {
			j.run(lo, hi, sc)
			continue
		}
		for part := lo; part < hi; part++ {
			j.runPart(part, sc)
		}
	}
}

// workers returns how many may share work of this size.
func workers(units, bytes int64) int {
	if bytes < parallelBytes || units < 2 {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), int(min(units, 2*bytes/parallelBytes)))
}
