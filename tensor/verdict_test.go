package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// told are the events of a stream, as its hook has them.
type told struct{ events []tensor.Event }

func trace(t *testing.T, s *tensor.Stream) *told {
	to := &told{}
	s.Trace(func(e tensor.Event) { to.events = append(to.events, e) })
	t.Cleanup(func() { s.Trace(nil) })
	return to
}

// take returns the events since the last take, in words.
func (to *told) take() []string {
	var all []string
	for _, e := range to.events {
		all = append(all, e.String())
	}
	to.events = nil
	return all
}

// TestTrace: every call is told, in order, with what it read, wrote and moved.
func TestTrace(t *testing.T) {
	s := openFake(t)
	to := trace(t, s)
	x := keep(t)(tensor.FromSlice(s, []float32{0, 1, 2, 3, 4, 5}, 2, 3))
	require.Equal(t, []string{"FromSlice float [2,3]:{3,1}+0 -> [2,3]:{3,1}+0: transfer of 24 bytes"}, to.take())
	keep(t)(tensor.FromBytes(s, layout.Int4, []byte{1, 2}, 3))
	require.Equal(t, []string{"FromBytes int4 [3]:{1}+0 -> [3]:{1}+0: transfer of 2 bytes"}, to.take())
	keep(t)(tensor.New(s, layout.Float16, 5))
	require.Equal(t, []string{"New float16 [5]:{1}+0 -> [5]:{1}+0: copy of 10 bytes: fill"}, to.take())
	e := keep(t)(tensor.Empty(s, layout.Float32, 3, 2))
	require.Empty(t, to.take())

	p := keep(t)(tensor.FromSlice(s, []uint8{1, 2, 3}))
	keep(t)(keep(t)(p.Pack(layout.Uint2)).Unpack())
	require.Equal(t, []string{
		"FromSlice uint8 [3]:{1}+0 -> [3]:{1}+0: transfer of 3 bytes",
		"Pack uint2 [3]:{1}+0 -> [3]:{1}+0: copy of 1 bytes: convert",
		"Unpack uint8 [3]:{1}+0 -> [3]:{1}+0: copy of 3 bytes: convert",
	}, to.take())

	_, err := x.Reshape(7)
	require.Error(t, err)
	require.Error(t, x.CopyFrom(e))
	require.Empty(t, to.take(), "a call that fails is not told")
	s.Trace(nil)
	keep(t)(x.Alias())
	require.Empty(t, to.take(), "the hook is gone")
}

// TestTraceViews: operations that copy nothing.
func TestTraceViews(t *testing.T) {
	s := openFake(t)
	x := keep(t)(tensor.FromSlice(s, []float32{0, 1, 2, 3, 4, 5}, 2, 3))
	to := trace(t, s)
	keep(t)(x.Transpose())
	keep(t)(x.Slice(1, 2, 0, -1))
	keep(t)(x.Expand(4, 2, 3))
	keep(t)(x.Unsqueeze(0))
	keep(t)(x.Squeeze())
	keep(t)(x.Alias())
	keep(t)(x.Reshape(-1))
	keep(t)(x.Flatten(1))
	keep(t)(x.Contiguous())
	keep(t)(x.Reshape(6))
	keep(t)(x.WithLayout("Identity", x.Layout()))
	require.Equal(t, []string{
		"Transpose float [2,3]:{3,1}+0 -> [3,2]:{1,3}+0: view",
		"Slice float [2,3]:{3,1}+0 -> [2,2]:{3,-1}+2: view",
		"Expand float [2,3]:{3,1}+0 -> [4,2,3]:{0,3,1}+0: view",
		"Unsqueeze float [2,3]:{3,1}+0 -> [1,2,3]:{0,3,1}+0: view",
		"Squeeze float [2,3]:{3,1}+0 -> [2,3]:{3,1}+0: view",
		"Alias float [2,3]:{3,1}+0 -> [2,3]:{3,1}+0: view",
		"Reshape float [2,3]:{3,1}+0 -> [6]:{1}+0: view",
		"Flatten float [2,3]:{3,1}+0 -> [2,3]:{3,1}+0: view",
		"Contiguous float [2,3]:{3,1}+0 -> [2,3]:{3,1}+0: view",
		"Reshape float [2,3]:{3,1}+0 -> [6]:{1}+0: view",
		"Identity float [2,3]:{3,1}+0 -> [2,3]:{3,1}+0: view",
	}, to.take())
}

