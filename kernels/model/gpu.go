package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/restride/restride/internal/ptx"
	"github.com/restride/restride/kernels"
)

// gpu is what the model knows of one. Rates are a second's.
type gpu struct {
	name, arch  string
	processors  float64 // multiprocessors
	clock       float64
	memory      float64 // bytes that a copy reads and writes
	read, write float64 // and loads or stores alone; 0: the same
	cache       float64 // bytes of the second-level cache
	threads     int     // of a multiprocessor, as registers and shared bytes are
	registers   int
	shared      int
	issue       float64 // instructions a cycle and multiprocessor
	latency     float64 // cycles to memory
	launch      float64 // seconds
}

// gpus are the GPUs that are predicted: their makers' figures, with the share of the
// memory's peak that copies are known to reach.
var gpus = []gpu{
	{name: "H100", arch: "sm_90", processors: 132, clock: 1.755e9, memory: .905 * 3.35e12, cache: 5.5e12, threads: 2048, registers: 65536, shared: 228 << 10},
	{name: "A100", arch: "sm_80", processors: 108, clock: 1.41e9, memory: .9 * 2.039e12, cache: 4e12, threads: 2048, registers: 65536, shared: 164 << 10},
	{name: "L4", arch: "sm_89", processors: 58, clock: 1.7e9, memory: .9 * 300e9, cache: 1.6e12, threads: 1536, registers: 65536, shared: 100 << 10},
	{name: "B200", arch: "sm_100", processors: 148, clock: 1.85e9, memory: .9 * 7.7e12, cache: 9e12, threads: 2048, registers: 65536, shared: 228 << 10},
}

func init() {
	for i := range gpus {
		gpus[i].issue, gpus[i].latency, gpus[i].launch = 3, 700, 2.5e-6
	}
}

// target is the GPU as the planner knows it.
func (g *gpu) target() kernels.Target {
	capability, _ := strconv.Atoi(strings.TrimPrefix(g.arch, "sm_"))
	return kernels.Target{Multiprocessors: int(g.processors), Capability: capability}
}

// calibration is what micro-benchmarks measured of a GPU; 0: not measured.
type calibration struct {
	Copy         float64 `json:"copy"`         // bytes a second, read and written
	Read         float64 `json:"read"`         // by loads alone
	Write        float64 `json:"write"`        // by stores alone
	Instructions float64 `json:"instructions"` // a cycle and multiprocessor
	Latency      float64 `json:"latency"`      // cycles to memory
	Launch       float64 `json:"launch"`       // seconds
}

// calibrate reads a file of calibrations by the names that GPUs tell, as "NVIDIA H100
// PCIe", if there is one, and says which GPUs it has.
func calibrate(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all map[string]calibration
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	var names []string
	for i := range gpus {
		g := &gpus[i]
		var c calibration
		for name, one := range all {
			if strings.Contains(name, g.name) {
				c, names = one, append(names, g.name)
				break
			}
		}
		for _, v := range []struct {
			to   *float64
			from float64
		}{{&g.memory, c.Copy}, {&g.read, c.Read}, {&g.write, c.Write}, {&g.issue, c.Instructions}, {&g.latency, c.Latency}, {&g.launch, c.Launch}} {
			if v.from > 0 {
				*v.to = v.from
			}
		}
	}
	return names, nil
}

// resources are what the assembler gives a kernel.
type resources struct{ registers, shared int }

// assumed is taken for a kernel's without an assembler.
var assumed = resources{registers: 40}

// prediction is what a launch would be on a GPU.
type prediction struct {
	share   float64 // of the speed of the dense copy of as many bytes
	bound   string  // what takes longest
	blocks  int     // that a multiprocessor has at a time
	seconds float64
}

// work is what a launch does: counts of a block, and totals.
type work struct {
	counts        ptx.Counts
	blocks        float64
	threads       int
	read, written float64 // bytes that memory moves
	bytes         float64 // of dst
}

// machine is how many instructions of the machine there are to the weighted ones of PTX.
const machine = 1.08

// each is the instructions of a thread for 16 bytes of dst.
func (w *work) each() float64 {
	return w.counts.Instructions * machine * 32 * w.blocks / (w.bytes / 16)
}

// bandwidth is the memory's for this mixture of loads and stores.
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

// parts are the seconds that each part of the GPU needs, if it were the only one.
type parts struct{ memory, issue, loads, cache, latency float64 }

// total adds parts: they overlap, but not wholly.
func (p parts) total() float64 {
	sum := 0.0
	for _, v := range []float64{p.memory, p.issue, p.loads, p.cache, p.latency} {
		sum += v * v * v
	}
	return math.Cbrt(sum)
}

func (p parts) bound() string {
	name, most := "memory", p.memory
	for _, v := range []struct {
		name    string
		seconds float64
	}{{"issue", p.issue}, {"load/store", p.loads}, {"cache", p.cache}, {"latency", p.latency}} {
		if v.seconds > most {
			name, most = v.name, v.seconds
		}
	}
	return name
}

// predict predicts a launch of a kernel with these resources.
func (g *gpu) predict(w *work, r resources) prediction {
	cycles := g.processors * g.clock
	c := &w.counts
	blocks := min(g.threads/w.threads, g.registers/((r.registers+7)/8*8*w.threads))
	if r.shared > 0 {
		blocks = min(blocks, g.shared/(r.shared+1<<10))
	}
	moved, rate := w.read+w.written, g.bandwidth(w.read, w.written)
	p := parts{
		memory:  moved / rate,
		issue:   c.Instructions * machine * w.blocks / (cycles * g.issue),
		loads:   (c.Loads + c.Stores + c.Conflicts) * w.blocks / (cycles * .9),
		cache:   (min(c.LoadSectors, 2*c.ReadSectors) + c.StoreSectors) * 32 * w.blocks / g.cache,
		latency: (c.Cycles*1.15 + g.latency) * w.blocks / (cycles * float64(blocks)),
	}
	// A dense copy of the same traffic: 50 instructions of a thread for 16 bytes that it
	// writes, a quarter of the time in flight.
	dense := parts{
		memory: p.memory, cache: moved / g.cache, latency: p.memory / 4,
		issue: moved / 32 * 50 / 32 / (cycles * g.issue),
	}
	total := p.total() + g.launch
	if os.Getenv("PARTS") != "" {
		fmt.Fprintf(os.Stderr, "memory %.0f issue %.0f loads %.0f cache %.0f latency %.0f\n", p.memory*1e6, p.issue*1e6, p.loads*1e6, p.cache*1e6, p.latency*1e6)
	}
	return prediction{(dense.total() + g.launch) / total, p.bound(), blocks, total}
}
