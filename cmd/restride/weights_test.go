package main

import (
	"cmp"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/adversary"
	"github.com/restride/restride/tensor"
)

// TestWeightFiles: what inspect promises of files, valid and hostile, repack does; and after an
// error nothing is left. RESTRIDE_WEIGHT_FILES is how many, RESTRIDE_WEIGHT_SEED of which seed, and
// RESTRIDE_WEIGHT_FIRST the first one.
func TestWeightFiles(t *testing.T) {
	number := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), strconv.FormatUint(otherwise, 10)), 10, 64)
		require.NoError(t, err, name)
		return n
	}
	files, seed, first := number("RESTRIDE_WEIGHT_FILES", 60), number("RESTRIDE_WEIGHT_SEED", 1), number("RESTRIDE_WEIGHT_FIRST", 0)
	dir, failed := t.TempDir(), 0
	for i := first; i < first+files && failed < 10; i++ {
		if err := adversary.Once(adversary.Weights(restride), tensor.Host(), dir, seed, i, time.Minute); err != nil {
			failed++
			t.Errorf("RESTRIDE_WEIGHT_SEED=%d RESTRIDE_WEIGHT_FIRST=%d RESTRIDE_WEIGHT_FILES=1: %v", seed, i, err)
		}
	}
}
