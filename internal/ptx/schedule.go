package ptx

// Latencies in cycles, of a GPU that does nothing else.
const (
	latencyMemory = 700
	latencyL2     = FromCache
	latencyL1     = 38
	latencyShared = 30
	latencyALU    = 5
	issueCycles   = 2  // between instructions of a warp
	barrierCycles = 20 // of all warps
)

// FromCache is the latency of the second-level cache, in cycles, and Waiting the additional
// latency of memory: Counts.Cycles and Counts.Cached differ by a multiple of it.
const (
	FromCache = 280
	Waiting   = latencyMemory - FromCache
)

// schedule is the progress of a block's warps. Instructions between branches, barriers and
// stores are in the order that the assembler chooses: loads are issued as early as possible, so
// that their latency is hidden.
type schedule struct {
	memory float64 // cycles until memory answers
	warps  []timing
}

// timing says when a warp can issue its next instruction, and when its registers are ready.
type timing struct {
	next       float64
	pending    float64    // the begin of the last instruction so far, which a branch waits for
	stored     [2]float64 // the last store, to global and to shared memory
	ready      []float64
	predicates []float64
}

func (p *Program) schedule(memory float64, warps int) schedule {
	s := schedule{memory: memory, warps: make([]timing, warps)}
	for i := range s.warps {
		s.warps[i] = timing{ready: make([]float64, len(p.regs)+len(p.consts)), predicates: make([]float64, p.preds)}
	}
	return s
}

// barrier makes all warps wait for the last.
func (s *schedule) barrier() {
	last := s.end()
	for i := range s.warps {
		s.warps[i].next = last + barrierCycles
	}
}

// end is the time when the last warp is done.
func (s *schedule) end() float64 {
	last := 0.0
	for _, t := range s.warps {
		last = max(last, t.next)
	}
	return last
}

// issue returns when an instruction begins, and takes its place among those of its warp.
func (s *schedule) issue(w *warp, in *instr, cost float64) float64 {
	t := &s.warps[w.first/32]
	start := t.next
	for _, r := range in.src[:in.n] {
		start = max(start, t.ready[r])
	}
	for _, p := range []int32{in.guard, in.pa, in.pb} {
		if p >= 0 {
			start = max(start, t.predicates[p])
		}
	}
	stored := &t.stored[0]
	if in.mem.space == shared {
		stored = &t.stored[1]
	}
	switch in.kind {
	case kindBranch, kindBarrier, kindExit:
		start = max(start, t.pending)
		t.next = start
	case kindLoad:
		if in.mem.space != param {
			start = max(start, *stored)
		}
	case kindStore:
		*stored = start
	}
	t.pending = max(t.pending, start)
	if cost > 0 {
		t.next += max(cost, 1) * issueCycles
	}
	return start
}

// done records when the results of an instruction are ready.
func (s *schedule) done(w *warp, in *instr, at float64) {
	t := &s.warps[w.first/32]
	for _, d := range in.dst {
		if d >= 0 {
			t.ready[d] = at
		}
	}
	if in.pdst >= 0 {
		t.predicates[in.pdst] = at
	}
}
