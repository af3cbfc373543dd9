package cpu

import (
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/internal/plankey"
	"github.com/restride/restride/layout"
)

// What a call ran, and why.

// KernelName returns the class of a copy, and the kernel that did it: the mover, and the width in
// bits of the elements that it moved (see the package's description). A copy whose plan was
// dropped is planned again. If Copy refuses the copy, both are empty.
func (q *queue) KernelName(dst, src device.Operand) (class, name string) {
	if backend.CheckCopy(&dst, &src) != nil {
		return "", ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	f := form{op: opCopy, align: 16, dst: dst.Type, src: src.Type}
	if to, from, err := q.usePair("KernelName", &dst, &src); err == nil {
		f.align = uint8(min(alignment(to.base), alignment(from.base)))
	}
	if p := q.plans.find(&f, &dst.Layout, &src.Layout); p != nil {
		return p.job.kernel().names()
	}
	if n, ok := shortRun(&dst, &src); ok && n > 0 {
		return kernel{nest.Dense.String(), "run", width(dst.Type), dst.Type == layout.String}.names()
	}
	for i := range q.ran {
		if x := &q.ran[i]; x.form == f && x.layouts.Is(nil, &dst.Layout, &src.Layout) {
			return x.kernel.names()
		}
	}
	j := jobs.Get().(*job)
	defer j.release()
	j.units = 0
	if j.prepare(&f, &dst.Layout, &src.Layout) {
		j.plan()
	}
	return j.kernel().names()
}

// ran is the kernel of a recent long call, which keeps no plan.
type ran struct {
	form    form
	layouts plankey.Key
	kernel  kernel
}

// mostRan is the number of long calls that are kept.
const mostRan = 8

// keepRan replaces the oldest entry with the kernel of a call.
func (q *queue) keepRan(j *job, f *form, dst, src *layout.Layout) {
	x := &q.ran[q.nextRan%mostRan]
	q.nextRan++
	x.form = *f
	x.layouts.Set(nil, dst, src)
	x.kernel = j.kernel()
}

// kernel describes what executed a job. Its names are made on demand.
type kernel struct {
	class   string // of a copy, else the operation
	mover   string // "": there is nothing to do
	bits    int    // of a written element
	strings bool
}

// kernel is the job's.
func (j *job) kernel() kernel {
	k := kernel{class: j.class.String(), mover: j.ran, bits: j.dBits, strings: j.strings}
	if j.kind == convert {
		k.class = j.kind.String()
	}
	if k.mover == "" && j.units > 0 {
		k.mover = j.mover.name()
	}
	return k
}

// names are the class, and the mover's name in one word with the width of the elements.
func (k kernel) names() (class, name string) {
	switch {
	case k.mover == "":
		return nest.Dense.String(), "nothing"
	case k.strings:
		return k.class, strings.ReplaceAll(k.mover, " ", "-") + ".string"
	}
	return k.class, strings.ReplaceAll(k.mover, " ", "-") + "." + strconv.Itoa(k.bits)
}

// Explain says how a copy, conversion or fill (whose src is dst) is executed, and why, without
// buffers: it assumes addresses that are multiples of 16 bytes. Workers that share a copy below a
// byte plan each part of it separately.
func (q *queue) Explain(op string, dst, src device.Operand, how device.Rounding) (backend.Explanation, error) {
	f := form{op: opCopy, align: 16, dst: dst.Type, src: src.Type}
	switch {
	case strings.EqualFold(op, opConvert.String()):
		f.op, f.how = opConvert, how
	case strings.EqualFold(op, opFill.String()) && dst.Type == layout.String:
		f.op = opFillString
	case strings.EqualFold(op, opFill.String()):
		f.op = opFill
	case !strings.EqualFold(op, opCopy.String()):
		return backend.Explanation{}, layout.Errorf(device.ErrUnsupported, op, "the cpu device has no candidates for it, only for copies, conversions and fills")
	}
	return explain(&f, &dst.Layout, &src.Layout), nil
}

// explain returns the answers of all planners to a checked call, in the order in which they are
// asked: the last offer is chosen.
func explain(f *form, dst, src *layout.Layout) backend.Explanation {
	e := backend.Explanation{Unit: "terms of a permutation for each block", Candidates: []backend.Candidate{}}
	j := new(job)
	if j.prepare(f, dst, src) {
		j.choose(func(c choice) {
			x := backend.Candidate{Planner: c.planner, Why: string(c.why)}
			if c.mover != nil {
				k := j.kernel()
				k.mover = c.mover.name()
				_, x.Kernel = k.names()
				if c.cost < dear {
					x.Cost = float64(c.cost)
				}
			}
			e.Candidates = append(e.Candidates, x)
		})
	}
	if e.Class, e.Kernel = j.kernel().names(); f.op >= opFill {
		e.Class = "fill"
	}
	e.Choose(e.Kernel)
	return e
}
