package ptx

import (
	"maps"
	"slices"
	"strings"
)

// Counts are what the threads of a block do, as a model of a GPU wants it: of one block,
// or the mean of some.
type Counts struct {
	Instructions float64 // of warps, weighted by what they cost (see weight)
	Loads        float64 // of global memory, by warps
	LoadSectors  float64 // sectors of 32 bytes that these touch
	Stores       float64
	StoreSectors float64
	Tables       float64 // loads of constants and indices
	Conflicts    float64 // passes through shared memory's banks
	ReadSectors  float64 // sectors that a block reads, each once
	WriteSectors float64
	Cycles       float64 // until the last warp is done, if the block is alone
}

// Latencies in cycles, of a GPU that does nothing else.
const (
	latencyMemory = 700
	latencyL1     = 38
	latencyShared = 30
	latencyALU    = 5
	issueCycles   = 2  // between instructions of a warp
	barrierCycles = 20 // of all warps
	sectorBytes   = 32
	banks         = 32
)

// The addresses of a sample's arguments: memory holds hashes.
const (
	SampleSrc = (iota + 1) << regionBits
	SampleDst
	SampleAt
	SampleStatus
)

// Sample runs one block for its counts. It computes with hashes in place of memory, but
// for indices, which are below extent; l.Args name memory by the constants above.
func (p *Program) Sample(l Launch, number uint32, extent int64) (Counts, error) {
	b, err := p.prepare(NewMemory(), l)
	if err != nil {
		return Counts{}, err
	}
	m := &sampler{extent: uint64(max(extent, 1)), read: map[uint64]struct{}{}, written: map[uint64]struct{}{}}
	b.model, b.number = m, number
	m.warps = make([]timing, len(b.warps))
	for i := range m.warps {
		m.warps[i] = timing{ready: make([]float64, len(p.regs)+len(p.consts)), predicates: make([]float64, p.preds)}
	}
	if err := b.sample(); err != nil {
		return Counts{}, err
	}
	for _, w := range m.warps {
		m.Cycles = max(m.Cycles, w.next)
	}
	m.ReadSectors, m.WriteSectors = float64(len(m.read)), float64(len(m.written))
	return m.Counts, nil
}

// sample runs a block with its warps side by side.
func (b *block) sample() error {
	b.shared.begin()
	for _, w := range b.warps {
		w.start()
		w.count = b.steps
	}
	for {
		for busy := true; busy; {
			busy = false
			for _, w := range b.warps {
				if err := w.run(1); err != nil {
					return err
				}
				busy = busy || len(w.fragments) > 0
			}
		}
		waiting, err := release(b.warps)
		if err != nil || !waiting {
			return err
		}
		b.shared.barrier()
		b.model.barrier()
	}
}

// sampler counts.
type sampler struct {
	Counts
	extent  uint64
	warps   []timing
	read    map[uint64]struct{} // sectors
	written map[uint64]struct{}
}

// timing is when a warp's next instruction can be, and its registers are ready.
type timing struct {
	next       float64
	ready      []float64
	predicates []float64
}

// barrier makes all warps wait for the last.
func (m *sampler) barrier() {
	last := 0.0
	for _, w := range m.warps {
		last = max(last, w.next)
	}
	for i := range m.warps {
		m.warps[i].next = last + barrierCycles
	}
}

// step notes an instruction of a warp.
func (m *sampler) step(w *warp, pc int32, active uint32) {
	in, cost := &w.program.code[pc], w.program.weights[pc]
	m.Instructions += cost
	t := &m.warps[w.first/32]
	start := t.next
	for _, s := range in.src[:in.n] {
		start = max(start, t.ready[s])
	}
	for _, p := range []int32{in.guard, in.pa, in.pb} {
		if p >= 0 {
			start = max(start, t.predicates[p])
		}
	}
	t.next = start
	if cost > 0 {
		t.next += max(cost, 1) * issueCycles
	}
	if active == 0 {
		return
	}
	done := start
	if cost >= 1 {
		done += latencyALU * cost
	}
	switch in.kind {
	case kindLoad, kindAtom:
		done = start + m.load(w, in, active)
	case kindStore:
		m.store(w, in, active)
	}
	for _, d := range in.dst {
		if d >= 0 {
			t.ready[d] = done
		}
	}
	if in.pdst >= 0 {
		t.predicates[in.pdst] = done
	}
}

// where is the addresses that a warp accesses.
func where(w *warp, in *instr, active uint32) []uint64 {
	var all []uint64
	for lane, base := range w.values[in.src[0]] {
		if active>>lane&1 == 1 {
			all = append(all, base+uint64(in.mem.off))
		}
	}
	return all
}

// sectors is which sectors these are, each once.
func sectors(addresses []uint64, bytes int64) []uint64 {
	all := map[uint64]struct{}{}
	for _, a := range addresses {
		all[a/sectorBytes] = struct{}{}
		all[(a+uint64(bytes)-1)/sectorBytes] = struct{}{}
	}
	return slices.Collect(maps.Keys(all))
}

