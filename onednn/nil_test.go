package onednn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/onednn"
	"github.com/restride/restride/tensor"
)

// TestNil: nil arguments are errors, not panics.
func TestNil(t *testing.T) {
	x, err := tensor.FromHost([]float32{1, 2})
	require.NoError(t, err)
	defer x.Release()
	shape, err := tensor.FromHost([]int64{2})
	require.NoError(t, err)
	defer shape.Release()
	only := func(_ any, err error) error { return err }
	for name, call := range map[string]func() error{
		"StaticReshape":         func() error { return only(onednn.StaticReshape(nil, []int64{2}, false)) },
		"StaticReshape, shape":  func() error { return only(onednn.StaticReshape(x, nil, false)) },
		"DynamicReshape":        func() error { return only(onednn.DynamicReshape(nil, shape, false)) },
		"DynamicReshape, shape": func() error { return only(onednn.DynamicReshape(x, nil, false)) },
	} {
		assert.NotPanics(t, func() { assert.ErrorIs(t, call(), device.ErrInvalid, name) }, name)
	}
}
