package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device/budget"
)

// limits are the flags of commands that run models, which may be untrusted.
type limits struct {
	memory  string
	timeout time.Duration
}

// register adds the flags. The time limit is for one thing, such as "a case".
func (l *limits) register(cmd *cobra.Command, of string) {
	cmd.Flags().Var(sizeFlag(&l.memory), "max-memory", "maximum memory for tensors and files, on the host and on devices together, as 512M (default: what the system grants)")
	cmd.Flags().DurationVar(&l.timeout, "timeout", 0, "maximum time for "+of+", as 30s (default: none)")
}

// bound sets the limit on memory.
func (l *limits) bound() (restore func(), err error) {
	restore = func() {}
	if l.timeout < 0 {
		return restore, wrongf("--timeout %v: it is negative", l.timeout)
	}
	if l.memory != "" {
		bytes, err := parseSize(l.memory)
		if err != nil {
			return restore, wrongf("--max-memory: %w", err)
		}
		restore = budget.SetLimit(bytes, "--max-memory")
	}
	// The garbage collector knows only its own limit, and may leave as much garbage as there
	// is memory in use. GOMEMLIMIT may be lower.
	most, _ := budget.Process().Limit()
	was := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(was, most))
	before := restore
	return func() {
		debug.SetMemoryLimit(was)
		before()
	}, nil
}

// grace is the time that a command has to end by itself after its time limit: it checks the limit
// between nodes, but not within one.
var grace = 3 * time.Second

// begin starts the time limit for one thing, which the timeout error names.
func (l *limits) begin(ctx context.Context, thing string) (_ context.Context, end func()) {
	if l.timeout == 0 {
		return ctx, func() {}
	}
	over := fmt.Errorf("%w: --timeout %v is over", errTimeout, l.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, over)
	last := time.AfterFunc(l.timeout+grace, func() {
		fmt.Fprintf(os.Stderr, "restride: %s: %v, and it did not end within %v\n", thing, over, grace)
		exit(1)
	})
	return ctx, func() {
		last.Stop()
		cancel()
	}
}

var errTimeout = errors.New("timed out")

// exit ends the process; tests replace it.
var exit = os.Exit
