package adversary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/quant"
)

// A Command runs the command restride in this process, like a shell, and returns its output.
type Command func(args ...string) (printed string, err error)

// Weights is the generator of files of weights, valid and hostile: repack must do what inspect
// promises of a file. The command's own package provides the command, so that its tests run it.
func Weights(run Command) Generator {
	return Generator{
		Name: "weights", Host: true,
		About: "files of weights and their configurations, valid and hostile: inspect's promises hold, and nothing is left after errors",
		Try: func(t *Trial) error {
			w := &weightsTry{Trial: t, restride: run}
			err := w.try()
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, strings.Join(w.said, "\n"))
			}
			return err
		},
	}
}

// weightsTry is a source, and the state of its try.
type weightsTry struct {
	*Trial
	restride Command
	source   string
	flags    []string // of inspect and repack, that describe the source
	said     []string // commands and the file
	outputs  int
}

// inspected is the part of inspect's JSON that the generator reads.
type inspected struct {
	Format  string
	Weights []inspectedOne
	Refused []struct{ Name string } // weights that cannot be opened
}

// inspectedOne is a weight of it.
type inspectedOne struct {
	Name    string
	Zeros   bool `json:"zero_points"`
	Becomes map[string]struct{ Verdict, Refused string }
}

func (t *weightsTry) try() error {
	if err := t.makeSource(); err != nil {
		return err
	}
	before, err := t.files()
	if err != nil {
		return err
	}
	said, err := t.inspect(t.source, t.flags...)
	if errors.Is(err, errUnclear) {
		return err
	}
	var targets []*quant.Format
	for _, i := range t.Rand.Perm(len(quant.Formats())) {
		targets = append(targets, quant.Formats()[i])
	}
	// Some of the promised targets are tried, and some of the others.
	promised, others := 3, 2
	for _, to := range targets {
		can, of := said.becomes(to.Name)
		switch {
		case err == nil && can == of && of > 0 && promised > 0:
			promised--
			if err := t.holdPromise(said, to); err != nil {
				return err
			}
		case can < of && can > 0 && promised > 0:
			promised--
			if err := t.holdOnly(said, to); err != nil {
				return err
			}
		case can < max(1, of) && others > 0:
			others--
			if err := t.holdRefusal(to); err != nil {
				return err
			}
		}
	}
	after, e := t.files()
	if e == nil && !slices.Equal(before, after) {
		e = fmt.Errorf("there were the files %q, and are %q", before, after)
	}
	return e
}

// becomes counts the weights that can be converted to a format, and all.
func (i inspected) becomes(format string) (can, of int) {
	for _, w := range i.Weights {
		if b, ok := w.Becomes[format]; ok && b.Refused == "" {
			can++
		}
	}
	return can, len(i.Weights) + len(i.Refused)
}

// run runs the command, and records it.
func (t *weightsTry) run(args ...string) (string, error) {
	out, err := t.restride(args...)
	line := "$ restride " + strings.Join(args, " ")
	if err != nil {
		line += "\n" + err.Error()
		if e := checkText(err.Error()); e != nil {
			return out, errors.Join(errUnclear, e)
		}
	}
	t.said = append(t.said, line)
	return out, err
}

// errUnclear: the text of an error is unfit for a terminal.
var errUnclear = errors.New("an unclear error")

func (t *weightsTry) inspect(path string, flags ...string) (out inspected, err error) {
	text, err := t.run(append([]string{"inspect", path, "--json"}, flags...)...)
	if err == nil {
		err = json.Unmarshal([]byte(text), &out)
	}
	return out, err
}

// output returns a new path for a format's output: a file or a folder.
func (t *weightsTry) output(to *quant.Format) string {
	t.outputs++
	name := fmt.Sprint("out", t.outputs)
	if t.Rand.IntN(2) == 0 {
		name += "." + to.File().String()
	}
	return filepath.Join(t.Dir, name)
}

func (t *weightsTry) repack(to *quant.Format, output string, more ...string) error {
	args := append([]string{"repack", t.source, "--to", to.Name, "--output", output}, t.flags...)
	_, err := t.run(append(args, more...)...)
	return err
}

// holdPromise repacks to a format to which all weights can be converted. The output has all of
// them, and the same numbers.
func (t *weightsTry) holdPromise(said inspected, to *quant.Format) error {
	output := t.output(to)
	defer os.RemoveAll(output)
	var more []string
	if t.Rand.IntN(4) == 0 {
		more = append(more, "--verify")
	}
	err := t.repack(to, output, more...)
	if unread(err) { // errors that only the bytes of all numbers reveal
		return t.gone(output)
	}
	if err != nil {
		return fmt.Errorf("inspect promises %s: %w", to.Name, err)
	}
	return t.holdOutput(said, to, output)
}

