// Run runs any model in a session with ONNX Runtime as its engine, compares every output with
// ONNX Runtime alone, and says what the nodes did:
//
//	go run ./run -library libonnxruntime.so -dim batch=1 MODEL.onnx
//
// Inputs are random, or read from the files input_0.pb, input_1.pb and so on in a folder.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/restride/restride" // all devices
	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	library, device, inputs string
	dims, shapes            pairs
	rounds                  int
	tolerance               float64
}

// pairs are the values of a flag NAME=VALUE that may be repeated.
type pairs map[string]string

func (p pairs) String() string { return "" }

func (p pairs) Set(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if !ok {
		return errors.New("want NAME=VALUE")
	}
	p[name] = value
	return nil
}

// run is main with arguments.
func run(args []string, out io.Writer) (err error) {
	o := options{dims: pairs{}, shapes: pairs{}}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.library, "library", "", "ONNX Runtime's library; none: where setup.sh installs it")
	flags.StringVar(&o.device, "device", "cpu", "the session's device")
	flags.StringVar(&o.inputs, "inputs", "", "folder with input_0.pb, input_1.pb, ...; none: random inputs")
	flags.Var(o.dims, "dim", "value of a symbolic extent, NAME=N; others are 1")
	flags.Var(o.shapes, "shape", "shape of an input, NAME=1x3x224x224")
	flags.IntVar(&o.rounds, "rounds", 10, "how often both are measured, in turn")
	flags.Float64Var(&o.tolerance, "tolerance", 1e-4, "largest difference of an output, relative to its largest number")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("give one model")
	}
	if o.library == "" {
		found, _ := filepath.Glob("../../build/onnxruntime/onnxruntime/capi/libonnxruntime.so.*")
		if len(found) == 0 {
			return errors.New("-library: no library is named, and setup.sh has installed none")
		}
		o.library = found[0]
	}
	return o.compare(flags.Arg(0), out)
}

// compare runs a model both ways.
func (o *options) compare(path string, out io.Writer) (err error) {
	m, err := model.Load(path)
	if err != nil {
		return err
	}
	dev, err := device.Open(o.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	s, err := tensor.NewStream(dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	engine, err := onnxruntime.New(onnxruntime.Options{Library: o.library})
	if err != nil {
		return err
	}
	sess, err := onnx.NewSession(s, m, onnx.WithOperators(engine))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close()) }()
	in, err := o.values(s, sess.Inputs())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Release()) }()
	whole, err := newAlone(engine, s, m, sess.Inputs(), in)
	if err != nil {
		return fmt.Errorf("ONNX Runtime alone: %w", err)
	}
	defer func() { err = errors.Join(err, whole.close()) }()
	if err := o.differences(sess, in, whole, out); err != nil {
		return err
	}
	if err := report(sess, in, out); err != nil {
		return err
	}
	return o.times(sess, in, whole, out)
}

// values makes the inputs.
func (o *options) values(s *tensor.Stream, inputs []model.ValueInfo) (onnx.Values, error) {
	in := onnx.Values{}
	rng := rand.New(rand.NewPCG(1, 1))
	for i, v := range inputs {
		var x onnx.Value
		var err error
		if o.inputs != "" {
			var file *model.Value
			if file, err = model.LoadValue(filepath.Join(o.inputs, fmt.Sprintf("input_%d.pb", i)), v.Type); err == nil {
				x, err = onnx.LoadValue(s, file, v.Type)
			}
		} else {
			x, err = o.random(s, rng, v)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("input %q: %w", v.Name, err), in.Release())
		}
		in[v.Name] = x
	}
	return in, nil
}

// random makes an input: numbers from -0.5 to 0.5, ones as integers, and true.
func (o *options) random(s *tensor.Stream, rng *rand.Rand, v model.ValueInfo) (onnx.Value, error) {
	if v.Type.Kind != model.TensorType || v.Type.Elem == layout.String {
		return nil, fmt.Errorf("no random %v can be made: -inputs names a folder with inputs", v.Type)
	}
	shape := layout.Shape{}
	for _, d := range v.Type.Dims {
		n := d.Value
		if n < 0 {
			var err error
			if n, err = strconv.ParseInt(cmp.Or(o.dims[d.Param], "1"), 10, 64); err != nil {
				return nil, fmt.Errorf("-dim %s: %w", d.Param, err)
			}
		}
		shape = append(shape, n)
	}
	if given, ok := o.shapes[v.Name]; ok {
		shape = layout.Shape{}
		for _, part := range strings.FieldsFunc(given, func(r rune) bool { return r == 'x' }) {
			n, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("-shape %s=%s: %w", v.Name, given, err)
			}
			shape = append(shape, n)
		}
	} else if !v.Type.HasShape {
		return nil, errors.New("the model declares no shape: -shape gives one")
	}
	n, err := shape.Count()
	if err != nil {
		return nil, err
	}
	floats := slices.Contains([]layout.DType{layout.Float16, layout.BFloat16, layout.Float32, layout.Float64}, v.Type.Elem)
	numbers := make([]float32, n)
	for i := range numbers {
		if numbers[i] = 1; floats {
			numbers[i] = rng.Float32() - .5
		}
	}
	x, err := tensor.FromSlice(s, numbers, shape...)
	if err != nil || v.Type.Elem == layout.Float32 {
		return x, err
	}
	y, err := x.Cast(v.Type.Elem, device.Rounding{})
	return y, errors.Join(err, x.Release())
}

// alone is a model as one group of the engine: all of its nodes are ONNX Runtime's.
type alone struct {
	op    *onnx.Operator
	call  onnx.Call
	names []string
}

