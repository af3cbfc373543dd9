package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/quote"
)

// caseFlags ask why an operation is executed as it is.
type caseFlags struct{ name, target string }

func (f *caseFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "case", "", "explain this one operation, a `CASE` as restride verify has it, instead of a model")
	cmd.Flags().StringVar(&f.target, "target", "", "of --case, plan for a `GPU` without having one: its number of multiprocessors, as 132, or serial, a processor behind OpenCL")
}

// asked reports whether an operation is to be explained.
func (f *caseFlags) asked(cmd *cobra.Command) bool { return cmd.Flags().Changed("case") }

// check checks the arguments of a command that explains a model or an operation.
func (f *caseFlags) check(cmd *cobra.Command, args []string) error {
	if f.asked(cmd) {
		for _, flag := range []string{"copies", "dot", "static", "input", "shape", "dim", "seed", "timeout", "max-memory"} {
			if cmd.Flags().Changed(flag) {
				return fmt.Errorf("--%s is for models, and --case for an operation", flag)
			}
		}
		return takesNone(cmd, args)
	}
	if cmd.Flags().Changed("target") {
		return fmt.Errorf("--target needs --case")
	}
	return takes(modelFile, false)(cmd, args)
}

// explained is an operation with its explanation.
type explained struct {
	Case   string `json:"case"`
	Target string `json:"target"`
	backend.Explanation
}

// explainCase explains an operation on a device, or on a target without one.
func (f *caseFlags) explainCase(cmd *cobra.Command, on string, asJSON bool) error {
	o, err := oracle.ParseCase(f.name)
	if err == nil {
		err = o.Valid()
	}
	if err != nil {
		return wrongf("--case: %w", quote.Error(err))
	}
	e := explained{Case: o.String()}
	if cmd.Flags().Changed("target") {
		target, name, err := parseTarget(f.target)
		if err != nil {
			return err
		}
		e.Target = name
		if e.Explanation, err = launches.Explain(o, target); err != nil {
			return err
		}
	} else if err := e.onDevice(on, o); err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), e)
	}
	return e.write(cmd.OutOrStdout())
}

// parseTarget parses a target that needs no device.
func parseTarget(text string) (t launches.Target, name string, err error) {
	const most = 1 << 16
	if text == "serial" {
		return launches.Target{CPU: true}, "a processor behind OpenCL", nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return t, "", wrongf("--target %s: want serial, or a number of multiprocessors from 1 to %d", quote.Name(text), most)
	}
	return launches.Target{Multiprocessors: n}, fmt.Sprintf("a GPU of %d multiprocessors", n), nil
}

// onDevice explains an operation on a device.
func (e *explained) onDevice(name string, o oracle.Case) (err error) {
	dev, err := device.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	q, err := dev.NewQueue()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	e.Target = dev.Info().ID()
	switch q := q.(type) {
	case interface{ Target() launches.Target }:
		e.Explanation, err = launches.Explain(o, q.Target())
	case interface {
		Explain(op string, dst, src device.Operand, how device.Rounding) (backend.Explanation, error)
	}:
		if o.Op == oracle.OpFill {
			o.Src, o.SrcType = o.Dst, o.DstType
		}
		e.Explanation, err = q.Explain(string(o.Op), device.Operand{Layout: o.Dst, Type: o.DstType}, device.Operand{Layout: o.Src, Type: o.SrcType}, o.How)
	default:
		err = fmt.Errorf("%w: device %s does not explain operations", device.ErrUnsupported, quote.Name(e.Target))
	}
	return err
}

// write writes a table of the candidates.
func (e *explained) write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n%s: %s by %s; costs are estimates, in %s\n", quote.Text(e.Case), quote.Plain(e.Target), e.Class, e.Kernel, e.Unit)
	t := &table{head: []string{"PLANNER", "KERNEL", "COST", "OUTCOME"}, below: [][]int{{3}}}
	for _, c := range e.Candidates {
		kernel, cost, outcome := "-", "-", c.Why
		if c.Kernel != "" {
			kernel = c.Kernel
		}
		if c.Cost > 0 {
			cost = strconv.FormatFloat(c.Cost, 'f', 0, 64)
		}
		if c.Chosen {
			outcome = "chosen"
		}
		t.add(c.Planner, kernel, cost, outcome)
	}
	return t.write(out)
}
