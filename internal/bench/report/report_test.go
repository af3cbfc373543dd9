package report

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Medians and quartiles, of few samples and of many.
func TestTiming(t *testing.T) {
	one := NewTiming([]float64{7}, 3)
	assert.Equal(t, Timing{1, 3, 7, 7, 7, 7, 7, nil}, one)
	nine := NewTiming([]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}, 1)
	assert.Equal(t, Timing{9, 1, 5, 1, 3, 7, 9, nil}, nine)
	assert.InDelta(t, .4, nine.Spread(), 1e-9)
	assert.InDelta(t, 20, nine.Rate(100).GBps, 1e-9)

	// Different passes count more than a uniform burst.
	both := Summary([]Timing{NewTiming([]float64{12, 10, 11}, 2), NewTiming([]float64{22, 20, 21}, 2), NewTiming([]float64{16, 15, 14}, 2)})
	assert.Equal(t, Timing{9, 2, 15, 10, quantile([]float64{14, 15, 16}, .25), quantile([]float64{14, 15, 16}, .75), 22, []float64{11, 21, 15}}, both)
	low, high := both.extremes()
	assert.Equal(t, [2]float64{11, 21}, [2]float64{low, high})
	assert.InDelta(t, .4, both.Spread(), 1e-9)
}

// For an even number of figures, the median lies between two of them: so that the median of
// inverse ratios is the inverse.
func TestMedianOfEven(t *testing.T) {
	four := NewTiming([]float64{8, 1, 2, 100}, 1)
	assert.InDelta(t, 4, four.Median, 1e-9)
	a, b := Timing{Passes: []float64{1, 1, 1, 2, 2, 2}}, Timing{Passes: []float64{1, 1, 1, 1, 1, 1}}
	there, back := relative(&a, &b), relative(&b, &a)
	assert.InDelta(t, 1, there.Median*back.Median, 1e-9)
	assert.InDelta(t, math.Sqrt2, there.Median, 1e-9)
}

// Passes count alike: a fast one has more samples, but not more weight.
func TestPassesCountAlike(t *testing.T) {
	var passes []Timing
	for i := range 6 {
		if i%3 == 0 {
			passes = append(passes, NewTiming(slices.Repeat([]float64{1}, 40), 1))
		} else {
			passes = append(passes, NewTiming([]float64{100, 101, 102}, 1))
		}
	}
	all := Summary(passes)
	assert.Equal(t, 101., all.Median)
	require.NoError(t, all.check())
}
