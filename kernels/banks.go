package kernels

import "slices"

// The banks of local memory that a shuffle's tile lies in.

const (
	banks = 32 // of a word each
	warp  = 32 // threads that read at once
	// fewTurns is how often a warp's load may ask a bank.
	fewTurns = 2
	// mostApart is how many grains rows are moved apart, less one.
	mostApart = 8
)

// scatter moves the tile's rows apart, so that threads side by side in dst ask different
// banks. Rows that begin at words have more places to choose from, but are stored a
// word at a time.
func (t *shape) scatter() {
	turns := t.turns()
	if turns <= fewTurns {
		return
	}
	loads := vector / t.size
	best, grain, apart := loads*turns, t.grain, []int64(nil)
	for _, g := range []int64{vector, 4} {
		t.grain = g
		more, turns := t.spreadRows()
		if cost := loads*turns + vector*(vector/g-1)/4; turns > 0 && cost < best {
			best, grain, apart = cost, g, more
		}
	}
	t.grain = grain
	t.place(apart)
}

// spreadRows chooses how far apart rows are, an axis after the other, and says how often
// a bank is asked then; 0: there is no room.
func (t *shape) spreadRows() (more []int64, turns int64) {
	for range t.rows {
		more = append(more, 0)
		last := &more[len(more)-1]
		least, chosen := int64(0), int64(0)
		for *last = 0; *last < mostApart; *last++ {
			if t.place(more); t.bytes > tileBytes {
				break
			}
			if n := t.turns(); least == 0 || n < least {
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

// turns is how often the first load of a warp asks the bank that it asks most.
func (t *shape) turns() int64 {
	var asked [banks][]int64
	var room [banks][4]int64
	for i := range asked {
		asked[i] = room[i][:0]
	}
	most := 0
	for thread := range int64(warp) {
		word := t.at(thread) >> 2
		bank := &asked[word&(banks-1)]
		if !slices.Contains(*bank, word) {
			*bank = append(*bank, word)
			most = max(most, len(*bank))
		}
	}
	return int64(most)
}

// at is where in the tile the first element of a thread's first unit lies.
func (t *shape) at(thread int64) int64 {
	at, e, line := int64(0), thread%t.words*t.per(), thread/t.words
	for k, i := range t.run {
		x := e
		if k < len(t.run)-1 {
			x = e % t.n[i]
		}
		at += x * t.step(i)
		e /= t.n[i]
	}
	if t.pieces > 1 {
		last := ends(t.run)
		at += line % t.pieces * (t.piece / (t.length / t.n[last])) * t.step(last)
		line /= t.pieces
	}
	for _, i := range t.runs {
		at += line % t.n[i] * t.step(i)
		line /= t.n[i]
	}
	return at
}
