//go:build !linux

package hugemem

import "errors"

// Map maps nothing here.
func Map(int64) (Block, error) { return Block{}, errors.ErrUnsupported }

// Free has nothing to give back.
func (b Block) Free() error { return nil }
