package layout

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSearchCountsEveryStep: steps that end at once used to be free, so that a
// few strides with huge extents kept the overlap tests busy for seconds.
func TestSearchCountsEveryStep(t *testing.T) {
	// 1001x + 2000y + 3000z = 950*1001 needs x = 950 modulo 1000: none of the 901
	// values of x fits, and each is seen at once.
	var e equation
	e = e.add(3000, 900).add(2000, 900).add(1001, 900)
	for i := range e { // as if x came first
		e[i].gcd, e[i].reach = 1000, 1<<62
	}
	e[0], e[1], e[2] = e[2], e[0], e[1]
	e[0].gcd = 1
	budget := 100
	require.True(t, search(e, 950*1001, &budget), "in doubt")
	require.Negative(t, budget)
	budget = 2000
	require.False(t, search(e, 950*1001, &budget))
	require.Positive(t, budget)
}
