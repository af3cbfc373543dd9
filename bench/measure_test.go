package bench

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Calls continue from batch to batch, after the warm-up; a call that fails ends it.
func TestMeasure(t *testing.T) {
	calls := 0
	count := func(i int) error {
		assert.Equal(t, calls, i)
		calls++
		time.Sleep(100 * time.Microsecond)
		return nil
	}
	samples, n, err := Measure(time.Millisecond, 0, 3, count)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(samples), 3)
	assert.GreaterOrEqual(t, slices.Min(samples), 1e5)
	assert.Greater(t, calls, 3+len(samples)*n)

	calls = 0 // a known batch is not searched
	samples, n, err = Measure(0, 7, 3, count)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 7, 3 + 3*7}, []int{len(samples), n, calls})

	calls = 0 // slow calls are few
	samples, _, err = Measure(0, 1, 256, func(int) error {
		calls++
		time.Sleep(slow + time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3}, []int{len(samples), calls})

	for at := range 5 {
		_, _, err := Measure(0, 0, 2, func(i int) error {
			if i == at {
				return errors.New("no more")
			}
			return nil
		})
		require.EqualError(t, err, "no more")
	}
}
