package main

import (
	"slices"

	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptx"
)

// work is the work of a launch: means of blocks, and totals in bytes.
type work struct {
	ptx.Counts
	traffic
	blocks     float64
	threads    int
	bytes      float64 // of dst
	least      float64 // the least that memory moves: the reference of shares
	leastRead  float64 // the part that is read
	fetched    float64 // that it reads of operands other than dst
	written    float64
	reach      float64         // the bytes in which indices find rows; 0: none
	put        bool            // and write them
	executions map[int]float64 // of the lines of a program, by a block's warps
}

// machine is the ratio of machine instructions to the weighted ones of PTX: the mean of 95
// launches on an H100.
const machine = 1.13

// each is the number of instructions of a thread for 16 bytes of dst.
func (w *work) each() float64 {
	return w.Instructions * machine * 32 * w.blocks / (w.bytes / 16)
}

// arguments are a launch's, for a sample.
func arguments(l *launches.Launch) [][]byte {
	args := ptx.Words(l.Numbers...)
	for i, a := range l.Arguments {
		switch a.Is {
		case planner.Memory:
			address := uint64(ptx.SampleAt)
			switch i {
			case 0:
				address = ptx.SampleDst
			case 1:
				address = ptx.SampleSrc
			}
			args[i] = ptx.Words(address)[0]
		case planner.Parameters:
			args[i] = l.Params
		case planner.Status:
			args[i] = ptx.Words(ptx.SampleStatus)[0]
		}
	}
	return args
}

// measure runs three blocks, two of them consecutive.
func measure(o operation, l *launches.Launch) (*work, error) {
	text, err := cudakernels.PTX(l.Spec)
	if err != nil {
		return nil, err
	}
	p, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	w := &work{
		blocks: float64(l.Groups), threads: int(l.Local), bytes: float64(l.Bytes),
		least: float64(l.Read + l.Written), leastRead: float64(l.Read), fetched: float64(l.Fetched), written: float64(l.Written),
		reach: float64(l.Reach), put: l.Spec.Form == planner.Put || l.Spec.Form == planner.Place, executions: map[int]float64{},
	}
	numbers := []uint32{l.Groups / 3, l.Groups / 2, min(l.Groups/2+1, l.Groups-1)}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	part := 1 / float64(len(numbers))
	seen, err := observe(o.Case)
	if err != nil {
		return nil, err
	}
	launch := ptx.Launch{Groups: l.Groups, Threads: l.Local, Args: arguments(l)}
	for _, number := range numbers {
		b, err := p.Sample(launch, number, l.Extent)
		if err != nil {
			return nil, err
		}
		w.Add(&b.Counts, part)
		for i, line := range p.Lines() {
			w.executions[line] += part * b.Executed[i]
		}
		w.traffic.add(seen.traffic(b, number), part)
	}
	w.halves -= half * min(seen.near, w.halves)
	return w, nil
}
