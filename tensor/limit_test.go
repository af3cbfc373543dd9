package tensor

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
)

// limit bounds the process to so many bytes more than it uses, for the time of a test.
func limit(t *testing.T, bytes int64) {
	b := budget.Process()
	was, source := b.Limit()
	b.SetLimit(b.InUse()+bytes, "a test")
	t.Cleanup(func() { b.SetLimit(was, source) })
}

// TestStringsAreCountedFirst: a broadcast of one element to 2^28 strings took all memory
// before it was counted, and what the strings hold was not.
func TestStringsAreCountedFirst(t *testing.T) {
	limit(t, 64<<20)
	before := budget.Process().InUse()
	x, err := FromSlice(Host(), []float64{math.MaxFloat64}, 1)
	require.NoError(t, err)
	defer x.Release()
	for _, n := range []int64{1 << 28, 1 << 60, 1 << 20} { // the last for its 309 digits each
		many, err := x.Expand(n)
		require.NoError(t, err)
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		_, err = many.Cast(layout.String, device.Rounding{})
		runtime.ReadMemStats(&is)
		require.ErrorIs(t, err, device.ErrOutOfMemory, "%d strings", n)
		require.Less(t, int64(is.HeapSys)-int64(was.HeapSys), int64(256<<20))
		require.NoError(t, many.Release())
	}
	// What is counted is given back: by the collector, as far as strings hold it.
	require.Eventually(t, func() bool {
		runtime.GC()
		return budget.Process().InUse() <= before+1<<20
	}, 10*time.Second, time.Millisecond)

	many, err := x.Expand(1 << 14)
	require.NoError(t, err)
	defer many.Release()
	words, err := many.Cast(layout.String, device.Rounding{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, budget.Process().InUse(), int64(1<<14*(309+16)))
	back, err := words.Cast(layout.Float64, device.Rounding{})
	require.NoError(t, err)
	values, err := Values[float64](back)
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]float64{math.MaxFloat64}, 1<<14), values)
	require.NoError(t, words.Release())
	require.NoError(t, back.Release())
}

// TestOneWord: the text of one element is memory of its own. That of a bool is a
// constant of the program, to which the collector can tie nothing.
func TestOneWord(t *testing.T) {
	for _, of := range layout.DTypes() {
		if of == layout.String || of == layout.Complex64 || of == layout.Complex128 {
			continue
		}
		x, err := New(Host(), of, 1)
		require.NoError(t, err)
		words, err := x.Cast(layout.String, device.Rounding{})
		require.NoError(t, err, of)
		require.NoError(t, words.Release())
		require.NoError(t, x.Release())
	}
}

// TestBugLongTextsInTurn: a broadcast of two long texts was read as often as it has
// elements, in which a small model took minutes.
func TestBugLongTextsInTurn(t *testing.T) {
	two, err := FromSlice(Host(), []string{strings.Repeat("0", 1000) + "1", strings.Repeat("0", 1000) + "2"}, 2)
	require.NoError(t, err)
	defer two.Release()
	many, err := two.Expand(1<<12, 2)
	require.NoError(t, err)
	defer many.Release()
	read := 0
	out, err := readWords(many, "Cast", layout.Int64, device.Rounding{}, func(s string) (int64, bool) {
		if s != "" {
			read++
		}
		return parseInteger(s)
	})
	require.NoError(t, err)
	require.Equal(t, 2, read)
	values, err := Values[int64](out)
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]int64{1, 2}, 1<<12), values)
	require.NoError(t, out.Release())
}