func newAlone(engine *onnxruntime.Engine, s *tensor.Stream, m *model.Model, inputs []model.ValueInfo, in onnx.Values) (*alone, error) {
	whole := *m
	graph := *m.Graph
	graph.Inputs, whole.Graph = inputs, &graph
	op, err := engine.Group(onnx.Group{Model: &whole, Stream: s})
	if err == nil && op == nil {
		err = errors.New("it declines the model")
	}
	if err != nil {
		return nil, err
	}
	a := &alone{op: op, call: onnx.Call{Context: context.Background(), Stream: s}}
	for _, v := range inputs {
		a.call.Inputs = append(a.call.Inputs, in[v.Name])
	}
	for _, v := range graph.Outputs {
		a.names = append(a.names, v.Name)
	}
	return a, nil
}

func (a *alone) run() (onnx.Values, error) {
	c := a.call
	c.Outputs = make([]onnx.Value, len(a.names))
	err := a.op.Run(&c)
	out := onnx.Values{}
	for i, name := range a.names {
		if c.Outputs[i] != nil {
			out[name] = c.Outputs[i]
		}
	}
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

func (a *alone) close() error {
	if a.op.Close == nil {
		return nil
	}
	return a.op.Close()
}

// differences compares the outputs.
func (o *options) differences(sess *onnx.Session, in onnx.Values, whole *alone, out io.Writer) (err error) {
	got, err := sess.Run(context.Background(), in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Release()) }()
	want, err := whole.run()
	if err != nil {
		return fmt.Errorf("ONNX Runtime alone: %w", err)
	}
	defer func() { err = errors.Join(err, want.Release()) }()
	for _, name := range whole.names {
		x, err := got.Tensor(name)
		if err != nil {
			return err
		}
		y, err := want.Tensor(name)
		if err != nil {
			return err
		}
		if x.DType() != y.DType() || !x.Shape().Equal(y.Shape()) {
			return fmt.Errorf("output %q is %v%v; ONNX Runtime alone makes %v%v", name, x.DType(), x.Shape(), y.DType(), y.Shape())
		}
		worst, most, err := difference(x, y)
		if err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
		fmt.Fprintf(out, "output %q: %v%v, differs by at most %.3g of %.3g\n", name, x.DType(), x.Shape(), worst, most)
		if !(worst <= o.tolerance*max(most, 1)) {
			return fmt.Errorf("output %q differs from ONNX Runtime's alone by %g; its largest number is %g", name, worst, most)
		}
	}
	return nil
}

// difference returns the largest difference of two tensors, infinite where one has a NaN alone,
// and the largest number of the second.
func difference(x, y *tensor.Tensor) (worst, most float64, err error) {
	a, err := numbers(x)
	if err != nil {
		return 0, 0, err
	}
	b, err := numbers(y)
	if err != nil {
		return 0, 0, err
	}
	for i := range a {
		switch {
		case a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i]):
		case math.IsNaN(a[i]) || math.IsNaN(b[i]):
			worst = math.Inf(1)
		default:
			worst = max(worst, math.Abs(a[i]-b[i]))
		}
		if v := math.Abs(b[i]); v > most {
			most = v
		}
	}
	return worst, most, nil
}

func numbers(x *tensor.Tensor) (_ []float64, err error) {
	y, err := x.Cast(layout.Float64, device.Rounding{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.Release()) }()
	return tensor.Values[float64](y)
}

// report profiles a run, and prints what the nodes did and which were the slowest.
func report(sess *onnx.Session, in onnx.Values, out io.Writer) error {
	values, p, err := sess.Profile(context.Background(), in)
	if err != nil {
		return err
	}
	if err := errors.Join(values.Release(), p.Wait()); err != nil {
		return err
	}
	var groups, grouped, views, copies int
	var bytes int64
	for _, n := range p.Nodes {
		bytes += n.Bytes
		switch n.Outcome() {
		case onnx.IsForeign:
			groups++
			grouped += max(len(n.Group), 1)
		case onnx.IsView, onnx.IsElided:
			views++
		case onnx.IsCopy:
			copies++
		}
	}
	fmt.Fprintf(out, "%d nodes in %d groups of ONNX Runtime, %d views, %d copies; layout moves %d bytes\n", grouped, groups, views, copies, bytes)
	length := func(n onnx.NodeReport) time.Duration {
		if n.HostTime == nil {
			return 0
		}
		return n.HostTime.End - n.HostTime.Begin
	}
	slices.SortStableFunc(p.Nodes, func(a, b onnx.NodeReport) int { return cmp.Compare(length(b), length(a)) })
	for _, n := range p.Nodes[:min(len(p.Nodes), 10)] {
		fmt.Fprintf(out, "%10v  %s %q %s\n", length(n).Round(time.Microsecond), n.Op, n.Name, n.TypeString())
	}
	return nil
}

// times measures both, in turn.
func (o *options) times(sess *onnx.Session, in onnx.Values, whole *alone, out io.Writer) error {
	var here, there []time.Duration
	measure := func(list *[]time.Duration, run func() (onnx.Values, error)) error {
		begin := time.Now()
		values, err := run()
		if err != nil {
			return err
		}
		*list = append(*list, time.Since(begin))
		return values.Release()
	}
	for range max(o.rounds, 1) {
		err := measure(&here, func() (onnx.Values, error) { return sess.Run(context.Background(), in) })
		if err = errors.Join(err, measure(&there, whole.run)); err != nil {
			return err
		}
	}
	middle := func(list []time.Duration) time.Duration {
		return slices.Sorted(slices.Values(list))[len(list)/2].Round(time.Microsecond)
	}
	fmt.Fprintf(out, "median of %d runs: %v; ONNX Runtime alone %v\n", len(here), middle(here), middle(there))
	return nil
}
