package clock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/clock"
)

func TestClock(t *testing.T) {
	from, began := clock.Now(), time.Now()
	time.Sleep(20 * time.Millisecond)
	took, want := clock.Since(from), time.Since(began)
	require.GreaterOrEqual(t, took, 20*time.Millisecond)
	require.LessOrEqual(t, took, want)
	tick := clock.Tick()
	require.GreaterOrEqual(t, tick, time.Duration(1))
	require.Less(t, tick, 100*time.Microsecond)
}
