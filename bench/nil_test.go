package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
)

// TestNil: nil arguments are errors, not panics.
func TestNil(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	var never context.Context
	_, err = Run(never, dev, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Run(t.Context(), nil, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = NewOperands(nil, parse(t, "copy/int8/3/dst=1@0/src=1@0"))
	require.ErrorIs(t, err, device.ErrInvalid)
}
