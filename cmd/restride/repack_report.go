package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// repackReport is the output of repack --json.
type repackReport struct {
	Output  string         `json:"output"`
	From    string         `json:"from"`
	To      string         `json:"to"`
	Device  string         `json:"device"`
	Shard   string         `json:"shard"`
	DryRun  bool           `json:"dry_run"`
	Files   []string       `json:"files"`
	Weights []weightReport `json:"weights"`
	Copied  int            `json:"copied"` // tensors that are not weights
	Bytes   int64          `json:"bytes"`  // of all tensors written by this run
	// Earlier is what an earlier run has written, and this run has not written, but compared
	// if --verify is set.
	Earlier *amount `json:"earlier,omitempty"`
	Memory  int64   `json:"memory"` // largest amount at a time
	// LeftOut are the keys of metadata that the output cannot contain.
	LeftOut []string `json:"metadata_left_out,omitempty"`
	// Notes are what the source has that nothing uses.
	Notes   []string `json:"notes,omitempty"`
	Seconds float64  `json:"seconds,omitempty"`
}

// weightReport describes the conversion of a weight.
type weightReport struct {
	Name    string   `json:"name"`
	Tensors []string `json:"tensors"`
	// Verdict is "view" if all bytes are the source's, otherwise "copy".
	Verdict string `json:"verdict"`
	Views   int    `json:"views"`
	Moves   int    `json:"moves"`
	Bytes   int64  `json:"bytes"`  // written by moves
	Memory  int64  `json:"memory"` // of the whole weight
	Pieces  int    `json:"pieces"`
	// Earlier: an earlier run has written it.
	Earlier bool `json:"earlier,omitempty"`
	// Back is "same" if converting back gives the source ("can be" in a dry run), or the
	// reason why it cannot be converted back; only with --verify.
	Back string `json:"back,omitempty"`
}

func (r *repack) report() repackReport {
	out := repackReport{
		Output: r.output, From: r.known.name(), To: r.to, Device: r.stream.Device().Info().ID(), Shard: r.shard, DryRun: r.dryRun,
		Memory: r.memory.need, LeftOut: r.leftOut, Notes: r.notes, Files: []string{}, Weights: []weightReport{},
	}
	for _, f := range r.mine() {
		out.Files = append(out.Files, f.path)
		if r.dryRun {
			out.Bytes, out.Copied = out.Bytes+f.bytes, out.Copied+len(f.rest)
		}
		for _, w := range f.weights {
			out.Weights = append(out.Weights, r.weightReport(w))
		}
	}
	if !r.dryRun {
		out.Bytes, out.Copied = r.did.made.Bytes, r.did.made.Copied
	}
	if !r.did.earlier.none() {
		out.Earlier = &r.did.earlier
	}
	return out
}

func (r *repack) weightReport(w *weight) weightReport {
	c := w.plan.Cost()
	out := weightReport{Name: w.From.Name, Verdict: verdictOf(c), Views: c.Views, Moves: c.Moves, Bytes: c.Bytes, Memory: c.Memory, Pieces: 1, Earlier: w.earlier}
	for _, t := range w.To().Tensors {
		out.Tensors = append(out.Tensors, t.Name)
	}
	if w.pieces != nil {
		out.Pieces = w.pieces.Len
	}
	switch {
	case !r.verify:
	case w.back != nil:
		out.Back = w.back.Error()
	case r.dryRun:
		out.Back = "can be"
	case w.turned:
		out.Back = "same"
	}
	return out
}

// repackReporter writes reports about a repack.
type repackReporter struct {
	*repack
	out io.Writer
}

// preview reports what would be done.
func (r repackReporter) preview() error {
	all := r.report()
	if r.json {
		return printJSON(r.out, all)
	}
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "weight\tto\tverdict\tmoves\tbytes\tmemory\tpieces")
	for _, f := range r.mine() {
		for _, x := range f.weights {
			said := r.weightReport(x)
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%d\n", quote.Plain(said.Name), shapes(x), said.Verdict, said.Moves, byteSize(said.Bytes), byteSize(said.Memory), said.Pieces)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range r.mine() {
		fmt.Fprintf(r.out, "%s: %d tensors, %s\n", quote.Path(f.path), len(f.header.Tensors), byteSize(f.bytes))
	}
	fmt.Fprintf(r.out, "%d weights from %s to %s, %d tensors as they are, %s; at most %s of memory at once\n", len(all.Weights), all.From, all.To, all.Copied, byteSize(all.Bytes), byteSize(all.Memory))
	r.tellLeftOut()
	return r.tellBack()
}

// tellLeftOut names the metadata that the output cannot contain, and what the source has that
// nothing uses.
func (r repackReporter) tellLeftOut() {
	if len(r.leftOut) > 0 {
		fmt.Fprintf(r.out, "metadata left out: %s\n", quote.Plain(strings.Join(r.leftOut, ", ")))
	}
	for _, n := range r.notes {
		fmt.Fprintln(r.out, n)
	}
}

// shapes lists the tensors that a weight becomes.
func shapes(w *weight) string {
	s := ""
	for i, t := range w.plan.To.Tensors {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprint(t.Type, layout.Shape(t.Dims))
	}
	return s
}

// summary reports what was done.
func (r repackReporter) summary(took time.Duration) error {
	all := r.report()
	all.Seconds = took.Seconds()
	if r.json {
		return printJSON(r.out, all)
	}
	fmt.Fprintf(r.out, "%s: %d weights from %s to %s, %d tensors as they were, %s in %v\n", quote.Path(r.output), r.did.made.Weights, all.From, all.To, all.Copied, byteSize(all.Bytes), took.Round(time.Millisecond))
	fmt.Fprintf(r.out, "%d tensors by %d copies on %s, %d views\n", r.did.moved, r.did.moves, all.Device, r.did.views)
	r.tellEarlier()
	if r.left > 0 {
		fmt.Fprintf(r.out, "%d weights are of format %s as before: what is said of the file's weights is true of these\n", r.left, all.From)
	}
	r.tellLeftOut()
	return r.tellBack()
}

// printJSON prints a value for other programs.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
