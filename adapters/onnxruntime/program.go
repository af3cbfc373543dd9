package onnxruntime

import (
	"context"
	"errors"
	"sync"

	"github.com/restride/restride/adapters/onnxruntime/internal/ort"
	"github.com/restride/restride/onnx/model"
)

// program is one of ONNX Runtime's sessions.
type program struct {
	session *ort.Session
	outputs []int // of the call's outputs, those that are wanted

	mutex  sync.Mutex
	shapes map[string][]operand // of outputs, by the inputs' shapes
	varies bool                 // they depend on elements, too
}

// compile makes a program for inputs of certain types.
func (o *operator) compile(in []operand) (*program, error) {
	p := &program{shapes: map[string][]operand{}}
	var outputs []model.ValueInfo
	for i, name := range o.outputs {
		if name != "" {
			p.outputs = append(p.outputs, i)
			outputs = append(outputs, model.ValueInfo{Name: name})
		}
	}
	m := o.graph(in, outputs)
	weights, err := external(m)
	if err != nil {
		return nil, err
	}
	if p.session, err = o.session(m, o.engine.options.session(weights)); err != nil {
		return nil, err
	}
	return p, nil
}

// session makes one of ONNX Runtime's sessions.
func (o *operator) session(m *model.Model, options *ort.Options) (*ort.Session, error) {
	b, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	s, err := ort.New(b, namesOf(m.Graph.Inputs)[:len(o.takes)], namesOf(m.Graph.Outputs), options)
	return s, ort.Failed(err)
}

func namesOf(values []model.ValueInfo) []string {
	names := make([]string, len(values))
	for i := range values {
		names[i] = values[i].Name
	}
	return names
}

// describe makes ONNX Runtime infer the types of the wanted outputs, for inputs of these shapes.
func (o *operator) describe(in []operand) ([]ort.Info, error) {
	var outputs []model.ValueInfo
	for _, name := range o.outputs {
		if name != "" {
			outputs = append(outputs, model.ValueInfo{Name: name})
		}
	}
	m := o.graph(in, outputs)
	withoutWeights(m)
	options := o.engine.options.session(nil)
	options.Plain = true
	s, err := o.session(m, options)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	infos, err := s.Outputs()
	return infos, ort.Failed(err)
}

// shapesFor returns the shapes of outputs, if they are known.
func (p *program) shapesFor(key string) []operand {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.shapes[key]
}

// learn notes the shapes of outputs, for runs with the same shapes of inputs. again: they were
// known, and wrong.
func (p *program) learn(key string, shapes []operand, again bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	const most = 256
	if p.varies = p.varies || again; p.varies || len(p.shapes) == most {
		clear(p.shapes)
	}
	if !p.varies {
		p.shapes[key] = shapes
	}
}

// call runs the session.
func (p *program) call(ctx context.Context, in, out []*ort.Value) error {
	err := p.session.Run(ctx, in, out)
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return ort.Failed(err)
}
