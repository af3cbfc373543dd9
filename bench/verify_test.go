package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
)

// spilling is a device whose large copies and fills also write what lies between
// dst's elements.
type spilling struct{ device.Device }

type spillingQueue struct{ device.Queue }

func (d spilling) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return spillingQueue{q}, err
}

func (q spillingQueue) Copy(dst, src device.Operand) error {
	return errors.Join(spill(q.Queue, dst), q.Queue.Copy(dst, src))
}

func (q spillingQueue) Fill(dst device.Operand, pattern []byte) error {
	return errors.Join(spill(q.Queue, dst), q.Queue.Fill(dst, pattern))
}

// spill writes all that dst lies in, if that is large and has gaps.
func spill(q device.Queue, dst device.Operand) error {
	if dst.Buffer.Size() < 4<<20 || dst.Layout.IsContiguous() {
		return nil
	}
	return q.Fill(dense(dst.Buffer), []byte{1})
}

// What a device writes outside of dst is found at full size, where the oracle's guard
// bytes are not.
func TestGaps(t *testing.T) {
	list := some(t, "^(columns-into/32|kv-cache-append/16|fill-columns/16)$")
	require.Len(t, list, 3)
	options := Options{Cases: list, Size: 8 << 20, Time: time.Nanosecond, footprint: 1}
	right, err := Run(context.Background(), onCPU(t), options)
	require.NoError(t, err)
	wrong, err := Run(context.Background(), spilling{onCPU(t)}, options)
	require.NoError(t, err)
	for i, c := range list {
		assert.Empty(t, right.Cases[i].Error, c.Name)
		assert.Contains(t, wrong.Cases[i].Error, oracle.ErrWrong.Error(), c.Name)
	}
}
