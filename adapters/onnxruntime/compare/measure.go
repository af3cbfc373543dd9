//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/adapters/onnxruntime/internal/models"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// measured is a model in the list.
type measured struct {
	name, path string
	given      []string // shapes, NAME=1x3x48x320, and values, NAME:=16000
	engine     *onnxruntime.Engine
	rounds     int
	processes  int
}

// figures are what a process measures.
type figures struct {
	Groups, Grouped, Kept, Views, Copies int
	Nodes, Unknown                       int
	Difference                           float64
	Here, There                          float64 // ms of a run, the best
	Load                                 float64 // ms of processors
	Resident, Peak                       float64 // MB
}

// least returns the least of two measurements of a load.
func (f figures) least(g figures) figures {
	if f.Load == 0 {
		return g
	}
	return figures{Load: min(f.Load, g.Load), Resident: min(f.Resident, g.Resident), Peak: min(f.Peak, g.Peak)}
}

// random returns the inputs that the list gives.
func (m *measured) random() *models.Random {
	r := &models.Random{Dims: models.Pairs{}, Shapes: models.Pairs{}, Fills: models.Pairs{}}
	for _, g := range m.given {
		if name, value, ok := strings.Cut(g, ":="); ok {
			r.Fills[name] = value
		} else if name, shape, ok := strings.Cut(g, "="); ok {
			r.Shapes[name] = shape
		}
	}
	return r
}

// part measures in this process.
func (m *measured) part(name string) (f figures, err error) {
	s, err := tensor.Open("cpu")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	switch name {
	case "run":
		err = m.run(s, &f)
	case "beside":
		err = m.beside(s, &f)
	case "alone":
		err = m.alone(s, &f)
	default:
		err = fmt.Errorf("no part %q", name)
	}
	return f, err
}

// beside measures the load of a session, and its memory.
func (m *measured) beside(s *tensor.Stream, f *figures) (err error) {
	begin := busy()
	file, err := model.Load(m.path)
	if err != nil {
		return err
	}
	sess, err := onnx.NewSession(s, file, onnx.WithOperators(m.engine))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close()) }()
	file = nil
	f.Load = busy() - begin
	in, err := m.random().Values(s, sess.Inputs())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Release()) }()
	for range 2 {
		out, err := sess.Run(context.Background(), in)
		if err == nil {
			err = out.Release()
		}
		if err != nil {
			return err
		}
	}
	return f.memory()
}

// alone measures the load of ONNX Runtime's session, and its memory.
func (m *measured) alone(s *tensor.Stream, f *figures) (err error) {
	inputs, outputs, err := m.ends()
	if err != nil {
		return err
	}
	begin := busy()
	a, err := models.Open(m.path, inputs, outputs)
	if err != nil {
		return err
	}
	defer a.Close()
	f.Load = busy() - begin
	in, err := m.random().Values(s, inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Release()) }()
	for range 2 {
		out, err := a.Run(in)
		if err != nil {
			return err
		}
		for _, v := range out {
			v.Release()
		}
	}
	return f.memory()
}

// ends returns the inputs and outputs of the model, from a description that "run" has left: the
// process must not hold the model.
func (m *measured) ends() (inputs, outputs []model.ValueInfo, err error) {
	file, err := model.Load(m.described())
	if err != nil {
		return nil, nil, err
	}
	return file.Graph.Inputs, file.Graph.Outputs, nil
}

// described is the path of a model without nodes.
func (m *measured) described() string {
	return os.TempDir() + "/restride-compare-" + m.name + ".onnx"
}

// busy returns the milliseconds that processors have spent in this process: other processes
// change that less than the time that passes.
func busy() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// memory measures the process.
func (f *figures) memory() error {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kb, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmHWM:":
			f.Peak = kb / 1e3
		case "VmRSS:":
			f.Resident = kb / 1e3
		}
	}
	return nil
}

