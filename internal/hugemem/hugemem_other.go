//go:build !linux

package hugemem

import "errors"

// Map is not supported on this system.
func Map(int64) (Block, error) { return Block{}, errors.ErrUnsupported }

func unmap([]byte) error { return errors.ErrUnsupported }
