package gpu_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// Preload loads each kernel once, returns the errors of all that fail, and loads the others.
func TestPreload(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	var _ device.Preloader = dev
	require.NoError(t, dev.Preload(layout.Float32))
	assert.ElementsMatch(t, planner.Target{}.Kernels(layout.Float32), f.loaded)
	f.loaded = nil
	one, two := errors.New("one"), errors.New("two")
	f.fail("LoadKernel", one)
	f.fail("LoadKernel", two)
	err := dev.Preload()
	require.ErrorIs(t, err, one)
	require.ErrorIs(t, err, two)
	assert.Len(t, f.loaded, len(planner.Target{}.Kernels())-2)
	require.NoError(t, dev.Close())
	require.ErrorIs(t, dev.Preload(), device.ErrClosed)
}
