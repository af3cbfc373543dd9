package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A scope releases what a run made, and nothing that is the session's.
func TestSessionInScope(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Float32, node("Concat", "y", []string{"x", "c"}, onnx.Int("axis", 0)))
	m.Graph.Initializers = []model.Tensor{constant(t, "c", []float32{3, 4})}
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}))
	scope := tensor.NewScope(s)
	sess, err := onnx.NewSession(s, m)
	require.NoError(t, err)
	defer func() { require.NoError(t, sess.Close()) }()
	for range 2 {
		out, err := sess.Run(t.Context(), onnx.Values{"x": x})
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2, 3, 4}, valuesOf[float32](t, out, "y"))
		require.NoError(t, scope.Close())
		y, err := out.Tensor("y")
		require.NoError(t, err)
		_, err = y.Alias()
		require.ErrorIs(t, err, tensor.ErrReleased)
		scope = tensor.NewScope(s)
	}
	require.NoError(t, scope.Close())
}
