package device

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

func TestErrors(t *testing.T) {
	build := &DriverError{Call: "clBuildProgram", Code: -11, Name: "CL_BUILD_PROGRAM_FAILURE", Log: "line 3: no"}
	err := fmt.Errorf("opencl:0: %w", build)
	require.ErrorIs(t, err, ErrDriver)
	assert.NotErrorIs(t, err, ErrInvalid)
	assert.NotErrorIs(t, err, ErrOutOfMemory)
	var driver *DriverError
	require.ErrorAs(t, err, &driver)
	assert.Equal(t, int64(-11), driver.Code)
	assert.EqualError(t, err, "opencl:0: clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)\n    line 3: no")
	assert.EqualError(t, &DriverError{Call: "cuInit", Code: 100, Name: "CUDA_ERROR_NO_DEVICE"}, "cuInit: CUDA_ERROR_NO_DEVICE (100)")

	require.ErrorIs(t, ErrClosed, ErrInvalid)
	assert.NotErrorIs(t, ErrInvalid, ErrClosed)
	for _, kind := range []error{ErrUnsupported, ErrDriver, ErrOutOfMemory, ErrNoDevice} {
		assert.NotErrorIs(t, kind, ErrInvalid)
	}
}

func TestInfoID(t *testing.T) {
	assert.Equal(t, "cpu", Info{Backend: "cpu", Index: 0}.ID())
	assert.Equal(t, "cuda:1", Info{Backend: "cuda", Index: 1}.ID())
	l, err := layout.Strided([]int64{2, 3}, []int64{3, 1}, 5)
	require.NoError(t, err)
	o := Operand{Layout: l, Type: layout.Float32}
	assert.Equal(t, "float[2,3]:{3,1}+5", o.String())
}
