package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// print writes tables for people.
func (i *inspection) print(out io.Writer) error {
	for _, f := range i.Files {
		fmt.Fprintf(out, "%s: %s, %d tensors, %s\n", quote.Path(f.Path), f.Format, f.Tensors, byteSize(f.Bytes))
	}
	switch {
	case i.Format != "":
		fmt.Fprintf(out, "%d weights of format %s, as %s says\n", len(i.Weights), i.Format, i.SaidBy)
	case len(i.MayBe) > 0:
		fmt.Fprintf(out, "%s\nby names and shapes the weights may be of format %s: --from says which\n", i.Unsaid, strings.Join(i.MayBe, ", "))
	default:
		fmt.Fprintln(out, "no quantised weights: no names and shapes of a known format")
	}
	if err := i.printWeights(out); err != nil {
		return err
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
	return i.printFormats(out)
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

// printFormats says what the weights can become: for each format how many, and why not the
// others.
func (i *inspection) printFormats(out io.Writer) error {
	if len(i.Weights) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nto\tweights\tby\tor why not")
	for _, f := range quant.Formats() {
		can, views, why := 0, 0, ""
		for _, x := range i.Weights {
			b, planned := x.Becomes[f.Name]
			switch {
			case !planned && why == "":
				why = fmt.Sprintf("only %d kinds of weights are planned for", mostShapes)
			case b.Refused != "" && why == "":
				why = b.Refused
			case b.Verdict == "view":
				views++
				can++
			case b.Verdict == "copy":
				can++
			}
		}
		by := ""
		switch {
		case can > 0 && views == can:
			by = "views"
		case can > 0:
			by = "copies"
		}
		fmt.Fprintf(w, "%s\t%d of %d\t%s\t%s\n", f.Name, can, len(i.Weights), by, why)
	}
	return w.Flush()
}
