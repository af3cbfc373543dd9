package bench

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/layout"
)

// slowed is a device that repeats the copies of a type many times: a kernel that has become
// slower.
type slowed struct {
	device.Device
	times int
}

func (d *slowed) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return &slowedQueue{q, d.times}, err
}

type slowedQueue struct {
	device.Queue
	times int
}

func (q *slowedQueue) Copy(dst, src device.Operand) error {
	if dst.Type == layout.Float16 {
		for range q.times {
			if err := q.Queue.Copy(dst, src); err != nil {
				return err
			}
		}
	}
	return q.Queue.Copy(dst, src)
}

// A kernel that is really slowed is found, and no other; a second run without slowing finds
// nothing. A machine whose speed changes between two runs by more than their passes' noise
// would fail one of them: so there are three tries, and a rule that finds nothing, or
// everything, passes none.
func TestCompareSlowedKernel(t *testing.T) {
	run := func(times int) *report.Report {
		all := NewReport()
		r, err := Run(context.Background(), &slowed{onCPU(t), times}, Options{Cases: some(t, "^(c-heads/(16|32)|e-reversed/32)$"), Size: 256 << 10, Time: 12 * time.Millisecond})
		require.NoError(t, err)
		all.Devices = append(all.Devices, r)
		return all
	}
	var said string
	for range 3 {
		before, again, after := run(0), run(0), run(12)
		var same, slower bytes.Buffer
		first, second := report.Compare(before, again), report.Compare(again, after)
		first.Print(&same)
		second.Print(&slower)
		if first.Regressions() == 0 && second.Regressions() == 1 {
			figures := regexp.MustCompile(`(?m)^c-heads/16 .* (\d+\.\d+) +(\d+\.\d+)  SLOWER$`).FindStringSubmatch(slower.String())
			require.NotNil(t, figures, slower.String())
			for i, most := range []float64{.3, .5} { // speed, relative
				x, err := strconv.ParseFloat(figures[1+i], 64)
				require.NoError(t, err)
				assert.Less(t, x, most)
			}
			return
		}
		said += same.String() + slower.String()
	}
	t.Fatalf("no try was right:\n%s", said)
}
