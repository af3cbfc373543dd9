package ptx

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Launch is a run of a program.
type Launch struct {
	Groups, Threads uint32   // blocks, and threads in each
	Args            [][]byte // a value for each parameter; reads beyond one are faults
	Seed            uint64
	// Diverge lets threads of a warp whose paths parted run in random order, not only
	// those of other warps.
	Diverge bool
	// Blocks bounds how many blocks run, the others are left out; 0: all.
	Blocks uint32
	// Steps bounds the instructions of a warp in one block; 0: 1<<24.
	Steps int64
}

// block is the state of a run, and of the block that runs.
type block struct {
	program *Program
	memory  *Memory
	near    *Allocation // that was accessed last
	params  []byte
	given   []bool // which bytes of them have a value
	shared  *sharedMemory
	rng     *rand.Rand
	diverge bool
	threads uint32
	number  uint32
	watch   watcher
}

// watcher sees every instruction that a warp executes.
type watcher interface {
	step(w *warp, pc int32, mask, active uint32)
}

// Run runs a launch. An error is a *Fault, or says what the program does not fit.
func (p *Program) Run(m *Memory, l Launch) error {
	b, warps, err := p.prepare(m, l)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(int64(l.Groups) * int64(l.Threads)); err != nil {
		return err
	}
	// Some order: a walk by a step without a common factor with the number.
	start, step := b.rng.Uint64N(uint64(max(l.Groups, 1))), uint64(l.Groups/2+1)
	for common(step, uint64(l.Groups)) > 1 {
		step++
	}
	blocks := l.Groups
	if l.Blocks > 0 {
		blocks = min(blocks, l.Blocks)
	}
	for i := range uint64(blocks) {
		b.number = uint32((start + i*step) % uint64(l.Groups))
		if err := b.run(warps, l); err != nil {
			return err
		}
	}
	return nil
}

func common(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// prepare makes the state of a run.
func (p *Program) prepare(m *Memory, l Launch) (*block, []*warp, error) {
	if len(l.Args) != len(p.Params) {
		return nil, nil, fmt.Errorf("ptx: %s has %d parameters, not %d", p.Name, len(p.Params), len(l.Args))
	}
	if l.Threads == 0 || l.Threads > 1024 || p.Threads > 0 && int(l.Threads) > p.Threads {
		return nil, nil, fmt.Errorf("ptx: %s does not run with %d threads", p.Name, l.Threads)
	}
	b := &block{
		program: p, memory: m, near: &Allocation{}, shared: newShared(p.shared),
		rng: rand.New(rand.NewPCG(l.Seed, 7)), diverge: l.Diverge, threads: l.Threads,
	}
	for i, a := range l.Args {
		q := p.Params[i]
		if int64(len(a)) > q.Size {
			return nil, nil, fmt.Errorf("ptx: parameter %d of %s has %d bytes, not %d", i, p.Name, q.Size, len(a))
		}
		b.params = append(append(b.params, make([]byte, q.Offset-int64(len(b.params)))...), a...)
		b.given = append(b.given, make([]bool, len(b.params)-len(b.given))...)
		for k := range a {
			b.given[q.Offset+int64(k)] = true
		}
	}
	warps := make([]*warp, (l.Threads+31)/32)
	for i := range warps {
		warps[i] = b.newWarp(uint32(32*i), l)
	}
	return b, warps, nil
}

func (b *block) newWarp(first uint32, l Launch) *warp {
	p := b.program
	n := len(p.regs) + len(p.consts)
	w := &warp{
		block: b, first: first, values: make([]lanes, n), written: make([]uint32, n),
		preds: make([]uint32, p.preds), predSet: make([]uint32, p.preds),
	}
	w.preds[1] = ^uint32(0)
	w.predSet[0], w.predSet[1] = ^uint32(0), ^uint32(0)
	fill := func(at int, v uint64) {
		w.written[at] = ^uint32(0)
		for i := range w.values[at] {
			w.values[at][i] = v
		}
	}
	for i, v := range p.consts {
		fill(len(p.regs)+i, v)
	}
	for i := range specials {
		fill(i, 0)
	}
	fill(ntidX, uint64(l.Threads))
	fill(nctaidX, uint64(l.Groups))
	fill(warpID, uint64(first/32))
	for i := nctaidX + 1; i < len(specials); i++ {
		if name := specials[i]; len(name) > 5 && (name[:5] == "%ntid" || name[:5] == "%ncta") {
			fill(i, 1)
		}
	}
	return w
}

// run runs a block: warps in random order, each until it waits or for a while.
func (b *block) run(warps []*warp, l Launch) error {
	b.shared.begin()
	steps := l.Steps
	if steps == 0 {
		steps = 1 << 24
	}
	for _, w := range warps {
		w.start(l.Threads)
		w.count = steps
	}
	ready := append([]*warp(nil), warps...)
	for {
		for len(ready) > 0 {
			i, quantum := b.rng.IntN(len(ready)), 1<<30
			if b.diverge && b.rng.IntN(2) == 0 {
				quantum = 1 + b.rng.IntN(200)
			}
			w := ready[i]
			if err := w.run(quantum); err != nil {
				return err
			}
			if len(w.fragments) == 0 {
				ready[i] = ready[len(ready)-1]
				ready = ready[:len(ready)-1]
			}
		}
		waiting, err := release(warps)
		if err != nil || !waiting {
			return err
		}
		b.shared.barrier()
		ready = append(ready, warps...)
	}
}

// release lets the warps go on that wait at the barrier, if all threads have reached it.
func release(warps []*warp) (waiting bool, err error) {
	for _, w := range warps {
		waiting = waiting || w.arrived != 0
	}
	if !waiting {
		return false, nil
	}
	for _, w := range warps {
		all := uint32(mask(int(min(w.threads-w.first, 32))))
		if missing := all &^ w.arrived; missing != 0 {
			for _, v := range warps {
				if v.arrived != 0 {
					return false, v.fault(v.at, first(v.arrived), "waits at a barrier that other threads do not reach")
				}
			}
		}
		w.fragments = append(w.fragments, fragment{w.at + 1, w.arrived})
		w.arrived = 0
	}
	return true, nil
}

// Words makes arguments of numbers of 8 bytes.
func Words(values ...uint64) [][]byte {
	all := make([][]byte, len(values))
	for i, v := range values {
		all[i] = binary.LittleEndian.AppendUint64(nil, v)
	}
	return all
}
