package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// final reports whether an error would occur again: the cause is the weights, not the machine.
// After other errors, such as an interruption or a full disk, the same command continues where it
// stopped.
func final(err error) bool {
	return errors.Is(err, layout.ErrInvalid) || errors.Is(err, layout.ErrUnsupported) || errors.Is(err, quant.ErrDiffers)
}

// undo removes what this run has begun; the folder last, and only if it is empty.
func (r *repack) undo() error {
	var all []error
	for i, path := range slices.Backward(r.begun) {
		err := os.Remove(path)
		if folder := i == 0 && r.folder() && path == r.output; folder || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		all = append(all, quote.Error(err))
	}
	return errors.Join(all...)
}
