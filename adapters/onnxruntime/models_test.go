package onnxruntime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/adapters/onnxruntime/internal/models"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func upload(tb testing.TB, s *tensor.Stream, r *models.Model, in map[string]any) onnx.Values {
	tb.Helper()
	out := onnx.Values{}
	for name, list := range in {
		switch list := list.(type) {
		case []float32:
			out[name] = held(tb)(tensor.FromSlice(s, list, r.Shapes[name]...))
		case []int64:
			out[name] = held(tb)(tensor.FromSlice(s, list, r.Shapes[name]...))
		}
	}
	return out
}

// TestModels: real models give the outputs of ONNX Runtime alone to 1e-5, the first time and
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
	for seed := range uint64(2) {
		in := r.Inputs(seed)
		alone, err := r.NewAlone(path, m, in, nil)
		require.NoError(t, err)
		want, err := alone.Run()
		require.NoError(t, err)
		require.NoError(t, alone.Close())
		out, err := sess.Run(t.Context(), upload(t, s, r, in))
		require.NoError(t, err)
		for name, list := range want {
			y, err := out.Tensor(name)
			require.NoError(t, err)
			got, err := tensor.Values[float32](y)
			require.NoError(t, err)
			require.InDeltaSlice(t, list, got, 1e-5, name)
		}
		require.NoError(t, out.Release())
	}
}
