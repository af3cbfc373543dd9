package ptxtest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
	"github.com/restride/restride/layout"
)

// TestElements checks kernels that go element by element: lengths around those of items and
// blocks, rows of any length, gaps, axes of src that repeat or run backwards, any offset, with
// groups of one block and of several.
func TestElements(t *testing.T) {
	types := []layout.DType{layout.Uint2, layout.Uint4, layout.Uint8, layout.Float16, layout.Float32, layout.Float64, layout.Complex128}
	ops := map[string]struct {
		forms []planner.Form
		make  func(rng *rand.Rand, typ layout.DType) string
	}{
		"Strided": {[]planner.Form{planner.Element, planner.Gather}, func(rng *rand.Rand, typ layout.DType) string {
			n, dims := shapes(rng)
			return fmt.Sprintf("copy/%v/%s/dst=%s/src=%s", typ, dims, strides(rng, n, true, false), strides(rng, n, false, false))
		}},
		"Repeated": {[]planner.Form{planner.Spread, planner.Gather}, func(rng *rand.Rand, typ layout.DType) string {
			n, dims := shapes(rng)
			return fmt.Sprintf("copy/%v/%s/dst=%s/src=%s", typ, dims, strides(rng, n, true, false), strides(rng, n, false, true))
		}},
		"Fill": {[]planner.Form{planner.Fill, planner.Gather}, func(rng *rand.Rand, typ layout.DType) string {
			n, dims := shapes(rng)
			return fmt.Sprintf("fill/%v/%s/dst=%s", typ, dims, strides(rng, n, rng.IntN(2) == 0, false))
		}},
		"Take": {[]planner.Form{planner.Take, planner.Pick, planner.Picks, planner.Join}, func(rng *rand.Rand, typ layout.DType) string {
			n, dims := shapes(rng)
			by := fmt.Sprintf("%d:%d:%d", rng.IntN(3), 1+rng.IntN(300), rng.IntN(70))
			if rng.IntN(3) == 0 {
				by += fmt.Sprintf(",%d:%d:%d", rng.IntN(3), 1+rng.IntN(9), 1+rng.IntN(100))
			}
			return fmt.Sprintf("take/%v/%s/dst=%s/src=%s/at=%s/int%d/by=%s/wrong=0", typ, dims, strides(rng, n, true, false),
				strides(rng, n, false, true), strides(rng, n, false, true), 32<<rng.IntN(2), by)
		}},
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(5, 6))
			ran := map[planner.Form]int{}
			for _, blocks := range []uint32{1, 4} {
				d := ptxtest.New(ptxtest.Options{Diverge: true, Blocks: blocks})
				dev := gpu.New(d)
				for try := range uint64(150) {
					c, err := oracle.ParseCase(op.make(rng, types[rng.IntN(len(types))]))
					require.NoError(t, err)
					if err := oracle.Check(dev, c, try); !errors.Is(err, oracle.ErrSkipped) {
						assert.NoError(t, err)
					}
				}
				require.NoError(t, dev.Close())
				for s, launches := range d.Launches() {
					ran[s.Form] += launches
				}
			}
			for _, f := range op.forms {
				assert.Greater(t, ran[f], 10, "%v hardly runs", f)
			}
		})
	}
}

// shapes returns extents of up to four axes, of up to some ten thousand elements.
func shapes(rng *rand.Rand) (n []int64, dims string) {
	extents := []int64{1, 2, 3, 5, 7, 8, 16, 25, 31, 64, 65, 127, 255, 256, 257, 1023, 2049, 5000}
	n = make([]int64, 1+rng.IntN(4))
	room := int64(20000)
	for _, i := range rng.Perm(len(n)) {
		for n[i] = room + 1; n[i] > room; {
			n[i] = extents[rng.IntN(len(extents))]
		}
		room /= n[i]
	}
	for i, x := range n {
		if i > 0 {
			dims += "x"
		}
		dims += fmt.Sprint(x)
	}
	return n, dims
}

// strides are the strides and offset of a layout: in order, maybe with gaps, if requested dense
// along the innermost axis; otherwise in any order, with axes backwards, and maybe repeating
// elements along axes.
func strides(rng *rand.Rand, n []int64, inOrder, repeats bool) string {
	order := rng.Perm(len(n))
	step, offset := int64(1), rng.Int64N(40)
	for i := range order {
		if inOrder || rng.IntN(2) == 0 {
			order[i] = len(n) - 1 - i
		} else if i == 0 {
			step = 1 + rng.Int64N(4)
		} else {
			break
		}
	}
	seen, all := make([]bool, len(n)), make([]int64, len(n))
	for _, axis := range append(order, rng.Perm(len(n))...) {
		if seen[axis] {
			continue
		}
		seen[axis] = true
		if repeats && rng.IntN(2) == 0 {
			continue
		}
		all[axis] = step
		if !inOrder && rng.IntN(5) == 0 {
			all[axis], offset = -step, offset+(n[axis]-1)*step
		}
		step = step*n[axis] + rng.Int64N(2)*rng.Int64N(9)
	}
	text := ""
	for i, s := range all {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprint(s)
	}
	return fmt.Sprintf("%s@%d", text, offset)
}
