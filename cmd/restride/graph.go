package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/nearest"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// graphFlags are the shared flags of run and explain: a model, a device and inputs.
type graphFlags struct {
	device string
	inputs []string
	dims   []string
	shapes []string
	seed   uint64
	limits limits
	// profile is the file to write a profile to; empty: none.
	profile string
	// otherwise is called for a model with unsupported operators, and, if static is set, for
	// any model.
	otherwise func(out io.Writer, m *model.Model) error
	static    bool
}

func (f *graphFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.device, "device", "auto", "`DEVICE` to run on: \"auto\", \"cpu\", \"opencl:0\", ...")
	cmd.Flags().StringArrayVar(&f.inputs, "input", nil, "input as `NAME=FILE`.pb or NAME=FILE.npy; inputs not given are random")
	cmd.Flags().StringArrayVar(&f.dims, "dim", nil, "extent of a named axis, as `NAME=N` (for random inputs by default 2)")
	cmd.Flags().StringArrayVar(&f.shapes, "shape", nil, "shape of an input, as `NAME=1x3x224x224`")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of random inputs")
	f.limits.register(cmd, "the whole command")
}

// newGraphCommand returns a command that runs a model once and then calls show. If keep is set,
// show receives what each node did.
func newGraphCommand(use, short string, keep bool, flags *graphFlags, show func(out io.Writer, r *ran) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:               use + " MODEL.onnx",
		Short:             short,
		Args:              takes(modelFile, false),
		ValidArgsFunction: once(files("onnx")),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			restore, err := flags.limits.bound()
			if err != nil {
				return err
			}
			defer restore()
			ctx, end := flags.limits.begin(cmd.Context(), quote.Plain(args[0]))
			defer end()
			p, err := newProfile(flags.profile)
			if err != nil {
				return err
			}
			defer p.discard()
			out := cmd.OutOrStdout()
			p.phase("load the model")
			m, err := model.Load(args[0])
			if err != nil {
				return elsewhere(args[0], err)
			}
			if flags.static {
				return flags.otherwise(out, m)
			}
			r, err := flags.runGraph(ctx, out, m, keep, p)
			var lack *onnx.MissingError
			switch {
			case errors.As(err, &lack) && flags.otherwise != nil:
				return flags.otherwise(out, m)
			case lack != nil:
				return needsEngine(args[0], lack)
			case err != nil:
				return err
			}
			defer func() {
				notes{}.tell(cmd, r.stream.Device())
				err = errors.Join(err, r.close())
			}()
			p.phase("show the outputs")
			if err := show(out, r); err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: %s\n", r.stream.Device().Info().ID(), r.done)
			if p == nil {
				return nil
			}
			return p.write(out)
		},
	}
	flags.register(cmd)
	return cmd
}

// elsewhere names the command that reads a file that is not a model.
func elsewhere(path string, err error) error {
	if fileFormat(path) == 0 {
		return err
	}
	return fmt.Errorf("%w\nrestride inspect %s says what is in a file of weights", err, quote.Path(path))
}

// needsEngine says what can be done with a model that has unsupported operators.
func needsEngine(path string, lack *onnx.MissingError) error {
	const most = 20
	var ops []string
	for i, op := range lack.Ops[:min(len(lack.Ops), most)] {
		ops = append(ops, fmt.Sprintf("%s (%s)", quote.Plain(op), count(lack.Nodes[i], "node")))
	}
	if more := len(lack.Ops) - most; more > 0 {
		ops = append(ops, fmt.Sprintf("and %d more", more))
	}
	path = quote.Path(path)
	return fmt.Errorf(`%[1]s needs an engine: Restride has no %[2]s
restride explain %[1]s says of each node what it does, without an engine
adapters/onnxruntime is a Go package that runs the model, with ONNX Runtime as its engine`, path, strings.Join(ops, ", "))
}

// count formats a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ran is a graph that has run once.
type ran struct {
	model   *model.Model
	stream  *tensor.Stream
	session *onnx.Session
	inputs  onnx.Values
	outputs onnx.Values
	done    work
	nodes   []onnx.NodeReport // of explain
	kept    int64             // bytes that they use
}