// run compares outputs, counts nodes, and measures runs.
func (m *measured) run(s *tensor.Stream, f *figures) (err error) {
	file, err := model.Load(m.path)
	if err != nil {
		return err
	}
	sess, err := onnx.NewSession(s, file, onnx.WithOperators(m.engine))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close()) }()
	ends := model.New("ends", 17)
	ends.Graph.Inputs, ends.Graph.Outputs = sess.Inputs(), sess.Outputs()
	if err := ends.Save(m.described()); err != nil {
		return err
	}
	a, err := models.Open(m.path, sess.Inputs(), sess.Outputs())
	if err != nil {
		return err
	}
	defer a.Close()
	in, err := m.random().Values(s, sess.Inputs())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Release()) }()
	if err := m.unknown(s, file, in, f); err != nil {
		return err
	}
	if err := f.difference(s, sess, a, in); err != nil {
		return err
	}
	return f.times(sess, a, in, m.rounds)
}

// unknown explains the model.
func (m *measured) unknown(s *tensor.Stream, file *model.Model, in onnx.Values, f *figures) error {
	shapes := map[string]layout.Shape{}
	for name := range in {
		x, err := in.Tensor(name)
		if err != nil {
			return err
		}
		shapes[name] = x.Shape()
	}
	e, err := onnx.Explain(s, file, onnx.Assumptions{Shapes: shapes})
	if err != nil {
		return err
	}
	f.Nodes, f.Unknown = e.Totals.Nodes, e.Totals.Uncounted
	return nil
}

// difference compares outputs, and counts what the nodes do.
func (f *figures) difference(s *tensor.Stream, sess *onnx.Session, a *models.Alone, in onnx.Values) (err error) {
	want, err := a.Tensors(s, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, want.Release()) }()
	sess.OnNode(f.count)
	got, err := sess.Run(context.Background(), in)
	sess.OnNode(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Release()) }()
	for _, name := range a.Outputs {
		d, err := differenceOf(got, want, name)
		if err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
		f.Difference = max(f.Difference, d)
	}
	return nil
}

func (f *figures) count(n onnx.NodeReport) {
	switch n.Outcome() {
	case onnx.IsForeign:
		f.Groups++
		f.Grouped += max(len(n.Group), 1)
		f.Kept += len(n.Keeps)
	case onnx.IsView, onnx.IsElided, onnx.IsHost:
		f.Views++
	case onnx.IsCopy:
		f.Copies++
	}
}

// differenceOf returns the largest difference of an output: infinite where bits of a NaN, or
// shapes, differ.
func differenceOf(got, want onnx.Values, name string) (float64, error) {
	x, err := got.Tensor(name)
	if err != nil {
		return 0, err
	}
	y, err := want.Tensor(name)
	if err != nil {
		return 0, err
	}
	if x.DType() != y.DType() || !x.Shape().Equal(y.Shape()) {
		return math.Inf(1), nil
	}
	a, err := x.Bytes()
	if err != nil {
		return 0, err
	}
	b, err := y.Bytes()
	if err != nil || slices.Equal(a, b) {
		return 0, err
	}
	worst, _, err := models.Difference(x, y)
	return max(worst, math.SmallestNonzeroFloat64), err
}

// times measures runs of both, in turn and in changing order, and returns the best.
func (f *figures) times(sess *onnx.Session, a *models.Alone, in onnx.Values, rounds int) error {
	f.Here, f.There = math.Inf(1), math.Inf(1)
	here := func() error {
		begin := time.Now()
		values, err := sess.Run(context.Background(), in)
		if err != nil {
			return err
		}
		f.Here = min(f.Here, milliseconds(time.Since(begin)))
		return values.Release()
	}
	there := func() error {
		begin := time.Now()
		made, err := a.Run(in)
		if err != nil {
			return err
		}
		f.There = min(f.There, milliseconds(time.Since(begin)))
		for _, v := range made {
			v.Release()
		}
		return nil
	}
	for range rounds {
		if err := errors.Join(here(), there(), there(), here()); err != nil {
			return err
		}
	}
	return nil
}
