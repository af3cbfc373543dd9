package bench

import (
	"errors"
	"sync"

	"github.com/restride/restride/cpu"
)

// Memcpy is the yardstick of copies on a processor: half of the bytes by each of two
// goroutines, between dense buffers on huge pages. run copies the i-th pair of buffers, modulo
// their number; free frees them.
func Memcpy(bytes int64, pairs int) (run func(i int), free func() error, err error) {
	dev, err := cpu.Open()
	if err != nil {
		return nil, nil, err
	}
	all := make([][2][]byte, pairs)
	for i := range all {
		for j := range all[i] {
			b, err := dev.Alloc(bytes)
			if err != nil {
				return nil, nil, errors.Join(err, dev.Close())
			}
			all[i][j], _ = cpu.Bytes(b) // it is a buffer of this device
			clear(all[i][j])            // allocates its pages
		}
	}
	run = func(i int) {
		dst, src := all[i%pairs][0], all[i%pairs][1]
		half := len(src) / 2
		var wait sync.WaitGroup
		wait.Go(func() { copy(dst[:half], src) })
		copy(dst[half:], src[half:])
		wait.Wait()
	}
	return run, dev.Close, nil
}