// load counts a load, and returns its latency.
func (m *sampler) load(w *warp, in *instr, active uint32) float64 {
	x := &in.mem
	switch {
	case in.kind == kindAtom:
		return latencyMemory
	case x.space == param && int(in.src[0]) >= len(w.program.regs): // at a constant address
		return 0
	case x.space == param:
		return latencyL1
	case x.space == shared:
		m.Conflicts += passes(w, in, active)
		return latencyShared
	}
	all := where(w, in, active)
	touched := sectors(all, x.bytes())
	index := all[0] >= SampleAt
	if index {
		m.Tables++
	} else {
		m.Loads++
		m.LoadSectors += float64(len(touched))
	}
	seen := true
	for _, s := range touched {
		if _, ok := m.read[s]; !ok {
			seen = false
			if !index {
				m.read[s] = struct{}{}
			}
		}
	}
	switch {
	case all[0] >= dataBase:
		return latencyL1
	case !seen:
		return latencyMemory
	case len(touched) <= 1:
		return latencyL1
	}
	return .6 * latencyMemory // from the second-level cache
}

func (m *sampler) store(w *warp, in *instr, active uint32) {
	if in.mem.space == shared {
		m.Conflicts += passes(w, in, active)
		return
	}
	all := where(w, in, active)
	touched := sectors(all, in.mem.bytes())
	m.Stores++
	m.StoreSectors += float64(len(touched))
	for _, s := range touched {
		m.written[s] = struct{}{}
	}
}

// passes is how often shared memory is accessed for a warp: each of its banks gives one
// word of 4 bytes at a time. Wide accesses are done a part of the warp at a time, of lanes that
// follow each other, whether they are active or not.
func passes(w *warp, in *instr, active uint32) float64 {
	at, bytes := &w.values[in.src[0]], uint64(max(in.mem.bytes(), 4))
	part, sum := banks/int(bytes/4), 0
	for first := 0; first < len(at); first += part {
		words := map[uint64]struct{}{}
		for lane := first; lane < first+part; lane++ {
			if active>>lane&1 == 0 {
				continue
			}
			for o := uint64(0); o < bytes; o += 4 {
				words[(at[lane]+uint64(in.mem.off)+o)/4] = struct{}{}
			}
		}
		var load [banks]int
		for word := range words {
			load[word%banks]++
		}
		sum += slices.Max(load[:])
	}
	return float64(sum)
}

// access gives a load its hashes; what is stored is forgotten.
func (m *sampler) access(w *warp, in *instr, active uint32) bool {
	if in.mem.space == shared || in.mem.space == param || w.values[in.src[0]][first(active)] >= dataBase {
		return false
	}
	if in.kind == kindStore {
		return true
	}
	var results [4]lanes
	for lane := range 32 {
		for k := range int(in.mem.count) {
			at := w.values[in.src[0]][lane] + uint64(in.mem.off) + uint64(k)*uint64(in.mem.size)
			h := at * 0x9e3779b97f4a7c15 >> 7
			if at >= SampleAt && at < SampleStatus {
				h %= m.extent
			}
			results[k][lane] = in.mem.extend(h&mask(8*int(in.mem.size)), k)
		}
	}
	for k := range int(in.mem.count) {
		if d := in.dst[k]; d >= 0 {
			w.set(d, &results[k], active, active)
		}
	}
	return true
}

// weight is about how many instructions of the machine one of PTX is.
func weight(opcode string) float64 {
	words := strings.Split(opcode, ".")
	last := words[len(words)-1]
	double := strings.HasSuffix(last, "64")
	wide := func(one, two float64) float64 {
		if double {
			return two
		}
		return one
	}
	has := func(word string) bool { return slices.Contains(words, word) }
	switch words[0] {
	case "ld", "st":
		if has("param") {
			return 0
		}
		return 1
	case "cvta":
		return 0
	case "mov":
		return .25
	case "cvt":
		if opcode == "cvt.s64.s32" {
			return 1
		}
		return .1
	case "add", "sub":
		return wide(1, 1.6)
	case "mul":
		if has("wide") || has("hi") {
			return 1
		}
		return wide(1, 3)
	case "shl", "shr":
		return wide(1, 1.7)
	case "setp":
		return wide(1, 1.8)
	case "selp":
		return wide(1, 1.9)
	case "and", "or", "xor", "not":
		if last == "pred" {
			return .5
		}
		return wide(.8, 1.6)
	case "min", "max":
		return wide(1, 4)
	case "bra":
		if has("uni") {
			return .3
		}
		return 1.2
	case "div":
		if last == "f32" {
			return 9 // a reciprocal, steps, and a test for a call
		}
	case "clz":
		return wide(2, 3)
	case "neg":
		return wide(1, 1.5)
	}
	return 1
}

// Add adds a part of other counts.
func (c *Counts) Add(other Counts, part float64) {
	c.Instructions += part * other.Instructions
	c.Loads += part * other.Loads
	c.LoadSectors += part * other.LoadSectors
	c.Stores += part * other.Stores
	c.StoreSectors += part * other.StoreSectors
	c.Tables += part * other.Tables
	c.Conflicts += part * other.Conflicts
	c.ReadSectors += part * other.ReadSectors
	c.WriteSectors += part * other.WriteSectors
	c.Cycles += part * other.Cycles
}
