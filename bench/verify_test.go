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
	"github.com/restride/restride/layout"
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

// A layout reaches the positions of its elements, and no others.
func TestReaches(t *testing.T) {
	whole, err := layout.Contiguous(5, 4, 6)
	require.NoError(t, err)
	part := func(l layout.Layout, axis int, start, end, step int64) layout.Layout {
		l, err := l.Slice(axis, start, end, step)
		require.NoError(t, err)
		return l
	}
	permuted, err := part(part(whole, 1, 1, 3, 1), 2, 5, -7, -2).Permute(2, 0, 1)
	require.NoError(t, err)
	one := part(part(part(whole, 0, 2, 3, 1), 1, 0, 1, 1), 2, 3, 4, 1)
	for _, l := range []layout.Layout{whole, part(whole, 0, 1, 5, 3), part(whole, 2, 1, 6, 2), permuted, one} {
		in := map[int64]bool{}
		for i := range l.Dim(0) {
			for j := range l.Dim(1) {
				for k := range l.Dim(2) {
					in[l.At(i, j, k)] = true
				}
			}
		}
		for p := int64(0); p < 130; p++ {
			assert.Equal(t, in[p], reaches(l, p), "%v at %d", l, p)
		}
	}
	none := part(whole, 0, 2, 2, 1)
	assert.False(t, reaches(none, 48))
}
