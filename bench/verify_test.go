package bench

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
)

// spilling is a device whose large copies and fills also write between dst's elements.
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

// spill writes the whole range of dst, if that is large and has gaps.
func spill(q device.Queue, dst device.Operand) error {
	if dst.Buffer.Size() < 4<<20 || dst.Layout.IsContiguous() {
		return nil
	}
	return q.Fill(dense(dst.Buffer), []byte{1})
}

// Writes outside of dst are found at full size, where the oracle has no guard bytes.
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

// own reads cases of one size, as given by users.
func own(t *testing.T, texts ...string) (all []cases.Case) {
	for _, text := range texts {
		c, err := cases.Parse(text)
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

// A case of one size is compared completely if it is small, otherwise at samples, next to a
// smaller similar case.
func TestRunOwn(t *testing.T) {
	list := own(t,
		"small=copy/float16/64x64/dst=64,1@0/src=1,64@0",
		"rows/8=copy/uint8/4096x1000/dst=1000,1@0/src=1024,1@3",
		"into/32=copy/float/1000x999/dst=2048,2@1/src=1,1000@0",
		"woven/32=copy/float/300000x2x3/dst=6,3,2@0/src=6,1,2@0", // strides that do not nest
		"rounded/8=convert/float-float8e4m3fn/2000000/dst=1@0/src=1@0/how=unsaturated",
		"taken/16=take/float16/1000x1000/dst=1000,1@0/src=0,1@0/at=1,0@0/int64/by=0:500:1000/wrong=0",
		"put/16=put/float16/1000x1000/dst=0,1@0/src=1000,1@0/at=1,0@0/int64/by=0:500:1000:skip/wrong=0/set/once",
		"blocks/8=dequantize/int8-float/1000x1000/dst=1000,1@0/src=1000,1@0/scale=bfloat16:1,0@0",
	)
	run := func(dev device.Device) map[string]string {
		r, err := Run(context.Background(), dev, Options{Cases: list, Size: 4 << 10, Time: time.Nanosecond, footprint: 1})
		require.NoError(t, err)
		found := map[string]string{}
		for i, c := range r.Cases {
			at, err := list[i].At(1)
			require.NoError(t, err)
			assert.Equal(t, at.String(), c.Case)
			found[c.Name] = c.Verified + c.Error
		}
		return found
	}
	found := run(onCPU(t))
	assert.Equal(t, "every bit", found["small"])
	for _, name := range []string{"rows/8", "into/32", "woven/32", "rounded/8", "taken/16"} {
		assert.Regexp(t, `^every bit of .*; 32768 elements at full size$`, found[name], name)
	}
	assert.Regexp(t, "^every bit of put/float16/[0-9]+x1000/", found["put/16"])
	assert.Regexp(t, "^every bit of dequantize/int8-float/[0-9]+x1000/", found["blocks/8"])
	found = run(spilling{onCPU(t)})
	assert.Contains(t, found["into/32"], "which is none of dst's")
}

// The small substitutes of the model's large cases pass a comparison of every bit.
func TestSmallOfOwn(t *testing.T) {
	list, err := os.Open("../kernels/model/cases.txt")
	require.NoError(t, err)
	defer list.Close()
	all, err := cases.Read(list)
	require.NoError(t, err)
	dev := onCPU(t)
	for _, c := range all {
		o, err := c.Small(small / 8)
		require.NoError(t, err)
		require.NoError(t, oracle.Check(dev, o, 1), c.Name)
	}
}