// note counts what a node did, and keeps it if wanted.
func (r *ran) note(n onnx.NodeReport, keep bool) error {
	r.done.add(n)
	if !keep {
		return nil
	}
	bytes := int64(1024 + len(n.Why) + 512*len(n.More))
	if err := budget.Process().Take("the report of a node", bytes); err != nil {
		return err
	}
	r.kept += bytes
	r.nodes = append(r.nodes, n)
	return nil
}

// runGraph runs a model once, measured if there is a profile. Notes for the user go to out.
func (f *graphFlags) runGraph(ctx context.Context, out io.Writer, m *model.Model, keep bool, p *profile) (r *ran, err error) {
	r = &ran{model: m}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	p.phase("open the device")
	if r.stream, err = tensor.Open(f.device); err != nil {
		return r, err
	}
	p.phase("prepare the session")
	if r.session, err = onnx.NewSession(r.stream, m); err != nil {
		return r, err
	}
	p.phase("load the inputs")
	if r.inputs, err = f.values(out, r.stream, m, r.session.Inputs()); err != nil {
		return r, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.session.OnNode(func(n onnx.NodeReport) {
		if err := r.note(n, keep); err != nil {
			stop(err)
		}
	})
	p.phase("run")
	if p == nil {
		r.outputs, err = r.session.Run(ctx, r.inputs)
	} else {
		r.outputs, p.run, err = r.session.Profile(ctx, r.inputs)
	}
	if err != nil {
		return r, err
	}
	p.phase("wait for the device")
	if err := r.stream.WaitContext(ctx); err != nil || p == nil {
		return r, err
	}
	p.device = r.stream.Device().Info()
	return r, p.run.Wait()
}

// close releases everything.
func (r *ran) close() error {
	budget.Process().Give(r.kept)
	errs := []error{r.outputs.Release(), r.inputs.Release()}
	if r.session != nil {
		errs = append(errs, r.session.Close())
	}
	if r.stream != nil {
		errs = append(errs, r.stream.Close())
	}
	return errors.Join(errs...)
}

// values reads the given inputs and generates the others.
func (f *graphFlags) values(out io.Writer, s *tensor.Stream, m *model.Model, needed []model.ValueInfo) (values onnx.Values, err error) {
	values = onnx.Values{}
	defer func() {
		if err != nil {
			err = errors.Join(err, values.Release())
			values = nil
		}
	}()
	for _, given := range f.inputs {
		in, file, err := splitInput(given, m.Graph.Inputs)
		if err != nil {
			return values, err
		}
		if values[in.Name] != nil {
			return values, wrongf("--input %q: given twice", given)
		}
		if values[in.Name], err = readInput(s, file, in.Type); err != nil {
			delete(values, in.Name)
			return values, fmt.Errorf("--input %q: %w", given, err)
		}
	}
	dims, err := parseDims(f.dims, needed)
	if err != nil {
		return values, err
	}
	shapes, err := parseShapes(f.shapes)
	if err != nil {
		return values, err
	}
	var free []string
	for _, in := range needed {
		if values[in.Name] == nil {
			free = append(free, in.Name)
		}
	}
	for name := range shapes {
		if !slices.Contains(free, name) {
			return values, wrongf("--shape %s: no input that is made up has that name%s; %s", quote.Name(name), nearest.Meant(name, free), listed("such inputs", free))
		}
	}
	made := maker{rng: rand.New(rand.NewPCG(f.seed, 0)), room: maxRandom}
	for _, in := range needed {
		if values[in.Name] != nil {
			continue
		}
		shape, err := concrete(in, dims, shapes[in.Name])
		if err != nil {
			return values, err
		}
		t, err := made.tensor(in.Type.Elem, shape)
		if err != nil {
			return values, fmt.Errorf("input %s: %w", quote.Name(in.Name), err)
		}
		x, err := onnx.Load(s, t)
		if err != nil {
			return values, fmt.Errorf("input %s: %w", quote.Name(in.Name), err)
		}
		fmt.Fprintf(out, "input %s: random %v%v (declared %v), seed %d\n", quote.Plain(in.Name), in.Type.Elem, shape, in.Type, f.seed)
		values[in.Name] = x
	}
	return values, nil
}

func names(infos []model.ValueInfo) []string {
	list := make([]string, len(infos))
	for i, v := range infos {
		list[i] = v.Name
	}
	return list
}

// splitInput splits NAME=FILE. Either may contain a "=": the longest matching input name wins.
func splitInput(given string, inputs []model.ValueInfo) (in model.ValueInfo, file string, err error) {
	found := false
	for _, candidate := range inputs {
		rest, ok := strings.CutPrefix(given, candidate.Name+"=")
		if ok && (!found || len(rest) < len(file)) {
			in, file, found = candidate, rest, true
		}
	}
	switch {
	case found:
		return in, file, nil
	case !strings.Contains(given, "="):
		return in, "", wrongf("--input %q: want NAME=FILE", given)
	}
	known := names(inputs)
	return in, "", wrongf("--input %q: the model has no input of that name%s; %s", given, nearest.Meant(given[:strings.LastIndex(given, "=")], known), listed("its inputs", known))
}

// parseDims parses the extents of named axes. Each axis must belong to some input.
func parseDims(flags []string, inputs []model.ValueInfo) (map[string]int64, error) {
	dims := map[string]int64{}
	for _, d := range flags {
		at := strings.LastIndex(d, "=")
		n, err := strconv.ParseInt(d[at+1:], 10, 64)
		if at < 0 || err != nil || n < 0 {
			return nil, wrongf("--dim %q: want NAME=N with N at least 0", d)
		}
		name, known := d[:at], axes(inputs)
		if !slices.Contains(known, name) {
			return nil, wrongf("--dim %q: no input has an axis of that name%s; %s", d, nearest.Meant(name, known), listed("axes with a name", known))
		}
		dims[name] = n
	}
	return dims, nil
}

// axes are the names of the extents of values, each once, in order.
func axes(values []model.ValueInfo) (names []string) {
	seen := map[string]bool{"": true} // an extent without a name
	for _, v := range values {
		for _, d := range v.Type.Dims {
			if !seen[d.Param] {
				seen[d.Param] = true
				names = append(names, d.Param)
			}
		}
	}
	return names
}

// listed lists the names of a kind; only the first ones if there are many.
func listed(kind string, names []string) string {
	const most = 20
	if len(names) == 0 {
		return "there are no " + kind
	}
	var text []string
	for _, name := range names[:min(len(names), most)] {
		text = append(text, quote.Plain(name))
	}
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s: %s and %d more", kind, strings.Join(text, ", "), more)
	}
	return fmt.Sprintf("%s: %s", kind, strings.Join(text, ", "))
}

