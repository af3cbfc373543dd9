package onnx_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride" // all devices
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// limitMemory limits the memory of the process while the test runs.
func limitMemory(t *testing.T, bytes int64) {
	most, source := budget.Process().Limit()
	t.Cleanup(func() { budget.Process().SetLimit(most, source) })
	budget.Process().SetLimit(bytes, "a test")
}

// open returns a stream on a cpu device of its own, which must have no memory
// left in use when the test ends. RESTRIDE_TEST_DEVICE names another device for
// the tests that compare operators with models of them (see scripts/devices.sh):
// it holds no strings.
func open(tb testing.TB) *tensor.Stream {
	tb.Helper()
	var dev device.Device
	var err error
	if name := os.Getenv("RESTRIDE_TEST_DEVICE"); name != "" {
		dev, err = device.Open(name)
	} else {
		dev, err = cpu.Open()
	}
	require.NoError(tb, err)
	devicetest.Keep(dev.Info(), func() (device.Device, error) { return device.Open(os.Getenv("RESTRIDE_TEST_DEVICE")) })
	return openOn(tb, dev)
}

func openOn(tb testing.TB, dev device.Device) *tensor.Stream {
	tb.Helper()
	s, err := tensor.NewStream(dev)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, s.Wait())
		require.Zero(tb, dev.Stats().Live, "bytes left in use")
		require.Zero(tb, dev.Stats().Buffers, "buffers left in use")
		require.NoError(tb, s.Close())
		require.NoError(tb, dev.Close())
	})
	return s
}

// node returns a node of ONNX's own domain with one output, which is its name
// too.
func node(op, output string, inputs []string, attrs ...model.Attr) model.Node {
	n := model.NewNode(op, inputs, []string{output}, attrs...)
	n.Name = output
	return n
}

// graphOf returns a model of nodes that make y of x.
func graphOf(x layout.DType, nodes ...model.Node) *model.Model {
	m := model.New("graph", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", x)}
	m.Graph.Outputs = outputs("y")
	m.Graph.Nodes = nodes
	return m
}

// constant returns an initializer with one axis.
func constant[T layout.Element](tb testing.TB, name string, values []T) model.Tensor {
	tb.Helper()
	t, err := model.NewTensor(name, values, int64(len(values)))
	require.NoError(tb, err)
	return t
}

// input and output declare a value of the graph whose shape is not known.
func input(name string, t layout.DType) model.ValueInfo {
	return model.ValueInfo{Name: name, Type: model.Type{Kind: model.TensorType, Elem: t}}
}

func outputs(names ...string) []model.ValueInfo {
	var infos []model.ValueInfo
	for _, name := range names {
		infos = append(infos, model.ValueInfo{Name: name})
	}
	return infos
}

// session prepares a model and closes it when the test ends.
func session(tb testing.TB, s *tensor.Stream, m *model.Model) *onnx.Session {
	tb.Helper()
	sess, err := onnx.NewSession(s, m)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, sess.Close()) })
	return sess
}

// refused checks that a model makes no session, leaves no memory behind, and
// returns the error.
func refused(tb testing.TB, m *model.Model, kind error, says string) error {
	tb.Helper()
	s := open(tb)
	_, err := onnx.NewSession(s, m)
	require.ErrorIs(tb, err, kind)
	require.ErrorContains(tb, err, says)
	return err
}

// run runs a session once; the outputs are released when the test ends.
func run(tb testing.TB, sess *onnx.Session, in onnx.Values, options ...onnx.RunOption) onnx.Values {
	tb.Helper()
	out, err := sess.Run(context.Background(), in, options...)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, out.Release()) })
	return out
}

// held releases a new tensor when the test ends.
func held(tb testing.TB) func(*tensor.Tensor, error) *tensor.Tensor {
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		tb.Helper()
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, x.Release()) })
		return x
	}
}

// ints returns an int64 tensor with one axis.
func ints(tb testing.TB, s *tensor.Stream, values ...int64) *tensor.Tensor {
	tb.Helper()
	return held(tb)(tensor.FromSlice(s, values, int64(len(values))))
}

// valuesOf reads an output that is a tensor.
func valuesOf[T layout.Element](tb testing.TB, out onnx.Values, name string) []T {
	tb.Helper()
	x, err := out.Tensor(name)
	require.NoError(tb, err)
	v, err := tensor.Values[T](x)
	require.NoError(tb, err)
	return v
}
