package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestOpen(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	require.Equal(t, "cpu", s.Device().Info().ID())
	require.True(t, s.IsHost())
	require.NoError(t, s.Wait())
	require.NoError(t, s.Close())
	_, err = tensor.New(s, layout.Int8, 1)
	require.ErrorIs(t, err, device.ErrClosed, "Close closes the device that Open opened")

	_, err = tensor.Open("nonesuch")
	require.ErrorIs(t, err, device.ErrNoDevice)
}

// TestNewStreamLeavesDeviceOpen, and so does Adopt, and the queue too.
func TestNewStreamLeavesDeviceOpen(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Wait(), device.ErrClosed)

	q, err := dev.NewQueue()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	a := tensor.Adopt(dev, q)
	require.Same(t, q, a.Queue())
	require.Same(t, dev, a.Device())
	x := keep(t)(tensor.FromSlice(a, []int8{1, 2}))
	require.NoError(t, a.Close())
	requireIs(t, array{Dims: []int64{2}, Elems: []string{"\x01", "\x02"}}, x)
	require.NoError(t, q.Wait())

	closed, err := cpu.Open()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	_, err = tensor.NewStream(closed)
	require.ErrorIs(t, err, device.ErrClosed)
}

func TestHost(t *testing.T) {
	require.Same(t, tensor.Host(), tensor.Host())
	require.True(t, tensor.Host().IsHost())
	require.NoError(t, tensor.Host().Close(), "it does nothing")
	keep(t)(tensor.New(tensor.Host(), layout.Int8, 1))
}

// TestTo: a view on the same device, a transfer to another, for all types and
// from tensors that are no run.
func TestTo(t *testing.T) {
	for from, open := range streams {
		s := open(t)
		sibling := must(tensor.NewStream(s.Device()))
		defer sibling.Close()
		for to, openOther := range streams {
			other := openOther(t)
			for _, of := range layout.DTypes() {
				if of == layout.String && from == "fake" {
					continue
				}
				x, a := fill(t, s, of, 1, 3, 5)
				y, want := keep(t)(keep(t)(x.Transpose()).Slice(0, 3, 0, -1)), sliced(transposed(a, []int{1, 0}), 0, 3, 0, -1)

				before := s.Device().Stats()
				v := keep(t)(y.To(sibling))
				require.Equal(t, tensor.View, v.Verdict().Kind)
				require.Equal(t, before, s.Device().Stats())
				require.Same(t, sibling, v.Stream())
				requireIs(t, want, v)

				z, err := y.To(other)
				if of == layout.String && to == "fake" {
					require.ErrorIs(t, err, device.ErrUnsupported)
					require.ErrorContains(t, err, "To of string[3,3]: ")
					require.Nil(t, z)
					continue
				}
				keep(t)(z, err)
				require.Equal(t, tensor.Transfer, z.Verdict().Kind)
				require.Same(t, other, z.Stream())
				require.True(t, new(z.Layout()).IsContiguous())
				require.Zero(t, new(z.Layout()).Offset())
				requireIs(t, want, z)
				requireIs(t, array{Dims: []int64{3, 0}}, keep(t)(keep(t)(tensor.New(s, of, 3, 0)).To(other)))
			}
		}
	}
}

// TestToByPieces: between two devices that share nothing, a large tensor goes through the
// host in more than one piece.
func TestToByPieces(t *testing.T) {
	values := make([]int32, 9<<20/4+3)
	for i := range values {
		values[i] = int32(i)
	}
	x := keep(t)(tensor.FromSlice(openFake(t), values))
	y := keep(t)(keep(t)(x.Slice(0, 1, int64(len(values)), 1)).To(openFake(t)))
	require.Equal(t, values[1:], must(tensor.Values[int32](y)))
}

// TestTwoStreams: what is made on either stream of a device can meet.
func TestTwoStreams(t *testing.T) {
	a := openCPU(t)
	b := must(tensor.NewStream(a.Device()))
	defer b.Close()
	aTold, bTold := trace(t, a), trace(t, b)
	x := keep(t)(tensor.FromSlice(a, []int8{1, 2, 3}))
	aTold.take()
	y := keep(t)(x.To(b))
	require.Equal(t, []string{"To int8 [3]:{1}+0 -> [3]:{1}+0: view"}, bTold.take())
	require.Empty(t, aTold.take())
	keep(t)(y.Clone())
	require.Len(t, bTold.take(), 1, "what is made of it runs there")
	require.Empty(t, aTold.take())
	b.ForbidCopies(true)
	_, err := keep(t)(y.Slice(0, 0, 3, 2)).Bytes()
	require.ErrorIs(t, err, tensor.ErrCopy)
	_, err = keep(t)(x.Slice(0, 0, 3, 2)).Bytes()
	require.NoError(t, err, "each stream forbids for itself")
}

// TestClosedStream: calls that need the queue say that it is closed.
func TestClosedStream(t *testing.T) {
	dev := must(cpu.Open())
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	s := must(tensor.NewStream(dev))
	x := keep(t)(tensor.New(s, layout.Int8, 2, 3))
	y := keep(t)(x.Transpose())
	require.NoError(t, s.Close())
	for name, call := range map[string]func() (*tensor.Tensor, error){
		"Clone":     func() (*tensor.Tensor, error) { return x.Clone() },
		"Reshape":   func() (*tensor.Tensor, error) { return y.Reshape(6) },
		"FromSlice": func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1}) },
		"New":       func() (*tensor.Tensor, error) { return tensor.New(s, layout.Int8, 2) },
		"Bytes":     func() (*tensor.Tensor, error) { _, err := x.Bytes(); return nil, err },
		"CopyFrom":  func() (*tensor.Tensor, error) { return nil, x.CopyFrom(x) },
	} {
		before := dev.Stats().Live
		_, err := call()
		require.ErrorIs(t, err, device.ErrClosed, name)
		require.Equal(t, before, dev.Stats().Live, name)
	}
}
