package cuda

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestPeers runs the tests of copies between devices on two simulated ones that
// are slow at random.
func TestPeers(t *testing.T) {
	if os.Getenv(child) != "" {
		t.Skip("in a process of its own")
	}
	for name, env := range map[string]string{"Direct": "", "Staged": "RESTRIDE_SIM_PEERS=0", "NoPools": "RESTRIDE_SIM_FAIL=cuMemAllocFromPoolAsync=801,cuMemAllocAsync=801"} {
		t.Run(name, func(t *testing.T) {
			out, err := inChild(t, "^TestPeer[A-Z]", "RESTRIDE_SIM_DEVICES=2", "RESTRIDE_SIM_DELAY=300", "RESTRIDE_SIM_SEED=8", env)
			require.NoError(t, err, "%s", out)
			assert.Contains(t, out, "--- PASS: TestPeerOrder")
		})
	}
	// Delays far beyond the duration of the host's calls, on any load.
	out, err := inChild(t, "^TestPeerOrder$", "RESTRIDE_SIM_DEVICES=2", "RESTRIDE_SIM_DELAY=3000", "RESTRIDE_SIM_SEED=8", "RESTRIDE_SIM_PLANT=skipwait")
	require.Error(t, err, "the test does not see that queues do not wait: %s", out)
	assert.Contains(t, out, "--- FAIL: TestPeerOrder")
}

// twoStreams opens both devices, and checks that no bytes are live in the end.
func twoStreams(t *testing.T) (a, b *tensor.Stream) {
	t.Helper()
	if os.Getenv(child) == "" {
		t.Skip("run by TestPeers")
	}
	var all [2]*tensor.Stream
	for i := range all {
		dev, err := OpenWith(i, Options{})
		require.NoError(t, err)
		all[i], err = tensor.NewStream(dev)
		require.NoError(t, err)
		t.Cleanup(func() { _ = dev.Close() })
	}
	return all[0], all[1]
}

// No byte passes through the host, and copies are direct where the devices reach each other.
func TestPeerOrder(t *testing.T) {
	a, b := twoStreams(t)
	k := simulated(t)
	direct, staged := k.Count("peerDirect"), k.Count("peerStaged")
	const rounds, size = 20, 100_000
	var sent []*tensor.Tensor
	x, err := tensor.New(a, layout.Uint8, size)
	require.NoError(t, err)
	up := a.Device().Stats()
	for i := range rounds { // the source is overwritten immediately
		require.NoError(t, a.Queue().Fill(x.Operand(), []byte{byte(i)}))
		y, err := x.To(b)
		require.NoError(t, err)
		assert.Equal(t, tensor.Verdict{Kind: tensor.Transfer, Bytes: size}, y.Verdict())
		sent = append(sent, y)
	}
	before := b.Device().Stats()
	assert.Zero(t, before.HostToDevice)
	assert.EqualValues(t, rounds, before.PeerCopies)
	assert.EqualValues(t, rounds*size, before.PeerToDevice)
	assert.Zero(t, before.Launches)
	assert.Equal(t, up.DeviceToHost, a.Device().Stats().DeviceToHost)
	for i, y := range sent {
		got, err := y.Bytes()
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, size), got, "round %d", i)
		require.NoError(t, y.Release())
	}
	if os.Getenv("RESTRIDE_SIM_PEERS") == "0" {
		assert.Equal(t, staged+rounds, k.Count("peerStaged"))
		return
	}
	assert.Equal(t, direct+rounds, k.Count("peerDirect"))
	assert.Equal(t, staged, k.Count("peerStaged"))
}

// The source's bytes arrive, of tensors that are released immediately: views, elements below a
// byte, none at all.
func TestPeerTensors(t *testing.T) {
	a, b := twoStreams(t)
	do := func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		require.NoError(t, err)
		return x
	}
	for name, make := range map[string]func() *tensor.Tensor{
		"Plain": func() *tensor.Tensor {
			return do(tensor.FromBytes(a, layout.Float32, gputest.Random(4*300, 1), 3, 100))
		},
		"Transposed": func() *tensor.Tensor {
			return do(do(tensor.FromBytes(a, layout.Float32, gputest.Random(4*300, 2), 3, 100)).Transpose())
		},
		"Rows": func() *tensor.Tensor {
			return do(do(tensor.FromBytes(a, layout.Float32, gputest.Random(4*300, 3), 3, 100)).Slice(0, 1, 3, 1))
		},
		"Columns": func() *tensor.Tensor {
			return do(do(tensor.FromBytes(a, layout.Float16, gputest.Random(2*300, 4), 3, 100)).Slice(1, 7, 90, 3))
		},
		"Reversed": func() *tensor.Tensor {
			return do(do(tensor.FromBytes(a, layout.Uint8, gputest.Random(301, 5), 301)).Slice(0, 300, -302, -1))
		},
		"OneByte": func() *tensor.Tensor { return do(tensor.FromBytes(a, layout.Uint8, gputest.Random(1, 6), 1)) },
		"Scalar": func() *tensor.Tensor {
			return do(tensor.FromBytes(a, layout.Complex128, gputest.Random(16, 7), []int64{}...))
		},
		"Int4": func() *tensor.Tensor { return do(tensor.FromBytes(a, layout.Int4, gputest.Random(51, 8), 101)) },
		"Int4OnByte": func() *tensor.Tensor {
			return do(do(tensor.FromBytes(a, layout.Int4, gputest.Random(51, 9), 101)).Slice(0, 2, 101, 1))
		},
		"Int4Within": func() *tensor.Tensor {
			return do(do(tensor.FromBytes(a, layout.Int4, gputest.Random(51, 10), 101)).Slice(0, 3, 101, 1))
		},
		"Uint2": func() *tensor.Tensor { return do(tensor.FromBytes(a, layout.Uint2, gputest.Random(26, 11), 103)) },
		"Empty": func() *tensor.Tensor { return do(tensor.FromBytes(a, layout.Float32, nil, 3, 0)) },
		"EmptyPart": func() *tensor.Tensor {
			return do(do(tensor.FromBytes(a, layout.Int4, gputest.Random(51, 12), 101)).Slice(0, 9, 9, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := make()
			want, err := x.Bytes()
			require.NoError(t, err)
			host, peers := b.Device().Stats().HostToDevice, b.Device().Stats().PeerCopies
			y, err := x.To(b)
			require.NoError(t, err)
			require.NoError(t, x.Release())
			z := do(tensor.New(a, layout.Uint8, 1208)) // into the same memory, if it is reused
			require.NoError(t, a.Queue().Fill(z.Operand(), []byte{0xdd}))
			assert.Equal(t, host, b.Device().Stats().HostToDevice)
			assert.Equal(t, peers+1, b.Device().Stats().PeerCopies)
			back := do(y.To(a))
			require.NoError(t, y.Release())
			got, err := back.Bytes()
			require.NoError(t, err)
			assert.Equal(t, want, got)
			require.NoError(t, back.Release())
			require.NoError(t, z.Release())
		})
	}
}

