package onnxruntime_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/adapters/onnxruntime/internal/models"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestModels: real models give the outputs of ONNX Runtime alone, bit by bit, the first time and
// when the shapes of groups' outputs are known.
func TestModels(t *testing.T) {
	for _, r := range models.All {
		t.Run(r.Name, func(t *testing.T) { testModel(t, &r, "cpu") })
	}
}

// TestModelsOnDevice: the same by transfers.
func TestModelsOnDevice(t *testing.T) {
	for _, device := range []string{"opencl:0", "cuda:0"} {
		t.Run(device, func(t *testing.T) { testModel(t, &models.All[1], device) })
	}
}

func testModel(t *testing.T, r *models.Model, device string) {
	path := needed(t, r.Path)
	engine := newEngine(t)
	m, err := model.Load(path)
	require.NoError(t, err)
	s := openOn(t, device)
	sess := newSession(t, s, m, engine)
	in, err := r.Inputs.Values(s, sess.Inputs())
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Release()) }()
	given := onnx.Values{}
	for name := range in {
		given[name] = held(t)(in[name].(*tensor.Tensor).To(tensor.Host()))
	}
	alone, err := models.Open(path, sess.Inputs(), sess.Outputs())
	require.NoError(t, err)
	defer alone.Close()
	want, err := alone.Tensors(tensor.Host(), given)
	require.NoError(t, err)
	defer func() { require.NoError(t, want.Release()) }()
	for range 2 {
		out, err := sess.Run(t.Context(), in)
		require.NoError(t, err)
		for name := range want {
			y, err := out.Tensor(name)
			require.NoError(t, err)
			got, err := y.Bytes()
			require.NoError(t, err)
			bytes, err := want[name].(*tensor.Tensor).Bytes()
			require.NoError(t, err)
			require.True(t, slices.Equal(bytes, got), name)
		}
		require.NoError(t, out.Release())
	}
}
