package tensor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// fakeTB keeps what it is told.
type fakeTB struct {
	errors  []string
	cleanup []func()
}

func (*fakeTB) Helper() {}
func (tb *fakeTB) Errorf(format string, args ...any) {
	tb.errors = append(tb.errors, fmt.Sprintf(format, args...))
}
func (tb *fakeTB) Cleanup(f func()) { tb.cleanup = append(tb.cleanup, f) }

// end ends the test, and returns what was reported.
func (tb *fakeTB) end() []string {
	for _, f := range tb.cleanup {
		f()
	}
	return tb.errors
}

func plantLeak(s *tensor.Stream, dims ...int64) *tensor.Tensor {
	return must(tensor.New(s, layout.Int4, dims...))
}

func TestCheckLeaks(t *testing.T) {
	s := openCPU(t)
	old := plantLeak(s, 9)
	tb := &fakeTB{}
	tensor.CheckLeaks(tb, s)
	x := plantLeak(s, 2, 3)
	y := must(x.Transpose())
	require.NoError(t, x.Release())
	gone := plantLeak(s, 4)
	require.NoError(t, gone.Release())
	z := plantLeak(s, 5)
	reports := tb.end()
	require.Len(t, reports, 2, "what was made before the check and what was released do not count")
	require.Contains(t, reports[0], "not released: int4[2,3] made by")
	require.Contains(t, reports[0], "tensor_test.plantLeak")
	require.Contains(t, reports[0], "leak_test.go")
	require.Contains(t, reports[1], "int4[5]")
	for _, x := range []*tensor.Tensor{old, y, z} {
		require.NoError(t, x.Release())
	}

	silent := &fakeTB{}
	tensor.CheckLeaks(silent, s)
	require.NoError(t, plantLeak(s, 2).Release())
	require.Empty(t, silent.end())
}

// TestCheckLeaksNested: a check that begins later reports what is made after
// it, and leaves the rest to the one outside.
func TestCheckLeaksNested(t *testing.T) {
	s := openCPU(t)
	outer, inner := &fakeTB{}, &fakeTB{}
	tensor.CheckLeaks(outer, s)
	x := plantLeak(s, 2)
	tensor.CheckLeaks(inner, s)
	y := plantLeak(s, 3)
	require.Equal(t, 1, strings.Count(strings.Join(inner.end(), ""), "int4[3]"))
	z := plantLeak(s, 4)
	require.Len(t, outer.end(), 2)
	require.Contains(t, outer.errors[0], "int4[2]")
	require.Contains(t, outer.errors[1], "int4[4]")
	for _, x := range []*tensor.Tensor{x, y, z} {
		require.NoError(t, x.Release())
	}
}

// TestCallsLeakNothing checks all that tests above do on the shared Host stream.
func TestCallsLeakNothing(t *testing.T) {
	tensor.CheckLeaks(t, tensor.Host())
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { walk(t, tensor.Host(), layout.Int4, seed) })
	}
}
