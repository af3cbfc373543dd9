package onnx_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// profiled is a model with a constant, a view, copies, and an If around a copy.
func profiled(tb testing.TB) *model.Model {
	m := graphOf(layout.Float32,
		node("Constant", "flat", nil, onnx.Ints("value_ints", -1)),
		node("Transpose", "turned", []string{"x"}),
		node("Reshape", "copied", []string{"turned", "flat"}),
		node("If", "chosen", []string{"yes"},
			bodyOf("then_branch", []string{"twice"}, node("Concat", "twice", []string{"copied", "copied"}, onnx.Int("axis", 0))),
			bodyOf("else_branch", []string{"copied"})),
		node("Concat", "y", []string{"chosen", "copied"}, onnx.Int("axis", 0)))
	m.Graph.Initializers = []model.Tensor{constantOf(tb, "yes", []bool{true})}
	return m
}

// constantOf returns an initializer without axes.
func constantOf[T layout.Element](tb testing.TB, name string, values []T) model.Tensor {
	tb.Helper()
	t, err := model.NewTensor(name, values)
	require.NoError(tb, err)
	return t
}

// Every node is in a profile, with its times, also those of graphs in nodes.
func TestProfile(t *testing.T) {
	gpu, err := device.Open("opencl:0")
	devicetest.Require(t, "opencl", err)
	own, err := cpu.Open()
	require.NoError(t, err)
	fake, _ := openFake(t)
	for name, c := range map[string]struct {
		stream   *tensor.Stream
		hostOnly string
		timed    map[string]bool
	}{
		"opencl": {openOn(t, gpu), "", map[string]bool{"copied": true, "twice": true, "chosen": true, "y": true}},
		"cpu":    {openOn(t, own), "the device works within the host's calls", nil},
		"fake":   {fake, "the device's events keep no time", nil},
	} {
		t.Run(name, func(t *testing.T) {
			sess := session(t, c.stream, profiled(t))
			x := held(t)(tensor.New(c.stream, layout.Float32, 512, 256))
			var told []string
			sess.OnNode(func(n onnx.NodeReport) { told = append(told, n.Output) })
			out, p, err := sess.Profile(t.Context(), onnx.Values{"x": x})
			require.NoError(t, err)
			require.NoError(t, p.Wait())
			require.NoError(t, p.Wait(), "again")
			require.NoError(t, out.Release())
			assert.Equal(t, c.hostOnly, p.HostOnly)
			assert.WithinDuration(t, time.Now(), p.Begin, time.Hour)

			var names []string
			timed := map[string]bool{}
			var before onnx.Span
			for _, n := range p.Nodes {
				names = append(names, n.Output)
				if n.Kind == tensor.Transfer {
					assert.Nil(t, n.HostTime, "worked out with the session")
					continue
				}
				require.NotNil(t, n.HostTime, n.Output)
				assert.LessOrEqual(t, n.HostTime.Begin, n.HostTime.End)
				assert.LessOrEqual(t, n.HostTime.End, p.Host)
				if n.DeviceTime == nil {
					continue
				}
				timed[n.Output] = true
				assert.LessOrEqual(t, n.DeviceTime.Begin, n.DeviceTime.End, n.Output)
				if n.Output == "chosen" { // it is around the node before
					assert.LessOrEqual(t, n.DeviceTime.Begin, before.Begin)
				} else {
					assert.GreaterOrEqual(t, n.DeviceTime.Begin, before.End)
				}
				before = *n.DeviceTime
				assert.WithinRange(t, p.Begin.Add(n.DeviceTime.End), p.Begin, p.Begin.Add(p.Host+time.Minute))
			}
			assert.Equal(t, []string{"flat", "turned", "copied", "twice", "chosen", "y"}, names)
			assert.Equal(t, names, told)
			if c.timed == nil {
				assert.Empty(t, timed)
			} else {
				assert.Equal(t, c.timed, timed)
			}
		})
	}
}

// A profile has the nodes before an error; a queue that records no event is no error.
func TestProfileOfARunThatFails(t *testing.T) {
	s, f := openFake(t)
	sess := session(t, s, profiled(t))
	x := held(t)(tensor.New(s, layout.Float32, 4, 3))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	sess.OnNode(func(n onnx.NodeReport) {
		if n.Output == "copied" {
			cancel(enough)
		}
	})
	_, p, err := sess.Profile(ctx, onnx.Values{"x": x})
	require.ErrorIs(t, err, enough)
	require.Len(t, p.Nodes, 3)
	require.NoError(t, p.Wait())

	f.failAt = 1
	out, p, err := sess.Profile(t.Context(), onnx.Values{"x": x})
	require.NoError(t, err)
	require.NoError(t, out.Release())
	require.NoError(t, p.Wait())
	require.Contains(t, p.HostOnly, "the queue records no event: ")
}
