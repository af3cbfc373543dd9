package pipeline_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// TestNil: nil arguments are errors, not panics.
func TestNil(t *testing.T) {
	s := open(t, "cpu")
	good := pipeline.Stages{Inputs: ints, Source: counted(1), Work: turned, Sink: ignore}
	var never context.Context
	var none *pipeline.Array
	for name, call := range map[string]func() error{
		"Run, context": func() error { _, err := pipeline.Run(never, s, good); return err },
		"Run, stream":  func() error { _, err := pipeline.Run(t.Context(), nil, good); return err },
		"Run, stages":  func() error { _, err := pipeline.Run(t.Context(), s, pipeline.Stages{}); return err },
		"Run, result": func() error {
			st := good
			st.Work = func(context.Context, []*tensor.Tensor) ([]*tensor.Tensor, error) { return []*tensor.Tensor{nil}, nil }
			_, err := pipeline.Run(t.Context(), s, st)
			return err
		},
		"Elements":         func() error { _, err := pipeline.Elements[int8](nil); return err },
		"nil.Array.Resize": func() error { return none.Resize(1) },
	} {
		assert.NotPanics(t, func() { assert.ErrorIs(t, call(), device.ErrInvalid, name) }, name)
	}
}