// TestTraceCopies: copies on the device, and from it.
func TestTraceCopies(t *testing.T) {
	s := openFake(t)
	x := keep(t)(tensor.FromSlice(s, []float32{0, 1, 2, 3, 4, 5}, 2, 3))
	e := keep(t)(tensor.Empty(s, layout.Float32, 3, 2))
	y := keep(t)(x.Transpose())
	to := trace(t, s)
	z := keep(t)(y.Reshape(-1))
	require.Equal(t, []string{"Reshape float [3,2]:{1,3}+0 -> [6]:{1}+0: " + z.Verdict().String()}, to.take())
	require.Equal(t, tensor.Verdict{Kind: tensor.Copy, Bytes: 24, Class: "shuffle", Kernel: z.Verdict().Kernel}, z.Verdict())
	require.Contains(t, z.Verdict().Kernel, "fake.")
	copied := ": " + z.Verdict().String()
	keep(t)(y.Contiguous())
	keep(t)(y.Clone())
	require.NoError(t, e.CopyFrom(y))
	require.Equal(t, []string{
		"Contiguous float [3,2]:{1,3}+0 -> [3,2]:{2,1}+0" + copied,
		"Clone float [3,2]:{1,3}+0 -> [3,2]:{2,1}+0" + copied,
		"CopyFrom float [3,2]:{1,3}+0 -> [3,2]:{2,1}+0" + copied,
	}, to.take())

	_, err := tensor.Values[float32](y)
	require.NoError(t, err)
	require.Equal(t, []string{
		"Values float [3,2]:{1,3}+0 -> [3,2]:{2,1}+0" + copied,
		"Values float [3,2]:{1,3}+0 -> [3,2]:{2,1}+0: transfer of 24 bytes",
	}, to.take(), "a copy, then the transfer")
	row := keep(t)(x.Slice(0, 1, 2, 1))
	to.take()
	require.NoError(t, row.ReadInto(make([]float32, 3)))
	_, err = row.Bytes()
	require.NoError(t, err)
	require.Equal(t, []string{
		"ReadInto float [1,3]:{3,1}+3 -> [1,3]:{3,1}+0: transfer of 12 bytes",
		"Bytes float [1,3]:{3,1}+3 -> [1,3]:{3,1}+0: transfer of 12 bytes",
	}, to.take())
	i := keep(t)(tensor.FromSlice(s, []int64{1, 2, 3}))
	to.take()
	_, err = i.AppendInts(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"AppendInts int64 [3]:{1}+0 -> [3]:{1}+0: transfer of 24 bytes"}, to.take())
}

// TestTraceTransferBetweenStreams: both streams are told, and a verdict says so.
func TestTraceTransferBetweenStreams(t *testing.T) {
	from, to := openCPU(t), openFake(t)
	fromTold, toTold := trace(t, from), trace(t, to)
	x := keep(t)(tensor.FromSlice(from, []string{"a", "b"}))
	_, err := x.To(to)
	require.Error(t, err)
	y := keep(t)(keep(t)(tensor.FromSlice(from, []int8{1, 2, 3})).Slice(0, 1, 3, 1))
	fromTold.take()
	z := keep(t)(y.To(to))
	require.Equal(t, tensor.Verdict{Kind: tensor.Transfer, Bytes: 2}, z.Verdict())
	require.Same(t, to, z.Stream())
	want := []string{"To int8 [2]:{1}+1 -> [2]:{1}+0: transfer of 2 bytes"}
	require.Equal(t, want, fromTold.take())
	require.Equal(t, want, toTold.take())
}

// TestTraceHookMayCall: a hook may use tensors of the stream that it hears of,
// and take itself away.
func TestTraceHookMayCall(t *testing.T) {
	s := openCPU(t)
	x, _ := fill(t, s, layout.Int8, 1, 2)
	calls := 0
	s.Trace(func(tensor.Event) {
		calls++
		s.Trace(nil)
		keep(t)(x.Alias())
	})
	keep(t)(x.Alias())
	require.Equal(t, 1, calls)
}

// TestVerdictBytes: strings count 16 bytes each, bits are rounded up, and
// nothing is 0.
func TestVerdictBytes(t *testing.T) {
	s := openCPU(t)
	for _, c := range []struct {
		of   layout.DType
		want int64
	}{{layout.String, 240}, {layout.Int4, 8}, {layout.Uint2, 4}, {layout.Complex128, 240}, {layout.Bool, 15}} {
		x, _ := fill(t, s, c.of, 1, 3, 5)
		require.Equal(t, tensor.Transfer, x.Verdict().Kind)
		require.Equal(t, c.want, x.Verdict().Bytes, c.of)
		require.Equal(t, c.want, keep(t)(keep(t)(x.Transpose()).Clone()).Verdict().Bytes, c.of)
	}
	x := keep(t)(tensor.New(s, layout.Float32, 0, 3))
	require.Zero(t, keep(t)(x.Clone()).Verdict().Bytes)
	require.Equal(t, "view", keep(t)(x.Transpose()).Verdict().String())
	require.Equal(t, "transfer", tensor.Transfer.String())
	require.Equal(t, "copy of 8 bytes: c by k", tensor.Verdict{Kind: tensor.Copy, Bytes: 8, Class: "c", Kernel: "k"}.String())
	require.Equal(t, "copy of 8 bytes: c", tensor.Verdict{Kind: tensor.Copy, Bytes: 8, Class: "c"}.String())
	require.Equal(t, "copy of 8 bytes", tensor.Verdict{Kind: tensor.Copy, Bytes: 8}.String())
}
