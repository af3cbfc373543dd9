package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// print writes tables for people.
func (i *inspection) print(out io.Writer, everything bool) error {
	for _, f := range i.Files {
		fmt.Fprintf(out, "%s: %s, %d tensors, %s\n", quote.Path(f.Path), f.Format, f.Tensors, byteSize(f.Bytes))
	}
	switch {
	case i.Format != "":
		fmt.Fprintf(out, "%d weights of format %s, as %s says\n", len(i.Weights), i.Format, i.SaidBy)
	case len(i.MayBe) > 0:
		fmt.Fprintf(out, "%s\nby names and shapes the weights may be of format %s: --from says which\n", i.Unsaid, alternatives(i.MayBe))
	case i.Unsaid != errUnnamed.Error():
		fmt.Fprintln(out, i.Unsaid)
	default:
		fmt.Fprintln(out, "no quantised weights: no names and shapes of a known format")
	}
	for _, n := range i.Notes {
		fmt.Fprintln(out, n)
	}
	if err := i.printWeights(out); err != nil {
		return err
	}
	if len(i.Refused) > 0 {
		fmt.Fprintf(out, "\n%d weights cannot be opened (repack --only converts the others):\n", len(i.Refused))
		for _, w := range i.Refused {
			fmt.Fprintf(out, "%s: %s\n", quote.Plain(w.Name), w.Reason)
		}
	}
	if len(i.Tensors) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "\ntensor\ttype\tshape\tbytes")
		for _, t := range i.Tensors {
			fmt.Fprintf(w, "%s\t%s\t%v\t%s\n", quote.Plain(t.Name), t.Type, layout.Shape(t.Shape), byteSize(t.Bytes))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return i.printFormats(out, everything)
}

func (i *inspection) printWeights(out io.Writer) error {
	if len(i.Weights) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nweight\tshape\tbits\tgroup\tzero points\tbytes\ttensors")
	for _, x := range i.Weights {
		group, zeros := fmt.Sprint(x.Group), "no"
		if x.Group == 0 {
			group = "row"
		}
		if x.Zeros {
			zeros = "yes"
		}
		var tensors []string
		for _, t := range x.Tensors {
			name := strings.TrimPrefix(strings.TrimPrefix(t.Name, x.Name), ".")
			tensors = append(tensors, fmt.Sprintf("%s %s%v", quote.Plain(name), t.Type, layout.Shape(t.Shape)))
		}
		fmt.Fprintf(w, "%s\t%v\t%d\t%s\t%s\t%s\t%s\n", quote.Plain(x.Name), layout.Shape(x.Shape), x.Bits, group, zeros, byteSize(x.Bytes), strings.Join(tensors, ", "))
	}
	return w.Flush()
}

// alternatives lists formats. Those that only the file's maker can tell apart are not equals.
func alternatives(names []string) string {
	var out []string
	for _, name := range names {
		switch {
		case name != "gptq-v1":
			out = append(out, name)
		case slices.Contains(names, "gptq"):
			out[slices.Index(out, "gptq")] = "gptq (gptq-v1 if the zero points are stored less 1, as AutoGPTQ does)"
		}
	}
	return strings.Join(out, ", ")
}

// printFormats prints what the weights can become: for each format the number of weights, and the
// reason why others cannot. everything: also the formats that no weight can become, the nearest
// first.
func (i *inspection) printFormats(out io.Writer, everything bool) error {
	if len(i.Weights) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nto\tweights\tby, or why not")
	type refused struct {
		line string
		far  int
	}
	var none []refused
	for _, f := range quant.Formats() {
		can, how := i.canBecome(f.Name)
		line := fmt.Sprintf("%s\t%d of %d\t%s\n", f.Name, can, len(i.Weights), how)
		if can == 0 {
			none = append(none, refused{line, distance(how)})
			continue
		}
		if f.Name == "gptq-v1" {
			line = strings.TrimSuffix(line, "\n") + ", for loaders that do not know checkpoint_format\n"
		}
		fmt.Fprint(w, line)
	}
	slices.SortStableFunc(none, func(a, b refused) int { return a.far - b.far })
	for _, r := range none {
		if everything {
			fmt.Fprint(w, r.line)
		}
	}
	if err := w.Flush(); err != nil || everything || len(none) == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "nothing else; --all says why not %d other formats\n", len(none))
	return err
}

// distances are words of refusals, the nearest first: another shape would do, another size of
// groups, other scales.
var distances = []string{"multiple of", "groups of", "of type", "bits", "zero points", "has no place", "numbers of", "only ", "axes"}

// distance ranks a reason why weights cannot become a format.
func distance(why string) int {
	if i := slices.IndexFunc(distances, func(words string) bool { return strings.Contains(why, words) }); i >= 0 {
		return i
	}
	return len(distances)
}

// canBecome counts the weights that can become a format, and describes how, with the reason why
// the first of the others cannot.
func (i *inspection) canBecome(format string) (can int, how string) {
	copies, why := 0, ""
	for _, x := range i.Weights {
		switch b, planned := x.Becomes[format]; {
		case !planned:
			why = cmp.Or(why, fmt.Sprintf("more than %d kinds of weights: not looked at", mostShapes))
		case b.Refused != "":
			why = cmp.Or(why, b.Refused)
		case b.Verdict == "copy":
			copies++
			can++
		default:
			can++
		}
	}
	switch {
	case can == 0:
		return 0, why
	case copies > 0:
		how = "copies"
	default:
		how = "views"
	}
	if why != "" {
		how += "; others: " + why
	}
	return can, how
}
