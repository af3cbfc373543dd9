package ptx

import "slices"

// Counts are the work of the threads of a block, for the model of a GPU: of one block, or the
// mean of several.
type Counts struct {
	Instructions float64 // of warps, weighted by what they cost (see weight)
	Passes       float64 // of warps through the first-level cache and shared memory's banks
	Requests     float64 // of the second-level cache: each is a line that a warp reads or writes
	Reads        float64 // sectors that these read
	Writes       float64
	Cycles       float64 // until the last warp is done, if the block is alone
	Cached       float64 // the same, if the second-level cache has all that the block reads
}

// Sector is the smallest number of bytes that are moved, and Line the largest of a request.
const (
	Sector = 32
	Line   = 4 * Sector
)

// nearby is the number of sectors that the first-level cache keeps for a block after their
// first read.
const nearby = 1024

// The addresses of a sample's arguments: memory holds hashes.
const (
	SampleSrc = (iota + 1) << regionBits
	SampleDst
	SampleAt
	SampleStatus
)

// Block is the result of a sample: a block's counts, and by address the sectors that it reads
// and writes, except those of global memory that holds a program's tables.
type Block struct {
	Counts
	Read     map[uint64]struct{}
	Written  map[uint64]Write
	Executed []float64 // how often warps execute each instruction that Program.Lines lists
}

// Write is the written part of a sector.
type Write struct {
	Bytes uint32  // a bit for each
	Late  bool    // the last write comes a wait for memory, or more, after the first
	first float64 // cycle
}

// Sample runs one block for its counts. It computes with hashes instead of memory, except for
// indices, which are below extent; l.Args name memory by the constants above.
func (p *Program) Sample(l Launch, number uint32, extent int64) (*Block, error) {
	b, err := p.prepare(NewMemory(), l)
	if err != nil {
		return nil, err
	}
	m := &sampler{
		Block:  Block{Read: map[uint64]struct{}{}, Written: map[uint64]Write{}, Executed: make([]float64, len(p.code))},
		extent: uint64(max(extent, 1)), last: map[uint64]int{},
		alone:  p.schedule(latencyMemory, len(b.warps)),
		cached: p.schedule(latencyL2, len(b.warps)),
	}
	b.model, b.number = m, number
	if err := b.sample(); err != nil {
		return nil, err
	}
	m.Cycles, m.Cached = m.alone.end(), m.cached.end()
	return &m.Block, nil
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
		b.model.alone.barrier()
		b.model.cached.barrier()
	}
}

// sampler counts.
type sampler struct {
	Block
	extent uint64
	last   map[uint64]int // sectors: the number read before their last use
	alone  schedule
	cached schedule
}

// step counts an instruction of a warp.
func (m *sampler) step(w *warp, pc int32, active uint32) {
	in, cost := &w.program.code[pc], w.program.weights[pc]
	m.Instructions += cost
	m.Executed[pc]++
	start := m.alone.issue(w, in, cost)
	cached := m.cached.issue(w, in, cost)
	if active == 0 {
		return
	}
	latency, fresh := 0.0, false
	if cost >= 1 {
		latency = latencyALU * cost
	}
	switch in.kind {
	case kindLoad:
		latency, fresh = m.load(w, in, active)
	case kindAtom:
		fresh = m.atomic(w, in, active)
	case kindStore:
		m.store(w, in, active, start)
	}
	if !fresh {
		m.alone.done(w, in, start+latency)
		m.cached.done(w, in, cached+latency)
		return
	}
	m.alone.done(w, in, start+m.alone.memory)
	m.cached.done(w, in, cached+m.cached.memory)
}

// where is the set of addresses that a warp accesses.
func where(w *warp, in *instr, active uint32) []uint64 {
	var all []uint64
	for lane, base := range w.values[in.src[0]] {
		if active>>lane&1 == 1 {
			all = append(all, base+uint64(in.mem.off))
		}
	}
	return all
}

// within is the pieces of memory that contain the accesses, each once, by number. No access
// crosses a border.
func within(addresses []uint64, piece uint64) []uint64 {
	all := make([]uint64, len(addresses))
	for i, a := range addresses {
		all[i] = a / piece
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// load counts a load, and returns its latency, unless it is fresh: then the latency is
// memory's.
func (m *sampler) load(w *warp, in *instr, active uint32) (latency float64, fresh bool) {
	x := &in.mem
	switch {
	case x.space == param && int(in.src[0]) >= len(w.program.regs): // at a constant address
		return 0, false
	case x.space == param:
		return latencyL1, false
	case x.space == shared:
		m.Passes += passes(w, in, active)
		return latencyShared, false
	}
	all := where(w, in, active)
	m.Passes += max(passes(w, in, active), lookups(all))
	if all[0] >= dataBase {
		return latencyL1, false
	}
	missed := map[uint64]struct{}{}
	for _, s := range within(all, Sector) {
		last, seen := m.last[s]
		fresh = fresh || !seen
		if !seen || len(m.Read)-last >= nearby {
			m.Reads++
			missed[s*Sector/Line] = struct{}{}
		}
		m.last[s] = len(m.Read)
		m.Read[s] = struct{}{}
	}
	m.Requests += float64(len(missed))
	if len(missed) > 0 {
		return latencyL2, fresh
	}
	return latencyL1, false
}

// lookups is the number of lookups in the first-level cache: two lines at a time.
func lookups(addresses []uint64) float64 { return float64(len(within(addresses, Line))) / 2 }

// write counts the requests and sectors of a store or an atomic operation.
func (m *sampler) write(all []uint64) {
	m.Requests += float64(len(within(all, Line)))
	m.Writes += float64(len(within(all, Sector)))
}

// atomic counts an atomic operation, which the second-level cache performs.
func (m *sampler) atomic(w *warp, in *instr, active uint32) (fresh bool) {
	if in.mem.space == shared {
		m.Passes += passes(w, in, active)
		return false
	}
	m.write(where(w, in, active))
	return true
}

// store counts a store that begins in a cycle.
func (m *sampler) store(w *warp, in *instr, active uint32, cycle float64) {
	if in.mem.space == shared {
		m.Passes += passes(w, in, active)
		return
	}
	all := where(w, in, active)
	m.Passes += max(passes(w, in, active), lookups(all))
	m.write(all)
	bytes := uint32(1<<in.mem.bytes() - 1)
	for _, a := range all {
		s, ok := m.Written[a/Sector]
		if !ok {
			s.first = cycle
		}
		s.Bytes |= bytes << (a % Sector)
		s.Late = s.Late || cycle-s.first >= latencyMemory || s.first-cycle >= latencyMemory
		m.Written[a/Sector] = s
	}
}

// passes is the number of accesses to shared memory for a warp: each bank returns one word of 4
// bytes at a time. Wide accesses are split into parts of the warp, consecutive lanes, whether
// they are active or not. The first-level cache is the same memory.
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

const banks = 32

// access returns hashes for a load; stored values are dropped.
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

// Add adds a part of other counts.
func (c *Counts) Add(other *Counts, part float64) {
	c.Instructions += part * other.Instructions
	c.Passes += part * other.Passes
	c.Requests += part * other.Requests
	c.Reads += part * other.Reads
	c.Writes += part * other.Writes
	c.Cycles += part * other.Cycles
	c.Cached += part * other.Cached
}
