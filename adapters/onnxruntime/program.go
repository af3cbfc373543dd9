package onnxruntime

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	ort "github.com/yalue/onnxruntime_go"
)

// program is one of ONNX Runtime's sessions.
type program struct {
	session *ort.DynamicAdvancedSession
	outputs []output

	mutex  sync.Mutex
	shapes map[string][][]int64 // of outputs, by the inputs' shapes
	varies bool                 // they depend on elements, too
}

// output is a wanted output in ONNX Runtime's form.
type output struct {
	operand      // of the value
	ranked  bool // its number of axes is known
	index   int  // of the call's outputs
}

// carried returns the type to which it is converted.
func (o *output) carried() layout.DType { return carrier(o.dtype) }

// unsqueezed reports whether it has an additional axis of 1 in front.
func (o *output) unsqueezed() bool { return !o.ranked || len(o.dims) == 0 }

// compile makes a program for inputs of certain types and ranks.
func (o *operator) compile(in []operand) (*program, error) {
	outputs, err := o.describe(in)
	if err != nil {
		return nil, err
	}
	g := o.graph(in)
	for i := range outputs {
		out := &outputs[i]
		name := o.outputs[out.index]
		switch out.carried() {
		case out.dtype:
		case layout.Invalid:
			return nil, layout.Errorf(device.ErrUnsupported, "onnxruntime", "output %q is of type %v, which ONNX Runtime's Go binding does not give out", name, out.dtype)
		default:
			name = g.cast(name, out.carried())
		}
		if out.unsqueezed() {
			name = g.unsqueezed(name)
		}
		g.output(name)
	}
	p := &program{outputs: outputs, shapes: map[string][][]int64{}}
	err = o.engine.saved(g, func(path string, options *ort.SessionOptions) (err error) {
		p.session, err = ort.NewDynamicAdvancedSession(path, g.inputs, g.outputs, options)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// describe makes ONNX Runtime infer the types and shapes of the outputs.
func (o *operator) describe(in []operand) ([]output, error) {
	describe := func(weights bool) (outputs []output, err error) {
		g := o.graph(in)
		for i, name := range o.outputs {
			if name != "" {
				g.output(g.unsqueezed(name)) // otherwise none would look like an unknown number of axes
				outputs = append(outputs, output{index: i})
			}
		}
		if !weights {
			g.withoutWeights()
		}
		err = o.engine.saved(g, func(path string, options *ort.SessionOptions) error {
			if err := options.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll); err != nil {
				return err
			}
			_, infos, err := ort.GetInputOutputInfoWithOptions(path, options)
			if err != nil {
				return err
			}
			for i := range infos {
				outputs[i].dtype = layout.DType(infos[i].DataType) // both use ONNX's numbers
				if dims := infos[i].Dimensions; len(dims) > 0 {
					outputs[i].dims, outputs[i].ranked = dims[1:], true
				}
			}
			return nil
		})
		return outputs, err
	}
	outputs, err := describe(false)
	if err != nil { // some operators require constant inputs
		outputs, err = describe(true)
	}
	return outputs, err
}

// saved calls f with a file of a graph, which large weights require, and options of a session.
func (e *Engine) saved(g *graph, f func(path string, options *ort.SessionOptions) error) (err error) {
	dir, err := os.MkdirTemp("", "restride-onnxruntime-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "group.onnx")
	const large = 1 << 20
	if err := g.SaveExternal(path, "weights", large); err != nil {
		return err
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, options.Destroy()) }()
	// Spinning threads would take the processor from other groups; errors are returned.
	err = errors.Join(
		options.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
		options.SetLogSeverityLevel(ort.LoggingLevelFatal))
	if err != nil {
		return failed(err)
	}
	if e.options.Session != nil {
		if err := e.options.Session(options); err != nil {
			return err
		}
	}
	return failed(f(path, options))
}

// failed is an error of ONNX Runtime.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return layout.Errorf(device.ErrDriver, "onnxruntime", "%v", err)
}
