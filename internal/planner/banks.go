package planner

// Banks of the local memory that holds a shuffle's tile.

const (
	banks = 32 // of one word each
	warp  = 32 // threads that read at the same time
	// fewTurns is an acceptable number of accesses to one bank by a warp's load.
	fewTurns = 2
	// mostApart is the largest number of extra grains between rows, plus one.
	mostApart = 8
)

// readers are the positions at which the threads of a warp read the first elements of their first
// units: each thread's index along an axis, for every axis along which the indices differ.
type readers []struct {
	axis  int
	index [warp]int64
}

// scatter arranges threads along dst and spaces the tile's rows so that neighbouring threads
// access different banks. Rows that begin at words have more possible positions, but are stored a
// word at a time.
func (t *shape) scatter() {
	threads := t.arrange()
	if t.turns <= fewTurns || len(t.rows) == 0 {
		return
	}
	loads := vector / t.size
	best, grain, apart := loads*t.turns, t.grain, []int64(nil)
	for _, g := range []int64{vector, 4} {
		t.grain = g
		more, turns := t.spreadRows(threads)
		if cost := loads*turns + vector*(vector/g-1)/4; turns > 0 && cost < best {
			best, grain, apart, t.turns = cost, g, more, turns
		}
	}
	t.grain = grain
	t.place(apart)
}

// arrange chooses how many threads stand side by side along a run before the next ones continue
// below them, and returns where they read.
func (t *shape) arrange() readers {
	t.side = t.words
	threads := t.warp(t.side)
	t.turns = t.asked(threads)
	for side := int64(warp); side*t.unit() >= sectorBytes && t.turns > fewTurns; side /= 2 {
		if side >= t.words || t.below(side) < t.below(t.words) {
			continue
		}
		others := t.warp(side)
		if turns := t.asked(others); turns < t.turns {
			threads, t.side, t.turns = others, side, turns
		}
	}
	return threads
}

// below is the number of lines below each other if side threads are side by side along them.
func (t *shape) below(side int64) int64 { return GroupSize / ((t.words + side - 1) / side * side) }

// spreadRows chooses the distance between rows, one axis after the other, and returns the number
// of accesses to the busiest bank; 0 if there is no room.
func (t *shape) spreadRows(threads readers) (more []int64, turns int64) {
	for _, i := range t.rows {
		more = append(more, 0)
		last := &more[len(more)-1]
		least, chosen, most := int64(0), int64(0), int64(1)
		if threads.differ(i) {
			most = mostApart
		}
		for *last = 0; *last < most && (least == 0 || least > fewTurns); *last++ {
			if t.place(more); t.bytes > tileBytes {
				break
			}
			if n := t.asked(threads); least == 0 || n < least {
				least, chosen = n, *last
			}
		}
		if *last = chosen; least == 0 {
			return nil, 0
		}
		turns = least
	}
	return more, turns
}

// differ reports whether threads read at different indices of an axis.
func (r readers) differ(axis int) bool {
	for _, x := range r {
		if x.axis == axis {
			return true
		}
	}
	return false
}

// asked is the number of accesses to the busiest bank by a warp's first load.
func (t *shape) asked(threads readers) int64 {
	var at [warp]int64
	for k := range threads {
		step := t.step(threads[k].axis)
		for i, x := range threads[k].index {
			at[i] += x * step
		}
	}
	return turnsOf(&at)
}

// turnsOf is the number of turns that a warp needs to read at these bytes: the number of distinct
// words in the busiest bank.
func turnsOf(at *[warp]int64) int64 {
	// Threads are numbered from 1 here. last is a bank's latest thread that accesses a new
	// word; before links each such thread to the previous one.
	var last, count [banks]int8
	var before [warp + 1]int8
	most := int8(0)
next:
	for i, x := range at {
		word := x >> 2
		bank := word & (banks - 1)
		for k := last[bank]; k > 0; k = before[k] {
			if at[k-1]>>2 == word {
				continue next
			}
		}
		before[i+1], last[bank] = last[bank], int8(i+1)
		count[bank]++
		most = max(most, count[bank])
	}
	return int64(most)
}

// warp returns where the threads of one read are, if side threads stand side by side.
func (t *shape) warp(side int64) readers {
	var line, element, unit [warp]int64
	below := t.below(side)
	for i := range int64(warp) {
		unit[i], line[i] = i%side, i/side
		unit[i] += line[i] / below * side
		line[i] %= below
		element[i] = unit[i] * t.per()
	}
	var threads readers
	take := func(axis int, from *[warp]int64, n int64) {
		var index [warp]int64
		differ := false
		for i, x := range from {
			index[i], from[i] = x%n, x/n
			differ = differ || index[i] != index[0]
		}
		if differ {
			threads = append(threads, struct {
				axis  int
				index [warp]int64
			}{axis, index})
		}
	}
	for _, i := range t.runs {
		take(i, &line, t.n[i])
	}
	last := ends(t.run)
	for _, i := range t.run {
		if i != last {
			take(i, &element, t.n[i])
		}
	}
	if last >= 0 {
		for i := range element {
			element[i] += line[i] * (t.piece / (t.length / t.n[last])) // the piece
		}
		take(last, &element, limit)
	}
	return threads
}
