package cuda

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/layout"
)

// held is a buffer, its expected content, and the queue of its last work.
type held struct {
	b    device.Buffer
	want []byte
	last device.Queue
}

// TestPeerMixed has two queues of two devices each write, copy, take, replay, send to each
// other, and free concurrently, with memory that is reused in order. Reads must return what a
// machine without queues would return.
func TestPeerMixed(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("run by TestPeers")
	}
	const size = 1 << 10
	rng := rand.New(rand.NewPCG(9, 9))
	var devs [2]*Device
	var queues [2][2]device.Queue
	var live [2][]*held
	var at [2]device.Buffer
	back := make([]byte, 0, 8*size) // indices that reverse bytes
	for i := range int64(size) {
		back = binary.LittleEndian.AppendUint64(back, uint64(-1-i))
	}
	for i := range devs {
		var err error
		devs[i], err = OpenWith(i, Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, devs[i].Close()) }()
		queues[i] = [2]device.Queue{gputest.Queue(t, devs[i]), gputest.Queue(t, devs[i])}
		at[i] = gputest.Alloc(t, devs[i], int64(len(back)))
		require.NoError(t, queues[i][0].Write(at[i], 0, back))
		require.NoError(t, queues[i][0].Wait())
	}
	all, err := layout.Contiguous(size)
	require.NoError(t, err)
	repeated, err := layout.Strided([]int64{size}, []int64{0}, 0)
	require.NoError(t, err)
	seen := func(b device.Buffer, l layout.Layout, as layout.DType) device.Operand {
		return device.Operand{Buffer: b, Layout: l, Type: as}
	}
	// on makes a queue wait for work queued on a buffer.
	on := func(q device.Queue, b *held) *held {
		if b.last != q {
			e, err := b.last.Record()
			require.NoError(t, err)
			require.NoError(t, q.WaitFor(e))
			b.last = q
		}
		return b
	}
	fresh := func(i int, q device.Queue) *held {
		b, err := q.(device.Allocator).Alloc(size)
		require.NoError(t, err)
		h := &held{b, nil, q}
		live[i] = append(live[i], h)
		return h
	}
	for range 600 {
		i := rng.IntN(2)
		q := queues[i][rng.IntN(2)]
		if len(live[i]) == 0 {
			h := fresh(i, q)
			h.want = gputest.Random(size, rng.Uint64())
			require.NoError(t, q.Write(h.b, 0, h.want))
			continue
		}
		n := rng.IntN(len(live[i]))
		src := live[i][n]
		reversed := bytes.Clone(src.want)
		for a, b := 0, size-1; a < b; a, b = a+1, b-1 {
			reversed[a], reversed[b] = reversed[b], reversed[a]
		}
		switch what := rng.IntN(8); what {
		case 0, 1, 2: // freed with its work in progress
			require.NoError(t, src.b.Free())
			live[i] = append(live[i][:n], live[i][n+1:]...)
		case 3:
			on(q, src)
			dst := fresh(i, q)
			dst.want = src.want
			require.NoError(t, q.Copy(seen(dst.b, all, layout.Uint8), seen(src.b, all, layout.Uint8)))
		case 4, 5:
			on(q, src)
			dst := fresh(i, q)
			dst.want = reversed
			take := func() error {
				return q.Take(seen(dst.b, all, layout.Uint8), seen(src.b, repeated, layout.Uint8), seen(at[i], all, layout.Int64), layout.Index{Extent: size, Stride: 1})
			}
			if what == 4 {
				require.NoError(t, take())
				break
			}
			replay, err := q.(device.Recorder).Capture(take)
			require.NoError(t, err)
			require.NoError(t, replay.Run())
			if rng.IntN(2) == 0 {
				require.NoError(t, replay.Close())
			}
		case 6: // to the other device, and src is overwritten immediately
			to := queues[1-i][rng.IntN(2)]
			on(q, src)
			dst := fresh(1-i, to)
			dst.want = src.want
			require.NoError(t, to.(device.PeerQueue).CopyPeer(dst.b, 0, src.b, 0, size, q))
			src.want = bytes.Repeat([]byte{byte(rng.Uint32())}, size)
			require.NoError(t, q.Fill(seen(src.b, all, layout.Uint8), src.want[:1]))
		case 7:
			got := make([]byte, size)
			require.NoError(t, on(q, src).last.Read(got, src.b, 0))
			require.Equal(t, src.want, got)
		}
	}
	for i := range live {
		for _, b := range live[i] {
			got := make([]byte, size)
			require.NoError(t, b.last.Read(got, b.b, 0))
			require.Equal(t, b.want, got)
		}
	}
}
