// Package models lists real models in packages of PyPI, for tests and figures, and runs them in
// ONNX Runtime alone.
package models

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/restride/restride/onnx/model"
	ort "github.com/yalue/onnxruntime_go"
)

// Model is a model, and the extents of its inputs.
type Model struct {
	Name   string
	Path   string // below the folder of installed packages
	Shapes map[string][]int64
}

// All are silero-vad's speech detection (of 576 samples, 36 ms), and rapidocr's detection,
// recognition and rotation of text in pictures.
var All = []Model{
	{"silero_vad", "silero_vad/data/silero_vad.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}, "sr": {}}},
	{"silero_vad_16k_op15", "silero_vad/data/silero_vad_16k_op15.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}, "sr": {}}},
	{"silero_vad_op18_ifless", "silero_vad/data/silero_vad_op18_ifless.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}, "sr": {}}},
	{"silero_vad_half", "silero_vad/data/silero_vad_half.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}}},
	{"silero_vad_16k_sequence", "silero_vad/data/silero_vad_16k_sequence.onnx", map[string][]int64{"input": {100, 576}, "h": {1, 1, 128}, "c": {1, 1, 128}}},
	{"silero_vad_openvino_16k", "silero_vad/data/silero_vad_openvino_16k.onnx", map[string][]int64{"input": {1, 576}, "state": {2, 1, 128}}},
	{"ch_PP-OCRv4_det", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", map[string][]int64{"x": {1, 3, 320, 320}}},
	{"ch_PP-OCRv4_rec", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", map[string][]int64{"x": {1, 3, 48, 320}}},
	{"ch_ppocr_mobile_v2.0_cls", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", map[string][]int64{"x": {6, 3, 48, 192}}},
}

// Inputs makes the inputs of a model: noise as []float32, and []int64 of 16000 as the rate of
// samples.
func (m *Model) Inputs(seed uint64) map[string]any {
	rng := rand.New(rand.NewPCG(seed, 0))
	in := map[string]any{}
	for name, shape := range m.Shapes {
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

// Alone is a model in ONNX Runtime alone, with inputs.
type Alone struct {
	session *ort.DynamicAdvancedSession
	inputs  []ort.Value
	outputs []string
}

// NewAlone loads a file, whose content is m. ONNX Runtime must have been initialised.
func (r *Model) NewAlone(path string, m *model.Model, in map[string]any, options *ort.SessionOptions) (*Alone, error) {
	a := &Alone{}
	var names []string
	for _, i := range m.Graph.Inputs {
		var v ort.Value
		var err error
		switch list := in[i.Name].(type) {
		case []float32:
			v, err = ort.NewTensor(slices.Clone(r.Shapes[i.Name]), list)
		case []int64:
			v, err = ort.NewScalar(list[0])
		}
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		names, a.inputs = append(names, i.Name), append(a.inputs, v)
	}
	for _, o := range m.Graph.Outputs {
		a.outputs = append(a.outputs, o.Name)
	}
	var err error
	if a.session, err = ort.NewDynamicAdvancedSession(path, names, a.outputs, options); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Run returns the outputs.
func (a *Alone) Run() (map[string][]float32, error) {
	out := make([]ort.Value, len(a.outputs))
	if err := a.session.Run(a.inputs, out); err != nil {
		return nil, err
	}
	lists := map[string][]float32{}
	var errs []error
	for i, v := range out {
		if x, ok := v.(*ort.Tensor[float32]); ok {
			lists[a.outputs[i]] = x.GetData()
		} else {
			errs = append(errs, fmt.Errorf("output %s is a %T", a.outputs[i], v))
		}
		errs = append(errs, v.Destroy())
	}
	return lists, errors.Join(errs...)
}

// Close releases the session and the inputs.
func (a *Alone) Close() error {
	var errs []error
	if a.session != nil {
		errs = append(errs, a.session.Destroy())
	}
	for _, v := range a.inputs {
		errs = append(errs, v.Destroy())
	}
	return errors.Join(errs...)
}