// parseShapes parses the shapes of values.
func parseShapes(flags []string) (map[string]layout.Shape, error) {
	shapes := map[string]layout.Shape{}
	for _, given := range flags {
		at := strings.LastIndex(given, "=")
		if at < 0 {
			return nil, wrongf("--shape %q: want NAME=1x3x224x224", given)
		}
		shape := layout.Shape{}
		if given[at+1:] != "" { // otherwise a scalar
			for _, d := range strings.Split(given[at+1:], "x") {
				n, err := strconv.ParseInt(d, 10, 64)
				if err != nil || n < 0 {
					return nil, wrongf("--shape %q: want NAME=1x3x224x224", given)
				}
				shape = append(shape, n)
			}
		}
		shapes[given[:at]] = shape
	}
	return shapes, nil
}

// concrete returns the shape of a random input: the given one, or the declared one with each
// unknown extent from --dim, or else 2.
func concrete(in model.ValueInfo, dims map[string]int64, given layout.Shape) (layout.Shape, error) {
	if given != nil && in.Type.Kind == model.TensorType && in.Type.Elem != layout.Invalid {
		return given, nil
	}
	if in.Type.Kind != model.TensorType || !in.Type.HasShape || in.Type.Elem == layout.Invalid {
		return nil, fmt.Errorf("input %s is declared as %v: give it with --input", quote.Name(in.Name), in.Type)
	}
	shape := layout.Shape{}
	for _, d := range in.Type.Dims {
		n := d.Value
		if n < 0 {
			var ok bool
			if n, ok = dims[d.Param]; !ok {
				n = 2
			}
		}
		shape = append(shape, n)
	}
	return shape, nil
}
