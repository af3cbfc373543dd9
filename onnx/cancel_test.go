package onnx_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestCancelOnABusyDevice: a run ends when its context does, though the device has seconds of
// work before it, also where a node waits for elements: it waits for nothing, and leaves
// nothing behind. The simulated device waits before each piece of work.
func TestCancelOnABusyDevice(t *testing.T) {
	const child = "RESTRIDE_TEST_BUSY"
	if os.Getenv(child) == "" {
		path, err := cudasim.Path()
		devicetest.Require(t, "compilers", err)
		cmd := exec.Command(os.Args[0], "-test.run=^TestCancelOnABusyDevice$", "-test.v", "-test.timeout=300s")
		cmd.Env = append(os.Environ(), child+"=1", cudasim.Variable+"="+path, "RESTRIDE_SIM_DELAY=40000", "GORACE=exitcode=66")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	dev, err := device.Open("cuda:0")
	require.NoError(t, err)
	s := openOn(t, dev)
	x := held(t)(tensor.New(s, layout.Float32, 2, 1024))
	rows, yes := ints(t, s, 512, 4), held(t)(tensor.FromSlice(s, []bool{true}, []int64{}...))
	run := map[string]*onnx.Session{}
	for name, m := range map[string]*model.Model{
		"copies":    graphOf(layout.Float32, node("Transpose", "a", []string{"x"}), node("Concat", "b", []string{"a", "a"}, onnx.Int("axis", 0)), node("Concat", "y", []string{"b", "a"}, onnx.Int("axis", 0))),
		"shape":     graphOf(layout.Float32, node("Reshape", "y", []string{"x", "rows"})),
		"condition": graphOf(layout.Float32, node("If", "y", []string{"yes"}, bodyOf("then_branch", []string{"x"}), bodyOf("else_branch", []string{"x"}))),
		"branch": graphOf(layout.Float32, node("If", "y", []string{"on host"},
			bodyOf("then_branch", []string{"z"}, node("Reshape", "z", []string{"x", "rows"})), bodyOf("else_branch", []string{"x"}))),
		"arithmetic": graphOf(layout.Float32, node("Add", "sum", []string{"rows", "rows"}), node("Expand", "y", []string{"x", "sum"})),
		"strings":    graphOf(layout.Float32, node("Cast", "y", []string{"x"}, onnx.Int("to", int64(layout.String)))),
		"circular":   graphOf(layout.Float32, node("TensorScatter", "y", []string{"x", "x", "rows"}, onnx.Attr{Name: "mode", Value: "circular"}, onnx.Int("axis", 1))),
		"range":      graphOf(layout.Float32, model.NewNode("DynamicQuantizeLinear", []string{"x"}, []string{"y", "scale", "zero"})),
	} {
		m.Graph.Inputs = append(m.Graph.Inputs, input("rows", layout.Int64), input("yes", layout.Bool), input("on host", layout.Bool))
		m.Opsets[""] = 24
		run[name] = session(t, s, m)
	}
	onHost := held(t)(tensor.FromSlice(tensor.Host(), []bool{true}, []int64{}...))
	inputs := onnx.Values{"x": x, "rows": rows, "yes": yes, "on host": onHost}
	require.NoError(t, s.Wait())
	before := dev.Stats()
	for range 100 { // 2 seconds
		require.NoError(t, s.Queue().Fill(x.Operand(), []byte{1, 2, 3, 4}))
	}
	busy, err := s.Queue().Record()
	require.NoError(t, err)
	enough := errors.New("enough")
	for name, sess := range run {
		ctx, cancel := context.WithCancelCause(t.Context())
		if name == "copies" {
			sess.OnNode(func(onnx.NodeReport) { cancel(enough) })
		} else {
			time.AfterFunc(20*time.Millisecond, func() { cancel(enough) })
		}
		_, err := sess.Run(ctx, inputs)
		assert.ErrorIs(t, err, enough, name)
		assert.False(t, busy.Done(), "%s: the run has waited for the device", name)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, enough)
	defer cancel()
	assert.ErrorIs(t, s.WaitContext(ctx), enough)
	assert.ErrorIs(t, x.WaitContext(ctx), enough)
	assert.False(t, busy.Done())
	after := dev.Stats()
	assert.Equal(t, before.Buffers, after.Buffers)
	assert.Equal(t, before.Live, after.Live)
}
