package onnxruntime_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
	ort "github.com/yalue/onnxruntime_go"
)

// real is a model of a package that setup.sh installs.
type real struct {
	name   string
	path   string // in that package
	shapes map[string][]int64
}

var reals = []real{
	{"silero", "silero_vad/data/silero_vad.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}, "sr": {}}},
	{"silero-op15", "silero_vad/data/silero_vad_16k_op15.onnx", map[string][]int64{"input": {2, 576}, "state": {2, 2, 128}, "sr": {}}},
	{"silero-op18", "silero_vad/data/silero_vad_op18_ifless.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}, "sr": {}}},
	{"silero-half", "silero_vad/data/silero_vad_half.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}}},
	{"silero-sequence", "silero_vad/data/silero_vad_16k_sequence.onnx", map[string][]int64{"input": {3, 576}, "h": {1, 1, 128}, "c": {1, 1, 128}}},
	{"silero-openvino", "silero_vad/data/silero_vad_openvino_16k.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}}},
	{"ocr-find", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", map[string][]int64{"x": {1, 3, 160, 224}}},
	{"ocr-read", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", map[string][]int64{"x": {1, 3, 48, 160}}},
	{"ocr-turn", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", map[string][]int64{"x": {2, 3, 48, 192}}},
}

// inputs makes up what a model takes: noise, and 16000 as the rate of samples.
func (r *real) inputs(rng *rand.Rand) map[string]any {
	in := map[string]any{}
	for name, shape := range r.shapes {
		if name == "sr" {
			in[name] = []int64{16000}
			continue
		}
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		list := make([]float32, n)
		for i := range list {
			list[i] = rng.Float32() - .5
		}
		in[name] = list
	}
	return in
}

func (r *real) upload(tb testing.TB, s *tensor.Stream, in map[string]any) onnx.Values {
	out := onnx.Values{}
	for name, list := range in {
		switch list := list.(type) {
		case []float32:
			out[name] = held(tb)(tensor.FromSlice(s, list, r.shapes[name]...))
		case []int64:
			out[name] = held(tb)(tensor.FromSlice(s, list, []int64{}...))
		}
	}
	return out
}

// alone runs a model in ONNX Runtime alone.
func (r *real) alone(tb testing.TB, path string, m *model.Model, in map[string]any) (run func() map[string][]float32) {
	tb.Helper()
	var names, outputs []string
	var values []ort.Value
	for _, i := range m.Graph.Inputs {
		names = append(names, i.Name)
		var v ort.Value
		var err error
		switch list := in[i.Name].(type) {
		case []float32:
			v, err = ort.NewTensor(ort.Shape(r.shapes[i.Name]), list)
		case []int64:
			v, err = ort.NewScalar(list[0])
		}
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, v.Destroy()) })
		values = append(values, v)
	}
	for _, o := range m.Graph.Outputs {
		outputs = append(outputs, o.Name)
	}
	sess, err := ort.NewDynamicAdvancedSession(path, names, outputs, nil)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, sess.Destroy()) })
	return func() map[string][]float32 {
		out := make([]ort.Value, len(outputs))
		require.NoError(tb, sess.Run(values, out))
		lists := map[string][]float32{}
		for i, v := range out {
			lists[outputs[i]] = v.(*ort.Tensor[float32]).GetData()
			require.NoError(tb, v.Destroy())
		}
		return lists
	}
}

// TestModels: real models give the outputs of ONNX Runtime alone to 1e-5, the first time and
// when the shapes of what groups make are known.
func TestModels(t *testing.T) {
	for _, r := range reals {
		t.Run(r.name, func(t *testing.T) {
			path := needed(t, r.path)
			engine := newEngine(t)
			m, err := model.Load(path)
			require.NoError(t, err)
			s := openOn(t, "cpu")
			sess := newSession(t, s, m, engine)
			in := r.inputs(rand.New(rand.NewPCG(1, 2)))
			want := r.alone(t, path, m, in)()
			groups, nodes := 0, 0
			for range 3 {
				sess.OnNode(func(n onnx.NodeReport) {
					if nodes++; n.Group != nil {
						groups++
					}
				})
				out, err := sess.Run(t.Context(), r.upload(t, s, in))
				require.NoError(t, err)
				sess.OnNode(nil)
				for name, list := range want {
					y, err := out.Tensor(name)
					require.NoError(t, err)
					got, err := tensor.Values[float32](y)
					require.NoError(t, err)
					require.InDeltaSlice(t, list, got, 1e-5, name)
				}
				require.NoError(t, out.Release())
			}
			t.Logf("%d groups, %d steps", groups, nodes)
		})
	}
}
