package ptx

import (
	"fmt"
	"math/bits"
)

// warp is 32 threads. Those on one path are a fragment.
type warp struct {
	*block
	first   uint32   // the number of its first thread in the block
	values  []lanes  // registers, then constants
	written []uint32 // in which lanes they have a value
	partly  []uint32 // the other lanes in which some bits have values: all but those in lacking
	lacking []lanes
	preds   []uint32
	predSet []uint32

	fragments []fragment // runnable; empty: the warp waits or is done
	arrived   uint32     // lanes at the barrier
	at        int32      // which barrier
	meeting   []fragment // lanes that wait for others of the warp
	count     int64      // instructions left

	result, whole lanes // temporary values of compute
}

type fragment struct {
	pc   int32
	mask uint32
}

// start makes the warp ready for a block.
func (w *warp) start() {
	w.fragments = append(w.fragments[:0], fragment{0, w.all()})
	w.arrived, w.meeting = 0, w.meeting[:0]
	clear(w.written[:len(w.program.regs)])
	clear(w.predSet[2:])
	for i := range specials {
		w.written[i] = ^uint32(0)
	}
	for i := range 32 {
		w.values[tidX][i] = uint64(w.first) + uint64(i)
		w.values[laneID][i] = uint64(i)
		w.values[ctaidX][i] = uint64(w.number)
	}
}

// all is the lanes that have threads.
func (w *warp) all() uint32 { return uint32(mask(int(min(w.threads-w.first, 32)))) }

// next chooses the fragment that continues. Fragments at one place become one. Mostly it is the
// one furthest behind, so that paths meet again, until it meets the next.
func (w *warp) next() (f fragment, until int32, quantum int) {
	least := 0
	for i := 1; i < len(w.fragments); i++ {
		if w.fragments[i].pc < w.fragments[least].pc {
			least = i
		}
	}
	choice, until, quantum := least, int32(1<<30), 1<<30
	if len(w.fragments) > 1 && w.diverge && w.rng.IntN(4) == 0 {
		choice, quantum = w.rng.IntN(len(w.fragments)), 1+w.rng.IntN(24)
	}
	f = w.fragments[choice]
	w.fragments = append(w.fragments[:choice], w.fragments[choice+1:]...)
	if quantum < 1<<30 {
		return f, until, quantum
	}
	for i := 0; i < len(w.fragments); {
		if g := w.fragments[i]; g.pc == f.pc {
			f.mask |= g.mask
			w.fragments = append(w.fragments[:i], w.fragments[i+1:]...)
		} else {
			until = min(until, g.pc)
			i++
		}
	}
	return f, until, quantum
}

// run runs at most the given number of instructions, or until the warp waits or is done.
func (w *warp) run(budget int) error {
	for len(w.fragments) > 0 && budget > 0 {
		f, until, quantum := w.next()
		n, err := w.fragment(f, until, min(quantum, budget, int(w.count)+1))
		if err != nil {
			return err
		}
		budget -= n
		if w.count -= int64(n); w.count < 0 {
			return w.fault(f.pc, first(f.mask), "does not end")
		}
	}
	if len(w.fragments) == 0 && len(w.meeting) > 0 {
		f := w.meeting[0]
		return w.fault(f.pc, first(f.mask), "waits for threads of its warp that do not come")
	}
	return nil
}

// fragment runs a fragment until it reaches the place until, for at most the given number of
// instructions.
func (w *warp) fragment(f fragment, until int32, budget int) (n int, err error) {
	code := w.program.code
	for pc, mask := f.pc, f.mask; ; {
		if n >= budget || pc >= until {
			w.fragments = append(w.fragments, fragment{pc, mask})
			return n, nil
		}
		n++
		in := &code[pc]
		active := mask
		if in.guard >= 0 {
			if active, err = w.guarded(pc, in, mask); err != nil {
				return n, err
			}
		}
		if w.ran != nil && active != 0 {
			w.ran[pc] = true
		}
		if w.model != nil {
			w.model.step(w, pc, active)
		}
		if active == 0 && in.kind != kindBranch {
			pc++
			continue
		}
		known := active // lanes in which all sources have values
		for _, s := range in.src[:in.n] {
			known &= w.written[s]
		}
		if known != active && w.partial(in, active) {
			pc++
			continue
		}
		switch in.kind {
		case kindALU, kindTest, kindLogic, kindSelect, kindSplit:
			w.compute(in, active, known)
		case kindBranch:
			switch active {
			case mask:
				pc = in.target
			case 0:
				pc++
			default:
				w.fragments = append(w.fragments, fragment{in.target, active}, fragment{pc + 1, mask &^ active})
				return n, nil
			}
			continue
		case kindExit:
			if mask &^= active; mask == 0 {
				return n, nil
			}
		case kindBarrier:
			return n, w.barrier(pc, mask, active)
		case kindShuffle, kindVote, kindWarpSync:
			if lost := active &^ w.written[in.src[0]]; lost != 0 {
				return n, w.fault(pc, first(lost), "reads a register that has no value")
			}
			return n, w.meet(fragment{pc, mask}, in, active)
		default:
			if known != active {
				return n, w.fault(pc, first(active&^known), "reads a register that has no value")
			}
			if err = w.access(pc, in, active); err != nil {
				return n, err
			}
		}
		pc++
	}
}

