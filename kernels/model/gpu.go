package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptx"
)

// gpu is the model's description of a GPU. Rates are per second.
type gpu struct {
	name, arch  string
	processors  float64 // multiprocessors
	clock       float64
	memory      float64 // bytes that a copy reads and writes
	read, write float64 // and for loads or stores alone; 0: the same
	cache       float64 // bytes that the second-level cache reads; it writes half as many
	holds       float64 // bytes
	threads     int     // of a multiprocessor, like registers and shared bytes
	registers   int
	shared      int
	issue       float64 // instructions per cycle and multiprocessor
	latency     float64 // cycles to memory
	launch      float64 // seconds
}

// gpus are the GPUs that are predicted: their makers' figures, with the share of the
// memory's peak that copies are known to reach. The H100's clock and its cache's rate were
// measured, and the other caches' rates are scaled by the same factor.
var gpus = []gpu{
	{name: "H100", arch: "sm_90", processors: 132, clock: 1.965e9, memory: .905 * 3.35e12, cache: 6.5e12, holds: 50e6, threads: 2048, registers: 65536, shared: 228 << 10},
	{name: "A100", arch: "sm_80", processors: 108, clock: 1.41e9, memory: .9 * 2.039e12, cache: 4.7e12, holds: 40e6, threads: 2048, registers: 65536, shared: 164 << 10},
	{name: "L4", arch: "sm_89", processors: 58, clock: 1.7e9, memory: .9 * 300e9, cache: 1.9e12, holds: 48e6, threads: 1536, registers: 65536, shared: 100 << 10},
	{name: "B200", arch: "sm_100", processors: 148, clock: 1.85e9, memory: .9 * 7.7e12, cache: 10.6e12, holds: 126e6, threads: 2048, registers: 65536, shared: 228 << 10},
}

func init() {
	for i := range gpus {
		gpus[i].issue, gpus[i].latency, gpus[i].launch = 3, 700, 3e-6
	}
}

// Measured on an H100, and assumed for other GPUs: fitted to some 1,000 launches. See
// docs/gpu-model.md.
const (
	alone       = 1.05 // the factor by which memory would be faster than a copy without the cache
	brokenBytes = 650  // the cost of a sector that memory gets in parts, if there are few, and
	brokenAll   = 3    // the factor of that cost if all are
	perRequest  = 43   // bytes of the cache's rate: one request a cycle and slice
	loaded      = 1.8  // the factor by which a block is slower among others than alone
)

// target is the planner's target for the GPU.
func (g *gpu) target() planner.Target {
	capability, _ := strconv.Atoi(strings.TrimPrefix(g.arch, "sm_"))
	return planner.Target{Multiprocessors: int(g.processors), Capability: capability}
}

// prediction is the predicted performance of a launch on a GPU.
type prediction struct {
	share   float64 // of the speed of the dense copy of as many bytes
	bound   string  // the slowest part
	blocks  int     // per multiprocessor at a time
	seconds float64
}

// bandwidth is the memory's for this mix of loads and stores.
func (g *gpu) bandwidth(read, written float64) float64 {
	share := read / (read + written)
	if share >= .5 && g.read > 0 {
		return g.memory + (g.read-g.memory)*(2*share-1)
	}
	if share < .5 && g.write > 0 {
		return g.memory + (g.write-g.memory)*(1-2*share)
	}
	return g.memory
}

// parts are the seconds that each part of the GPU needs alone.
type parts struct{ memory, issue, loads, requests, cache, latency float64 }

type part struct {
	name    string
	seconds float64
}

func (p *parts) each() []part {
	return []part{{"memory", p.memory}, {"issue", p.issue}, {"load/store", p.loads}, {"requests", p.requests}, {"cache", p.cache}, {"latency", p.latency}}
}

// total adds parts: they overlap, but not completely.
func (p *parts) total() float64 {
	sum := 0.0
	for _, v := range p.each() {
		sum += v.seconds * v.seconds * v.seconds * v.seconds
	}
	return math.Sqrt(math.Sqrt(sum))
}

func (p *parts) bound() string {
	most := p.each()[0]
	for _, v := range p.each() {
		if v.seconds > most.seconds {
			most = v
		}
	}
	return most.name
}

// moving is the memory's seconds for a launch.
func (g *gpu) moving(w *work) float64 {
	read, written := w.fetched, w.written
	if lines := w.lines * ptx.Line * w.blocks; w.put {
		written = max(written, lines)
	} else if w.reach > g.holds { // the cache holds only a part of the rows
		read = max(read, lines*(1-g.holds/w.reach))
	}
	read += (w.halves + w.merged) * ptx.Sector * w.blocks
	broken := w.broken * w.blocks
	cost := brokenBytes / (1 + (brokenAll-1)*broken*ptx.Sector/w.written)
	return (read + written + broken*cost) / (alone * g.bandwidth(read, written))
}

// cycles is the duration of a block alone. Blocks that read the same find it in the
// second-level cache: the first of them waits for memory.
func (g *gpu) cycles(w *work) float64 {
	first := 1.0
	if w.distinct > 0 {
		first = min(1, w.fetched/(w.distinct*ptx.Sector*w.blocks))
	}
	waits := (w.Cycles - w.Cached) / ptx.Waiting
	return w.Cached + first*waits*(g.latency-ptx.FromCache)
}

// live is the number of blocks that a multiprocessor runs at a time.
func (g *gpu) live(threads int, r resources) int {
	blocks := min(g.threads/threads, g.registers/((r.registers+7)/8*8*threads))
	if r.shared > 0 {
		blocks = min(blocks, g.shared/(r.shared+1<<10))
	}
	return blocks
}

// predict predicts a launch of a kernel with these resources.
func (g *gpu) predict(w *work, r resources) prediction {
	cycles, blocks := g.processors*g.clock, g.live(w.threads, r)
	stores, loads := w.spills(r)
	const sectors = 4 // of a warp's register
	p := parts{
		memory:   g.moving(w),
		issue:    w.Instructions * machine * w.blocks / (cycles * g.issue),
		loads:    (w.Passes + stores + loads) * w.blocks / cycles,
		requests: (w.Requests + stores) * perRequest * w.blocks / g.cache,
		cache:    (w.Reads + 2*(w.Writes+sectors*stores)) * ptx.Sector * w.blocks / g.cache,
		latency:  g.cycles(w) * loaded * w.blocks / (cycles * float64(blocks)),
	}
	// A dense copy of the least traffic: 50 instructions of a thread for each 16 bytes that it
	// writes, in flight for a quarter of the time.
	d := parts{
		memory:   w.least / (alone * g.bandwidth(w.leastRead, w.least-w.leastRead)),
		issue:    w.least / 32 * 50 / 32 / (cycles * g.issue),
		requests: w.least / ptx.Line * perRequest / g.cache,
		cache:    (w.leastRead + 2*(w.least-w.leastRead)) / g.cache,
	}
	d.latency = d.memory / 4
	total := p.total() + g.launch
	return prediction{(d.total() + g.launch) / total, p.bound(), blocks, total}
}

// spills counts the spilled registers that a block's warps store and load.
func (w *work) spills(r resources) (stores, loads float64) {
	for line, n := range r.local {
		stores += n.stores * w.executions[line]
		loads += n.loads * w.executions[line]
	}
	return stores, loads
}
