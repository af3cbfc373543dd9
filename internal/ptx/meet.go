package ptx

import (
	"math/bits"
	"slices"
)

// shuffle modes, and votes.
const (
	modeUp uint8 = iota
	modeDown
	modeButterfly
	modeIndex
	modeAll
	modeAny
	modeUniform
	modeBallot
	modeAnd // of atomic operations
	modeOr
)

// shuffle decodes shfl.sync.mode.b32 d|p, a, b, c, members.
func (b *builder) shuffle() (err error) {
	if err := b.typed(); err != nil {
		return err
	}
	modes := map[string]uint8{"up": modeUp, "down": modeDown, "bfly": modeButterfly, "idx": modeIndex}
	mode := b.one("up", "down", "bfly", "idx")
	if !b.take("sync") || mode == "" || b.width != 32 || len(b.args) != 5 {
		return errUnknown
	}
	b.in.kind, b.in.mode = kindShuffle, modes[mode]
	result, ok := b.args[0], false
	if i := slices.Index([]byte(result), '|'); i >= 0 {
		if b.in.pdst, err = b.predicate(result[i+1:]); err != nil {
			return err
		}
		result, ok = result[:i], true
	}
	_ = ok
	if err = b.to(0, result, 32); err != nil {
		return err
	}
	for _, arg := range []string{b.args[4], b.args[1], b.args[2], b.args[3]} {
		if err = b.from(arg, 32); err != nil {
			return err
		}
	}
	return nil
}

// vote decodes vote.sync.mode.pred p, q, members and vote.sync.ballot.b32 d, q, members.
func (b *builder) vote() (err error) {
	if err := b.typed(); err != nil {
		return err
	}
	modes := map[string]uint8{"all": modeAll, "any": modeAny, "uni": modeUniform, "ballot": modeBallot}
	mode := b.one("all", "any", "uni", "ballot")
	if !b.take("sync") || mode == "" || len(b.args) != 3 {
		return errUnknown
	}
	b.in.kind, b.in.mode = kindVote, modes[mode]
	source, not := b.args[1], false
	if source[0] == '!' {
		source, not = source[1:], true
	}
	if not {
		return errUnknown
	}
	if b.in.pa, err = b.predicate(source); err != nil {
		return err
	}
	if mode == "ballot" {
		err = b.to(0, b.args[0], 32)
	} else {
		b.in.pdst, err = b.predicate(b.args[0])
	}
	if err != nil {
		return err
	}
	return b.from(b.args[2], 32)
}

// activemask is the set of lanes that happen to run together.
func (b *builder) activemask() error {
	return errUnknown // its result relies on what PTX does not guarantee
}

// meet makes a fragment wait for the others that an instruction names, and executes it for all
// when the last has arrived.
func (w *warp) meet(f fragment, in *instr, active uint32) error {
	members := uint32(w.values[in.src[0]][first(active)])
	for m := active; m != 0; m &= m - 1 {
		if lane := bits.TrailingZeros32(m); uint32(w.values[in.src[0]][lane]) != members || members>>lane&1 == 0 {
			return w.fault(f.pc, lane, "names other threads than it runs with")
		}
	}
	if active != f.mask {
		w.fragments = append(w.fragments, fragment{f.pc + 1, f.mask &^ active})
	}
	together := active
	w.meeting = slices.DeleteFunc(w.meeting, func(g fragment) bool {
		if g.pc == f.pc {
			together |= g.mask
		}
		return g.pc == f.pc
	})
	if members&^together != 0 {
		w.meeting = append(w.meeting, fragment{f.pc, together})
		return nil
	}
	switch in.kind {
	case kindShuffle:
		w.exchange(in, together)
	case kindVote:
		if lost := together &^ w.predSet[in.pa]; lost != 0 {
			return w.fault(f.pc, first(lost), "depends on a predicate that has no value")
		}
		w.tally(in, together)
	}
	w.fragments = append(w.fragments, fragment{f.pc + 1, together})
	return nil
}

// exchange is the shuffle of the lanes, according to the ISA.
func (w *warp) exchange(in *instr, active uint32) {
	a, b, c := &w.values[in.src[1]], &w.values[in.src[2]], &w.values[in.src[3]]
	var result lanes
	var valid, known uint32
	for lane := range 32 {
		bval, cval, segment := int(b[lane]&31), int(c[lane]&31), int(c[lane]>>8&31)
		most := lane&segment | cval&^segment
		least := lane & segment
		from, ok := lane, false
		switch in.mode {
		case modeUp:
			from = lane - bval
			ok = from >= most
		case modeDown:
			from = lane + bval
			ok = from <= most
		case modeButterfly:
			from = lane ^ bval
			ok = from <= most
		case modeIndex:
			from = least | bval&^segment
			ok = from <= most
		}
		if !ok {
			from = lane
		} else {
			valid |= 1 << lane
		}
		result[lane] = a[from]
		if active>>from&1 == 1 { // the values of others are undefined
			known |= w.written[in.src[1]] >> from & 1 << lane
		}
	}
	if in.dst[0] >= 0 {
		w.set(in.dst[0], &result, active, known&active)
	}
	if in.pdst >= 0 {
		w.setPredicate(in.pdst, valid, active, active)
	}
}

func (w *warp) tally(in *instr, active uint32) {
	votes := w.preds[in.pa] & active
	holds := false
	switch in.mode {
	case modeBallot:
		var result lanes
		for i := range result {
			result[i] = uint64(votes)
		}
		w.set(in.dst[0], &result, active, active)
		return
	case modeAll:
		holds = votes == active
	case modeAny:
		holds = votes != 0
	case modeUniform:
		holds = votes == 0 || votes == active
	}
	v := uint32(0)
	if holds {
		v = ^v
	}
	w.setPredicate(in.pdst, v, active, active)
}
