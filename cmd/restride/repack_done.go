package main

import (
	"fmt"

	"github.com/restride/restride/internal/quote"
)

// account is the work that a run has done, counted meanwhile.
type account struct {
	made, earlier amount
	moves         int // copies on the device, for all pieces
	moved, views  int // tensors of weights: made by these copies, or copied from file to file
}

// amount is the contents of files.
type amount struct {
	Weights int   `json:"weights"`
	Copied  int   `json:"copied"` // tensors that are not weights
	Bytes   int64 `json:"bytes"`
}

func (a *amount) add(weights, copied int, bytes int64) {
	a.Weights, a.Copied, a.Bytes = a.Weights+weights, a.Copied+copied, a.Bytes+bytes
}

// none reports whether there is nothing.
func (a amount) none() bool { return a == amount{} }

// tellEarlier reports what an earlier run has written, and whether this run has checked it.
func (r repackReporter) tellEarlier() {
	a := r.did.earlier
	if a.none() {
		return
	}
	looked := "not compared (--verify does)"
	if r.verify {
		looked = "made again, and the same"
	}
	fmt.Fprintf(r.out, "an earlier run has written %d weights, %d tensors as they were, %s in all: %s\n", a.Weights, a.Copied, byteSize(a.Bytes), looked)
}

// tellBack reports which weights were converted back, or can be, and why others cannot.
func (r repackReporter) tellBack() error {
	if !r.verify {
		return nil
	}
	all, back, cannot, compared, first := 0, 0, 0, 0, (*weight)(nil)
	for _, f := range r.mine() {
		all += len(f.weights)
		for _, w := range f.weights {
			switch {
			case w.back != nil:
				if cannot++; first == nil {
					first = w
				}
			case w.turned || r.dryRun:
				back++
			}
			if w.compared {
				compared++
			}
		}
	}
	what := "turned back, and the same"
	if r.dryRun {
		what = "can be turned back"
	}
	_, err := fmt.Fprintf(r.out, "%d weights %s\n", back, what)
	if compared > 0 {
		_, err = fmt.Fprintf(r.out, "numbers of %d weights compared, of large ones a sample at random: the same\n", compared)
	}
	if others := all - compared; others > 0 && !r.dryRun {
		_, err = fmt.Fprintf(r.out, "numbers of %d weights not compared: a format has no second reading, or numbers are rounded\n", others)
	}
	if first != nil {
		_, err = fmt.Fprintf(r.out, "%d cannot be turned back, %s among them: %v\n", cannot, quote.Plain(first.From.Name), first.back)
	}
	return err
}
