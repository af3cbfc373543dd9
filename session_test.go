package restride_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A chain of views and copies, on every device there is: a run neither transfers
// nor waits, and where the device replays work, its replay does the same.
func TestSessionsOnAllDevices(t *testing.T) {
	m := model.New("chain", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Int32, model.Known(6), model.Known(4))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	shape, err := model.NewTensor("shape", []int64{6, 4}, 2)
	require.NoError(t, err)
	m.Graph.Initializers = []model.Tensor{shape}
	last := "x"
	for i := range 12 { // 12 turns of the 24 elements, and each then as 6 rows
		turned, next := fmt.Sprint("turned", i), fmt.Sprint("v", i)
		m.Graph.Nodes = append(m.Graph.Nodes,
			model.NewNode("Transpose", []string{last}, []string{turned}),
			model.NewNode("Reshape", []string{turned, "shape"}, []string{next}))
		last = next
	}
	m.Graph.Nodes = append(m.Graph.Nodes, model.NewNode("Concat", []string{last, "x"}, []string{"y"}, onnx.Int("axis", 1)))

	infos, err := device.List()
	if err != nil {
		t.Log(err) // a backend that does not work here: its own tests tell
	}
	for _, info := range infos {
		t.Run(info.ID(), func(t *testing.T) {
			s, err := tensor.Open(info.ID())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			dev := s.Device()
			sess, err := onnx.NewSession(s, m)
			require.NoError(t, err)
			defer func() { require.NoError(t, sess.Close()) }()
			data := make([]int32, 24)
			for i := range data {
				data[i] = int32(i)
			}
			x, err := tensor.FromSlice(s, data, 6, 4)
			require.NoError(t, err)
			defer func() { require.NoError(t, x.Release()) }()
			require.NoError(t, s.Wait())

			before := dev.Stats()
			out, err := sess.Run(t.Context(), onnx.Values{"x": x})
			require.NoError(t, err)
			after := dev.Stats()
			assert.Equal(t, before.Waits, after.Waits, "the host waited")
			assert.Equal(t, before.Uploads+before.Downloads, after.Uploads+after.Downloads)
			y, err := out.Tensor("y")
			require.NoError(t, err)
			assert.Equal(t, chained(data), valuesOf(t, y))
			require.NoError(t, out.Release())

			c, err := sess.Capture(t.Context(), onnx.Values{"x": x})
			if err != nil {
				require.ErrorIs(t, err, device.ErrUnsupported)
				t.Log(err)
				return
			}
			defer func() { require.NoError(t, c.Close()) }()
			for round := range int32(3) {
				for i := range data {
					data[i] += round * 100
				}
				fresh, err := tensor.FromSlice(s, data, 6, 4)
				require.NoError(t, err)
				require.NoError(t, x.CopyFrom(fresh))
				require.NoError(t, fresh.Release())
				require.NoError(t, c.Run())
				y, err := c.Outputs().Tensor("y")
				require.NoError(t, err)
				assert.Equal(t, chained(data), valuesOf(t, y))
			}
		})
	}
}

func valuesOf(t *testing.T, x *tensor.Tensor) []int32 {
	t.Helper()
	v, err := tensor.Values[int32](x)
	require.NoError(t, err)
	return v
}

// chained is what the chain makes of 6 rows of 4.
func chained(x []int32) []int32 {
	v := append([]int32(nil), x...)
	for range 12 {
		next := make([]int32, 0, 24)
		for col := range 4 {
			for row := range 6 {
				next = append(next, v[row*4+col])
			}
		}
		v = next
	}
	var y []int32
	for row := range 6 {
		y = append(append(y, v[row*4:row*4+4]...), x[row*4:row*4+4]...)
	}
	return y
}

// What cannot be replayed is refused: the error names the node, nothing is left
// over, and the stream works on.
func TestCaptureRefuses(t *testing.T) {
	m := model.New("join", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x"}, {Name: "u"}, {Name: "shape"}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	m.Graph.Nodes = []model.Node{
		model.NewNode("Concat", []string{"x", "u"}, []string{"joined"}, onnx.Int("axis", 0)),
		model.NewNode("Transpose", []string{"joined"}, []string{"turned"}),
		model.NewNode("Reshape", []string{"turned", "shape"}, []string{"y"}),
	}
	infos, _ := device.List()
	for _, info := range infos {
		t.Run(info.ID(), func(t *testing.T) {
			s, err := tensor.Open(info.ID())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			other, err := tensor.NewStream(s.Device())
			require.NoError(t, err)
			defer func() { require.NoError(t, other.Close()) }()
			sess, err := onnx.NewSession(s, m)
			require.NoError(t, err)
			defer func() { require.NoError(t, sess.Close()) }()
			var all []*tensor.Tensor
			defer func() {
				for _, x := range all {
					require.NoError(t, x.Release())
				}
			}()
			hold := func(x *tensor.Tensor, err error) *tensor.Tensor {
				require.NoError(t, err)
				all = append(all, x)
				return x
			}
			on := func(s *tensor.Stream) *tensor.Tensor { return hold(tensor.FromSlice(s, []int32{1, 2, 3}, 1, 3)) }
			shape := func(s *tensor.Stream) *tensor.Tensor { return hold(tensor.FromSlice(s, []int64{2, 3})) }
			good := onnx.Values{"x": on(s), "u": on(s), "shape": shape(tensor.Host())}
			c, err := sess.Capture(t.Context(), good)
			if errors.Is(err, device.ErrUnsupported) {
				t.Skip(err)
			}
			require.NoError(t, err)
			require.NoError(t, c.Close())
			before := s.Device().Stats()
			for _, c := range []struct {
				name string
				x    *tensor.Tensor
				says string
			}{
				{"u", on(tensor.Host()), "node 0 (Concat): "},
				{"u", on(other), "node 0 (Concat): "},
				{"shape", shape(s), "node 2 (Reshape): "},
				{"u", nil, `input "u" is missing`},
			} {
				in := maps.Clone(good)
				in[c.name] = c.x
				_, err := sess.Capture(t.Context(), in)
				require.ErrorContains(t, err, "Session.Capture: ")
				require.ErrorContains(t, err, c.says)
			}
			require.NoError(t, s.Wait())
			c, err = sess.Capture(t.Context(), good)
			require.NoError(t, err)
			require.NoError(t, c.Run())
			y, err := c.Outputs().Tensor("y")
			require.NoError(t, err)
			assert.Equal(t, []int32{1, 1, 2, 2, 3, 3}, valuesOf(t, y))
			require.NoError(t, c.Close())
			require.NoError(t, c.Close(), "twice")
			require.ErrorIs(t, c.Run(), device.ErrClosed)
			require.Equal(t, before.Buffers+2, s.Device().Stats().Buffers, "those of the test")
		})
	}
}
