package ptx

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Launch is a run of a program.
type Launch struct {
	Groups, Threads uint32   // blocks, and threads in each
	Args            [][]byte // a value for each parameter; reads beyond one are faults
	Seed            uint64
	// Diverge lets threads of a warp on different paths run in random order, not only different
	// warps.
	Diverge bool
	// Steps bounds the instructions of a warp in one block; 0: 1<<24.
	Steps int64
	// Ran, if not nil, is set to true for each instruction that is executed: of those that
	// Program.Lines lists.
	Ran []bool
}

// block is the state of a run, and of the current block.
type block struct {
	program   *Program
	memory    *Memory
	near      *Allocation // that was accessed last
	params    []byte
	given     []bool // the bytes of them that have a value
	shared    *sharedMemory
	unwritten uint32 // bytes of the last load that were never written
	rng       *rand.Rand
	diverge   bool
	threads   uint32
	number    uint32
	model     *sampler // nil: it computes
	steps     int64
	ran       []bool
	warps     []*warp
	ready     []*warp
}

// Run runs a launch. An error is a *Fault, or says why the launch does not fit the program.
func (p *Program) Run(m *Memory, l Launch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := p.prepare(m, l)
	if err != nil {
		return err
	}
	defer p.idle.Put(b)
	if err := m.begin(int64(l.Groups) * int64(l.Threads)); err != nil {
		return err
	}
	// A pseudorandom order: a walk with a step that has no factor in common with the number.
	start, step := b.rng.Uint64N(uint64(max(l.Groups, 1))), uint64(l.Groups/2+1)
	for common(step, uint64(l.Groups)) > 1 {
		step++
	}
	for i := range uint64(l.Groups) {
		b.number = uint32((start + i*step) % uint64(l.Groups))
		if err := b.run(); err != nil {
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

// prepare makes the state of a run, from an earlier one's.
func (p *Program) prepare(m *Memory, l Launch) (*block, error) {
	if len(l.Args) != len(p.Params) {
		return nil, fmt.Errorf("ptx: %s has %d parameters, not %d", p.Name, len(p.Params), len(l.Args))
	}
	if l.Threads == 0 || l.Threads > 1024 || p.Threads > 0 && int(l.Threads) > p.Threads {
		return nil, fmt.Errorf("ptx: %s does not run with %d threads", p.Name, l.Threads)
	}
	b, _ := p.idle.Get().(*block)
	if b == nil {
		b = &block{program: p, shared: newShared(p.shared)}
	}
	b.memory, b.near, b.model, b.ran = m, &Allocation{}, nil, l.Ran
	b.rng, b.diverge = rand.New(rand.NewPCG(l.Seed, 7)), l.Diverge
	if b.steps = l.Steps; b.steps == 0 {
		b.steps = 1 << 24
	}
	b.params, b.given = b.params[:0], b.given[:0]
	for i, a := range l.Args {
		q := p.Params[i]
		if int64(len(a)) > q.Size {
			return nil, fmt.Errorf("ptx: parameter %d of %s has %d bytes, not %d", i, p.Name, q.Size, len(a))
		}
		b.params = append(append(b.params, make([]byte, q.Offset-int64(len(b.params)))...), a...)
		b.given = append(b.given, make([]bool, len(b.params)-len(b.given))...)
		for k := range a {
			b.given[q.Offset+int64(k)] = true
		}
	}
	if b.threads != l.Threads {
		b.threads, b.warps = l.Threads, nil
		for first := uint32(0); first < l.Threads; first += 32 {
			b.warps = append(b.warps, b.newWarp(first))
		}
	}
	for _, w := range b.warps {
		w.fill(nctaidX, uint64(l.Groups))
	}
	return b, nil
}

// fill gives a register a value in all threads.
func (w *warp) fill(at int, v uint64) {
	w.written[at] = ^uint32(0)
	for i := range w.values[at] {
		w.values[at][i] = v
	}
}

func (b *block) newWarp(first uint32) *warp {
	p := b.program
	n := len(p.regs) + len(p.consts)
	w := &warp{
		block: b, first: first, values: make([]lanes, n), written: make([]uint32, n),
		partly: make([]uint32, n), lacking: make([]lanes, n),
		preds: make([]uint32, p.preds), predSet: make([]uint32, p.preds),
	}
	w.preds[1] = ^uint32(0)
	w.predSet[0], w.predSet[1] = ^uint32(0), ^uint32(0)
	for i, v := range p.consts {
		w.fill(len(p.regs)+i, v)
	}
	for i := range specials {
		w.fill(i, 0)
	}
	w.fill(ntidX, uint64(b.threads))
	w.fill(warpID, uint64(first/32))
	for i := nctaidX + 1; i < len(specials); i++ {
		if strings.HasPrefix(specials[i], "%ntid") || strings.HasPrefix(specials[i], "%nctaid") {
			w.fill(i, 1)
		}
	}
	return w
}

// run runs a block: warps in random order, each until it waits or for a while.
func (b *block) run() error {
	b.shared.begin()
	for _, w := range b.warps {
		w.start()
		w.count = b.steps
	}
	b.ready = append(b.ready[:0], b.warps...)
	for {
		for len(b.ready) > 0 {
			i, quantum := b.rng.IntN(len(b.ready)), 1<<30
			if b.diverge && b.rng.IntN(2) == 0 {
				quantum = 1 + b.rng.IntN(200)
			}
			w := b.ready[i]
			if err := w.run(quantum); err != nil {
				return err
			}
			if len(w.fragments) == 0 {
				last := len(b.ready) - 1
				b.ready[i] = b.ready[last]
				b.ready = b.ready[:last]
			}
		}
		waiting, err := release(b.warps)
		if err != nil || !waiting {
			return err
		}
		b.shared.barrier()
		b.ready = append(b.ready, b.warps...)
	}
}

// release lets the warps continue that wait at the barrier, if all threads have reached it.
func release(warps []*warp) (waiting bool, err error) {
	for _, w := range warps {
		waiting = waiting || w.arrived != 0
	}
	if !waiting {
		return false, nil
	}
	for _, w := range warps {
		if w.all()&^w.arrived != 0 {
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
