package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/sysmem"
)

// sweep is a --size: all of sweepSizes for which a device has memory.
const sweep = "sweep"

var sweepSizes = []int64{256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30}

// sweepNeeds is the largest memory of a run at a large size, as a multiple of that size: two pairs
// of buffers rotate, the largest case has pairs of six times its output, and the host holds noise
// and results.
const sweepNeeds = 20

// sizesOf returns the sizes to measure on a device.
func (f *benchFlags) sizesOf(cmd *cobra.Command, name string) ([]int64, error) {
	if !f.sweep {
		return f.bytes, nil
	}
	dev, err := device.Open(name)
	if err != nil {
		return nil, err
	}
	info := dev.Info()
	if err := dev.Close(); err != nil {
		return nil, err
	}
	free := info.Memory
	if info.Kind == device.CPU { // shared with other processes
		available, _ := sysmem.Available()
		free = half(free, available)
	}
	fit := fitting(f.bytes, free)
	if left := len(f.bytes) - len(fit); left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the sweep ends at %d bytes: %d larger sizes want more memory than %d bytes\n", info.ID(), fit[len(fit)-1], left, free)
	}
	return fit, nil
}

// half is half of a processor's memory, or of its available memory, if that is known.
func half(memory, available int64) int64 {
	if available > 0 && (memory <= 0 || available < memory) {
		memory = available
	}
	return memory / 2
}

// fitting are the sizes that fit in free memory, always including the smallest. 0 is unknown: a
// typical machine's memory is assumed.
func fitting(sizes []int64, free int64) []int64 {
	if free <= 0 {
		free = 8 << 30
	}
	for i, n := range sizes {
		if i > 0 && n > free/sweepNeeds {
			return sizes[:i]
		}
	}
	return sizes
}
