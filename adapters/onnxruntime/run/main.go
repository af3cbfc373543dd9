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
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	_ "github.com/restride/restride" // all devices
	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/adapters/onnxruntime/internal/models"
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
	random                  models.Random
	rounds                  int
	explain                 bool
	tolerance               float64
}

// run is main with arguments.
func run(args []string, out io.Writer) (err error) {
	o := options{random: models.Random{Dims: models.Pairs{}, Shapes: models.Pairs{}, Fills: models.Pairs{}}}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.library, "library", "", "ONNX Runtime's library; none: where setup.sh installs it")
	flags.StringVar(&o.device, "device", "cpu", "the session's device")
	flags.StringVar(&o.inputs, "inputs", "", "folder with input_0.pb, input_1.pb, ...; none: random inputs")
	flags.Var(o.random.Dims, "dim", "value of a symbolic extent, NAME=N; others are 1")
	flags.Var(o.random.Shapes, "shape", "shape of an input, NAME=1x3x224x224")
	flags.Var(o.random.Fills, "fill", "value of all elements of an input, NAME=VALUE")
	flags.BoolVar(&o.explain, "explain", false, "run nothing, and say what each node would do")
	flags.IntVar(&o.rounds, "rounds", 10, "how often both are measured, in turn")
	flags.Float64Var(&o.tolerance, "tolerance", 1e-4, "largest difference of an output, relative to its largest number")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("give one model")
	}
	library, err := models.Library(o.library)
	if err != nil {
		return err
	}
	o.library = library
	return o.compare(flags.Arg(0), out)
}

// compare runs a model both ways.
func (o *options) compare(path string, out io.Writer) (err error) {
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
	begin := time.Now()
	m, err := model.Load(path)
	if err != nil {
		return err
	}
	if o.explain {
		return o.explained(s, m, engine, out)
	}
	sess, err := onnx.NewSession(s, m, onnx.WithOperators(engine))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close()) }()
	here := time.Since(begin)
	in, err := o.values(s, sess.Inputs())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Release()) }()
	begin = time.Now()
	whole, err := models.Open(path, sess.Inputs(), sess.Outputs())
	if err != nil {
		return fmt.Errorf("ONNX Runtime alone: %w", err)
	}
	defer whole.Close()
	fmt.Fprintf(out, "loaded in %v; ONNX Runtime alone %v\n", here.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	given, err := onHost(in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, given.Release()) }()
	if err := o.differences(sess, in, given, whole, out); err != nil {
		return err
	}
	if err := report(sess, in, out); err != nil {
		return err
	}
	return o.times(sess, in, given, whole, out)
}

// explained prints what each node would do, and why.
func (o *options) explained(s *tensor.Stream, m *model.Model, engine onnx.Provider, out io.Writer) error {
	given := onnx.Assumptions{Shapes: map[string]layout.Shape{}, Dims: map[string]int64{}}
	for name := range o.random.Shapes {
		shape, err := o.random.Shape(model.ValueInfo{Name: name})
		if err != nil {
			return err
		}
		given.Shapes[name] = shape
	}
	for name, value := range o.random.Dims {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("-dim %s: %w", name, err)
		}
		given.Dims[name] = n
	}
	e, err := onnx.Explain(s, m, given, onnx.WithOperators(engine))
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tOP\tNAME\tTYPE\tVERDICT\tWHY")
	for _, n := range e.Nodes {
		kind := ""
		if len(n.Outputs) > 0 {
			kind = n.Outputs[0].Type
		}
		fmt.Fprintf(table, "%s%d\t%s\t%q\t%s\t%s\t%s\n", n.Graph, n.Index, n.Op, n.Name, kind, n.Outcome, n.Why)
	}
	return table.Flush()
}

// values makes the inputs, or reads them.
func (o *options) values(s *tensor.Stream, inputs []model.ValueInfo) (onnx.Values, error) {
	if o.inputs == "" {
		return o.random.Values(s, inputs)
	}
	in := onnx.Values{}
	for i, v := range inputs {
		file, err := model.LoadValue(filepath.Join(o.inputs, fmt.Sprintf("input_%d.pb", i)), v.Type)
		if err == nil {
			in[v.Name], err = onnx.LoadValue(s, file, v.Type)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("input %q: %w", v.Name, err), in.Release())
		}
	}
	return in, nil
}

// onHost copies inputs to the host's memory.
func onHost(in onnx.Values) (onnx.Values, error) {
	out := onnx.Values{}
	for name := range in {
		x, err := in.Tensor(name)
		if err == nil {
			x, err = x.To(tensor.Host())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("input %q: %w", name, err), out.Release())
		}
		out[name] = x
	}
	return out, nil
}

// differences compares the outputs.
func (o *options) differences(sess *onnx.Session, in, given onnx.Values, whole *models.Alone, out io.Writer) (err error) {
	got, err := sess.Run(context.Background(), in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Release()) }()
	want, err := whole.Tensors(tensor.Host(), given)
	if err != nil {
		return fmt.Errorf("ONNX Runtime alone: %w", err)
	}
	defer func() { err = errors.Join(err, want.Release()) }()
	for _, name := range whole.Outputs {
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
		worst, most, err := models.Difference(x, y)
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
	for _, n := range p.Nodes {
		for _, k := range n.Keeps {
			fmt.Fprintf(out, "ONNX Runtime keeps node %d (%s %q): %s\n", k.Index, k.Op, k.Name, k.Why)
		}
	}
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
func (o *options) times(sess *onnx.Session, in, given onnx.Values, whole *models.Alone, out io.Writer) error {
	var here, there []time.Duration
	for range max(o.rounds, 1) {
		begin := time.Now()
		values, err := sess.Run(context.Background(), in)
		if err != nil {
			return err
		}
		here = append(here, time.Since(begin))
		if err := values.Release(); err != nil {
			return err
		}
		begin = time.Now()
		made, err := whole.Run(given)
		if err != nil {
			return err
		}
		there = append(there, time.Since(begin))
		for _, v := range made {
			v.Release()
		}
	}
	middle := func(list []time.Duration) time.Duration {
		return slices.Sorted(slices.Values(list))[len(list)/2].Round(time.Microsecond)
	}
	fmt.Fprintf(out, "median of %d runs: %v; ONNX Runtime alone %v\n", len(here), middle(here), middle(there))
	return nil
}