// unread reports whether an error concerns the numbers themselves, which inspect does not read,
// or a way back that gives other bytes.
func unread(err error) bool {
	return err != nil && (errors.Is(err, quant.ErrDiffers) || strings.Contains(err.Error(), "a number is "))
}

// holdOnly repacks the weights that can be converted to a format, and refuses all of them.
func (t *weightsTry) holdOnly(said inspected, to *quant.Format) error {
	if err := t.holdRefusal(to); err != nil {
		return err
	}
	var names []string
	for _, w := range said.Weights {
		if b, ok := w.Becomes[to.Name]; ok && b.Refused == "" {
			names = append(names, regexp.QuoteMeta(w.Name))
		}
	}
	output := t.output(to)
	defer os.RemoveAll(output)
	err := t.repack(to, output, "--only", "^("+strings.Join(names, "|")+")$")
	if unread(err) {
		return t.gone(output)
	}
	if err != nil {
		return fmt.Errorf("inspect promises %s of %d weights: %w", to.Name, len(names), err)
	}
	return nil
}

// holdRefusal repacks to a format to which not all weights can be converted.
func (t *weightsTry) holdRefusal(to *quant.Format) error {
	output := t.output(to)
	switch err := t.repack(to, output); {
	case err == nil:
		return fmt.Errorf("inspect does not promise %s, and it is made", to.Name)
	case errors.Is(err, errUnclear):
		return err
	}
	return t.gone(output)
}

// gone checks that there is neither an output nor a partial one.
func (t *weightsTry) gone(output string) error {
	left, err := filepath.Glob(output + "*")
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%q is there after an error", left)
	}
	return err
}

// holdOutput inspects an output, and compares its numbers with the source's.
func (t *weightsTry) holdOutput(said inspected, to *quant.Format, output string) error {
	numbers := strings.Contains(to.Name, "float")
	var flags []string
	if numbers {
		flags = []string{"--from", to.Name}
	}
	got, err := t.inspect(output, flags...)
	switch {
	case err != nil:
		return fmt.Errorf("the output of %s cannot be inspected: %w", to.Name, err)
	case numbers || to.Readable() != nil:
		return nil
	case to.File() == checkpoint.Safetensors && got.Format != to.Name && to.Name != "gptq-v1": // which configurations call gptq
		return fmt.Errorf("the output of %s is of format %q", to.Name, got.Format)
	case len(got.Weights) != len(said.Weights):
		return fmt.Errorf("of %d weights the output of %s has %d", len(said.Weights), to.Name, len(got.Weights))
	}
	rounded := (to.Name == "gguf" || to.Name == "mlx") && slices.ContainsFunc(said.Weights, func(w inspectedOne) bool { return w.Zeros })
	if rounded { // zero points become numbers that are rounded
		return nil
	}
	if err := t.holdNumbers(said, got, output); err != nil {
		return err
	}
	// Any promise of the output holds, too.
	again := &weightsTry{Trial: t.Trial, restride: t.restride, source: output, outputs: t.outputs, said: t.said}
	defer func() { t.said, t.outputs = again.said, again.outputs }()
	for _, i := range t.Rand.Perm(len(quant.Formats())) {
		next := quant.Formats()[i]
		if can, of := got.becomes(next.Name); can == of && of > 0 {
			path := again.output(next)
			defer os.RemoveAll(path)
			if err := again.repack(next, path); err != nil && !unread(err) {
				return fmt.Errorf("the output of %s promises %s: %w", to.Name, next.Name, err)
			}
			return nil
		}
	}
	return nil
}

// holdNumbers compares the numbers of the source and of an output, if both have them.
func (t *weightsTry) holdNumbers(said, got inspected, output string) error {
	format := "float32"
	for _, f := range []string{said.Format, got.Format} {
		if f == "gpt-oss" || strings.HasPrefix(f, "triton-") { // whose float32 is transposed, as Transformers has it
			format = "float"
		}
	}
	a, of := said.becomes(format)
	if b, _ := got.becomes(format); a != of || b != of {
		return nil
	}
	to := formatOf(format)
	want, have := filepath.Join(t.Dir, "want.safetensors"), filepath.Join(t.Dir, "have.safetensors")
	defer os.Remove(want)
	defer os.Remove(have)
	if err := t.repack(to, want); err != nil {
		return fmt.Errorf("inspect promises numbers: %w", err)
	}
	if _, err := t.run("repack", output, "--to", format, "--output", have); err != nil {
		return fmt.Errorf("the output promises numbers: %w", err)
	}
	return sameNumbers(want, have)
}

// files lists the files, and their sizes.
func (t *weightsTry) files() (all []string, err error) {
	err = filepath.WalkDir(t.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		all = append(all, fmt.Sprint(path, " ", info.Size()))
		return err
	})
	return all, err
}

// coin is true once in n times.
func coin(rng *rand.Rand, of int) bool { return rng.IntN(of) == 0 }