// Either device may be closed with copies in flight.
func TestPeerClose(t *testing.T) {
	for i := range 2 {
		a, b := twoStreams(t)
		want := gputest.Random(64<<10, 20)
		x, err := tensor.FromBytes(a, layout.Uint8, want, int64(len(want)))
		require.NoError(t, err)
		var last *tensor.Tensor
		for range 10 {
			last, err = x.To(b)
			require.NoError(t, err)
		}
		closing, other := a, b
		if i == 1 {
			closing, other = b, a
		}
		require.NoError(t, closing.Device().Close())
		_, err = x.To(b)
		require.ErrorIs(t, err, device.ErrClosed)
		if i == 0 {
			got, err := last.Bytes()
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
		require.NoError(t, other.Device().Close())
	}
}

// Several goroutines send tensors both ways.
func TestPeerBothWays(t *testing.T) {
	a, b := twoStreams(t)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			from, to := a, b
			if i%2 == 1 {
				from, to = b, a
			}
			want := gputest.Random(5000, uint64(i))
			for range 5 {
				x, err := tensor.FromBytes(from, layout.Uint8, want, 5000)
				if !assert.NoError(t, err) {
					return
				}
				y, err := x.To(to)
				assert.NoError(t, err)
				assert.NoError(t, x.Release())
				got, err := y.Bytes()
				assert.NoError(t, err)
				assert.Equal(t, want, got)
				assert.NoError(t, y.Release())
			}
		})
	}
	group.Wait()
}

// A queue that captures takes no part, on either side.
func TestPeerCapture(t *testing.T) {
	a, b := twoStreams(t)
	x, err := tensor.New(a, layout.Uint8, 64)
	require.NoError(t, err)
	for _, s := range []*tensor.Stream{a, b} {
		_, err := s.Queue().(device.Recorder).Capture(func() error {
			_, err := x.To(b)
			return err
		})
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "capturing")
	}
	y, err := x.To(b)
	require.NoError(t, err)
	require.NoError(t, y.Release())
}

// Contexts without direct copies copy through the host: two of one device, one of another
// backend, and those of a driver that refuses.
func TestPeerOthers(t *testing.T) {
	a, b := twoStreams(t)
	k := simulated(t)
	want := gputest.Random(1000, 30)
	through := func(to *tensor.Stream) {
		t.Helper()
		x, err := tensor.FromBytes(a, layout.Uint8, want, 1000)
		require.NoError(t, err)
		before := to.Device().Stats()
		y, err := x.To(to)
		require.NoError(t, err)
		got, err := y.Bytes()
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.EqualValues(t, 1000, a.Device().Stats().DeviceToHost)
		assert.Equal(t, before.PeerCopies, to.Device().Stats().PeerCopies)
	}
	again, err := OpenWith(0, Options{})
	require.NoError(t, err)
	defer again.Close()
	s, err := tensor.NewStream(again)
	require.NoError(t, err)
	through(s)
	q, ok := s.Queue().(device.PeerQueue)
	require.True(t, ok)
	require.ErrorIs(t, q.CopyPeer(gputest.Alloc(t, again, 4), 0, gputest.Alloc(t, again, 4), 0, 4, a.Queue()), device.ErrUnsupported)

	y, err := tensor.FromBytes(tensor.Host(), layout.Uint8, want, 1000)
	require.NoError(t, err)
	y, err = y.To(b)
	require.NoError(t, err)
	y, err = y.To(tensor.Host())
	require.NoError(t, err)
	got, err := y.Bytes()
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Zero(t, b.Device().Stats().PeerCopies)

	k.turn(t, "FAIL", "cuMemcpyPeerAsync=801")
	x, err := tensor.FromBytes(a, layout.Uint8, want, 1000)
	require.NoError(t, err)
	z, err := x.To(b)
	require.NoError(t, err)
	got, err = z.Bytes()
	require.NoError(t, err)
	assert.Equal(t, want, got)
	k.turn(t, "FAIL", "cuMemcpyPeerAsync=1")
	_, err = x.To(b)
	require.ErrorIs(t, err, device.ErrDriver)
	assert.ErrorContains(t, err, "cuMemcpyPeerAsync")
	assert.Zero(t, b.Device().Stats().PeerCopies)
}
