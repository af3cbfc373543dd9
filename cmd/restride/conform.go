package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func newConform() *cobra.Command {
	var devices []string
	var run string
	var limits limits
	cmd := &cobra.Command{
		Use:        "conform DIR...",
		SuggestFor: []string{"test"},
		Short:      "Run ONNX backend test cases on devices and compare every byte",
		Long: `Runs every model.onnx found below the folders, with each test_data_set_* beside
it, on each device, and compares type, shape and every byte or string of the
outputs; a NaN only has to be a NaN. Inputs need not have the shapes that the model
declares, because those of some cases do not. A case is skipped if it has an operator
that restride does not support, or expects text that is not UTF-8.`,
		Args:              takes(caseDir, true),
		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := regexp.Compile(run)
			if err != nil {
				return fmt.Errorf("--run: %w", quote.Error(err))
			}
			cases, err := findCases(args, filter)
			if err != nil {
				return quote.Error(err)
			}
			if len(devices) == 0 {
				return wrongf("--device: none is named")
			}
			if len(cases) == 0 {
				for i := range args {
					args[i] = quote.Path(args[i])
				}
				if run == "" {
					return fmt.Errorf("no folder below %s has a model.onnx", strings.Join(args, ", "))
				}
				return fmt.Errorf("no folder below %s that matches %q has a model.onnx", strings.Join(args, ", "), run)
			}
			restore, err := limits.bound()
			if err != nil {
				return err
			}
			defer restore()
			var total tally
			missing, told := map[string]int{}, notes{}
			for _, name := range devices {
				if err := conformOn(cmd, name, cases, &limits, &total, missing, told); err != nil {
					return err
				}
			}
			for _, op := range slices.Sorted(maps.Keys(missing)) {
				fmt.Fprintf(cmd.OutOrStdout(), "skipped: no operator %s: %d cases\n", quote.Plain(op), missing[op])
			}
			return total.close(cmd)
		},
	}
	cmd.Flags().StringSliceVar(&devices, "device", []string{"auto"}, "`DEVICES`, as cpu,opencl:0")
	cmd.Flags().Var(patternFlag(&run), "run", "only cases whose folder matches this regular expression")
	limits.register(cmd, "a case")
	return cmd
}

// testCase is a folder with a model.onnx.
type testCase struct{ name, dir string }

func findCases(roots []string, filter *regexp.Regexp) ([]testCase, error) {
	var cases []testCase
	seen := map[string]bool{}
	for _, root := range roots {
		root, err := filepath.EvalSymlinks(root) // WalkDir does not follow a link
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return nil, cmp.Or(err, fmt.Errorf("%s is a file: want %s", quote.Path(root), caseDir.about))
		}
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != "model.onnx" || seen[path] {
				return err
			}
			seen[path] = true
			dir := filepath.Dir(path)
			name, err := filepath.Rel(root, dir)
			if err != nil {
				return err
			}
			if name = filepath.ToSlash(name); filter.MatchString(name) {
				cases = append(cases, testCase{name, dir})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return cases, nil
}

// conformOn runs all cases on one device.
func conformOn(cmd *cobra.Command, name string, cases []testCase, limits *limits, total *tally, missing map[string]int, told notes) (err error) {
	s, err := tensor.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		told.tell(cmd, s.Device())
		err = errors.Join(err, s.Close())
	}()
	id := s.Device().Info().ID()
	for _, c := range cases {
		before := s.Device().Stats()
		ctx, end := limits.begin(cmd.Context(), quote.Plain(c.name))
		err := c.run(ctx, s)
		end()
		var lack *onnx.MissingError
		switch {
		case errors.As(err, &lack):
			total.skipped++
			for _, op := range lack.Ops {
				missing[op]++
			}
			continue
		case errors.Is(err, errBroken):
			total.skipped++
			fmt.Fprintf(cmd.OutOrStdout(), "SKIP %s on %s: %v\n", quote.Path(c.name), id, quote.Error(err))
			continue
		case err == nil:
			err = leaked(before, s.Device().Stats())
		}
		if err != nil {
			total.failed++
			fmt.Fprintf(cmd.OutOrStdout(), "FAIL %s on %s: %v\n", quote.Path(c.name), id, quote.Lines(err.Error()))
			continue
		}
		total.passed++
	}
	return nil
}

// errBroken: the case itself is broken, so that nothing can pass it.
var errBroken = errors.New("what the case expects is broken")

func leaked(before, after device.Stats) error {
	if before.Buffers != after.Buffers {
		return fmt.Errorf("%d buffers were not freed", after.Buffers-before.Buffers)
	}
	return nil
}

// run loads the case's model and runs it on each of its data sets.
func (c testCase) run(ctx context.Context, s *tensor.Stream) (err error) {
	m, err := model.Load(filepath.Join(c.dir, "model.onnx"))
	if err != nil {
		return err
	}
	for i := range m.Graph.Inputs {
		m.Graph.Inputs[i].Type.HasShape = false
	}
	sess, err := onnx.NewSession(s, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close()) }()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	sets := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "test_data_set_") {
			continue
		}
		sets++
		if err := runSet(ctx, s, sess, m, filepath.Join(c.dir, e.Name())); err != nil {
			return fmt.Errorf("%s: %w", quote.Path(e.Name()), err)
		}
	}
	if sets == 0 {
		return errors.New("there is no test_data_set_*")
	}
	return nil
}

// runSet runs one data set: input_N.pb is the graph's input N.
func runSet(ctx context.Context, s *tensor.Stream, sess *onnx.Session, m *model.Model, set string) (err error) {
	inputs := onnx.Values{}
	defer func() { err = errors.Join(err, inputs.Release()) }()
	for i, in := range m.Graph.Inputs {
		path := filepath.Join(set, fmt.Sprintf("input_%d.pb", i))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue // the input has a default, or the session reports that it is missing
		}
		if inputs[in.Name], err = readInput(s, path, in.Type); err != nil {
			delete(inputs, in.Name)
			return err
		}
	}
	outputs, err := sess.Run(ctx, inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, outputs.Release()) }()
	for i, out := range m.Graph.Outputs {
		want, err := loadDeclared(filepath.Join(set, fmt.Sprintf("output_%d.pb", i)), out.Type)
		if errors.Is(err, model.ErrText) {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		if err != nil {
			return err
		}
		got, err := onnx.StoreValue(out.Name, outputs[out.Name])
		if err != nil {
			return err
		}
		if err := compareValues(got, want); err != nil {
			return fmt.Errorf("output %s: %w", quote.Name(out.Name), err)
		}
	}
	return nil
}