// guarded is the lanes of mask in which the predicate of an instruction holds.
func (w *warp) guarded(pc int32, in *instr, mask uint32) (active uint32, err error) {
	if lost := mask &^ w.predSet[in.guard]; lost != 0 {
		return 0, w.fault(pc, first(lost), "depends on a predicate that has no value")
	}
	if in.not {
		return mask &^ w.preds[in.guard], nil
	}
	return mask & w.preds[in.guard], nil
}

// compute executes instructions that compute registers and predicates from others; all sources
// have values in the known lanes.
func (w *warp) compute(in *instr, active, known uint32) {
	switch in.kind {
	case kindALU:
		a, b, c, e := &w.values[in.src[0]], &w.values[in.src[1]], &w.values[in.src[2]], &w.values[in.src[3]]
		if d := in.dst[0]; active == ^uint32(0) && d >= 0 {
			in.do(&w.values[d], a, b, c, e)
			w.written[d], w.partly[d] = known, 0
		} else if d >= 0 {
			in.do(&w.result, a, b, c, e)
			w.set(d, &w.result, active, known)
		}
	case kindTest:
		w.setPredicate(in.pdst, in.test(&w.values[in.src[0]], &w.values[in.src[1]]), active, known)
	case kindLogic:
		v, sure := w.combine(in)
		w.setPredicate(in.pdst, v, active, known&sure)
	case kindSelect:
		p := w.preds[in.pa]
		known = active & w.predSet[in.pa] & (p&w.written[in.src[0]] | ^p&w.written[in.src[1]])
		choose(&w.result, &w.values[in.src[0]], &w.values[in.src[1]], p)
		w.set(in.dst[0], &w.result, active, known)
	case kindSplit:
		w.whole = w.values[in.src[0]] // which a part may replace
		for k := range in.mem.count {
			if d := in.dst[k]; d >= 0 {
				in.part(&w.result, &w.whole, k)
				w.set(d, &w.result, active, known)
			}
		}
	}
}

// barrier adds the active lanes to those that wait at a barrier of the block.
func (w *warp) barrier(pc int32, mask, active uint32) error {
	if active != mask {
		return w.fault(pc, first(mask&^active), "leaves out a barrier that others of its warp reach")
	}
	if w.arrived != 0 && w.at != pc {
		return w.fault(pc, first(active), "reaches another barrier than others of its warp")
	}
	w.arrived, w.at = w.arrived|active, pc
	return nil
}

// access executes instructions that read or write memory.
func (w *warp) access(pc int32, in *instr, active uint32) error {
	if w.model != nil && w.model.access(w, in, active) {
		return nil
	}
	switch in.kind {
	case kindLoad:
		return w.load(pc, in, active)
	case kindStore:
		return w.store(pc, in, active)
	case kindAtom:
		return w.atomic(pc, in, active)
	}
	return nil
}

// set writes a register in the active lanes; the known ones have a value.
func (w *warp) set(d int32, from *lanes, active, known uint32) {
	to := &w.values[d]
	w.written[d] = w.written[d]&^active | known
	w.partly[d] &^= active
	if active == ^uint32(0) {
		*to = *from
		return
	}
	for m := active; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		to[i] = from[i]
	}
}

// combine is an operation on predicates, and the lanes in which missing values do not matter.
func (w *warp) combine(in *instr) (v, sure uint32) {
	a, b := w.preds[in.pa], w.preds[in.pb]
	noA, noB := ^w.predSet[in.pa], ^w.predSet[in.pb]
	v = in.logic(a, b)
	return v, ^(v ^ in.logic(a^noA, b) | v ^ in.logic(a, b^noB) | v ^ in.logic(a^noA, b^noB))
}

func (w *warp) setPredicate(d int32, v, active, known uint32) {
	w.preds[d] = w.preds[d]&^active | v&active
	w.predSet[d] = w.predSet[d]&^active | known&active
}

// Fault describes an error of a program's run.
type Fault struct {
	Kernel, Instruction string
	Block, Thread       uint32
	What                string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("ptx: %s: block %d, thread %d: %q: %s", f.Kernel, f.Block, f.Thread, f.Instruction, f.What)
}

func (w *warp) fault(pc int32, lane int, what string) error {
	return &Fault{w.program.Name, w.program.text[pc], w.number, w.first + uint32(lane), what}
}
