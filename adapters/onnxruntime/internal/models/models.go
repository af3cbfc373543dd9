// Package models lists real models in packages of PyPI, for tests and figures, and runs models
// in ONNX Runtime alone.
package models

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/restride/restride/adapters/onnxruntime/internal/ort"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// Library returns the path of ONNX Runtime's library: the given one, or where setup.sh installs it.
func Library(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	found, _ := filepath.Glob("../../build/onnxruntime/onnxruntime/capi/libonnxruntime.so.*")
	if len(found) == 0 {
		return "", errors.New("-library: no library is named, and setup.sh has installed none")
	}
	return found[0], nil
}

// Model is a model, and its inputs.
type Model struct {
	Name   string
	Path   string // below the folder of installed packages
	Inputs Random
}

// All are silero-vad's speech detection (of 576 samples, 36 ms), and rapidocr's detection,
// recognition and rotation of text in pictures.
var All = []Model{
	{"silero_vad", "silero_vad/data/silero_vad.onnx", speech},
	{"silero_vad_16k_op15", "silero_vad/data/silero_vad_16k_op15.onnx", speech},
	{"silero_vad_op18_ifless", "silero_vad/data/silero_vad_op18_ifless.onnx", speech},
	{"silero_vad_half", "silero_vad/data/silero_vad_half.onnx", speech},
	{"silero_vad_16k_sequence", "silero_vad/data/silero_vad_16k_sequence.onnx", Random{Shapes: Pairs{"input": "100x576", "h": "1x1x128", "c": "1x1x128"}}},
	{"silero_vad_openvino_16k", "silero_vad/data/silero_vad_openvino_16k.onnx", speech},
	{"ch_PP-OCRv4_det", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", Random{Shapes: Pairs{"x": "1x3x320x320"}}},
	{"ch_PP-OCRv4_rec", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", Random{Shapes: Pairs{"x": "1x3x48x320"}}},
	{"ch_ppocr_mobile_v2.0_cls", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", Random{Shapes: Pairs{"x": "6x3x48x192"}}},
}

var speech = Random{Shapes: Pairs{"input": "1x576", "state": "2x1x128"}, Fills: Pairs{"sr": "16000"}}

// Alone is a model in ONNX Runtime alone.
type Alone struct {
	session         *ort.Session
	inputs, Outputs []string
}

// Open loads a file whose graph has the given inputs and outputs. An engine must have been made.
func Open(path string, inputs, outputs []model.ValueInfo) (*Alone, error) {
	a := &Alone{}
	for _, v := range inputs {
		a.inputs = append(a.inputs, v.Name)
	}
	for _, v := range outputs {
		a.Outputs = append(a.Outputs, v.Name)
	}
	var err error
	a.session, err = ort.Open(path, a.inputs, a.Outputs, &ort.Options{Config: map[string]string{"session.intra_op.allow_spinning": "0"}})
	return a, ort.Failed(err)
}

// Run runs the model on tensors in the host's memory. The outputs must be released.
func (a *Alone) Run(in onnx.Values) (out []*ort.Value, err error) {
	given := make([]*ort.Value, 0, len(in))
	defer func() {
		for _, v := range given {
			v.Release()
		}
	}()
	for _, name := range a.inputs {
		x, err := in.Tensor(name)
		if err != nil {
			return nil, err
		}
		memory, err := ort.MemoryOf(x)
		if err != nil {
			return nil, err
		}
		v, err := ort.NewTensor(memory, x.DType(), x.Shape())
		if err != nil {
			return nil, ort.Failed(err)
		}
		given = append(given, v)
	}
	out = make([]*ort.Value, len(a.Outputs))
	return out, ort.Failed(a.session.Run(context.Background(), given, out))
}

// Tensors runs the model, and copies the outputs.
func (a *Alone) Tensors(s *tensor.Stream, in onnx.Values) (onnx.Values, error) {
	made, err := a.Run(in)
	if err != nil {
		return nil, err
	}
	out := onnx.Values{}
	for i, v := range made {
		if err == nil {
			var x *tensor.Tensor
			if x, err = v.CopyTo(s); err == nil {
				out[a.Outputs[i]] = x
			}
		}
		v.Release()
	}
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

// Close frees the session.
func (a *Alone) Close() { a.session.Close() }
