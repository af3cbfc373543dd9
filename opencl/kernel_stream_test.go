package opencl_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

const addSource = `
	kernel void add(global int *y, long yOff, int yn, int y0, global const int *x, long xOff, int xn, int x0) {
		size_t i = get_global_id(0);
		y[yOff + i*y0] += x[xOff + i*x0];
	}`

// TestStreamLaunch: tensors as arguments, also of other streams, in order.
func TestStreamLaunch(t *testing.T) {
	listed(t)
	dev, err := opencl.OpenWith(0, opencl.Options{})
	require.NoError(t, err)
	k, err := dev.Compile(addSource, "add", "")
	require.NoError(t, err)
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	other, err := tensor.NewStream(dev)
	require.NoError(t, err)
	x, err := tensor.FromSlice(other, []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	column, err := x.Slice(1, 2, 3, 1)
	require.NoError(t, err)
	column, err = column.Reshape(2)
	require.NoError(t, err)
	y, err := tensor.FromSlice(s, []int32{10, 20})
	require.NoError(t, err)
	reversed, err := y.Flip()
	require.NoError(t, err)
	grid := device.Dim3{2}
	require.NoError(t, s.Launch(k, grid, device.Dim3{1}, device.Strided(reversed), device.Strided(column)))
	got, err := tensor.Values[int32](y)
	require.NoError(t, err)
	assert.Equal(t, []int32{16, 23}, got)

	require.NoError(t, column.Release())
	var none *tensor.Tensor
	far, err := tensor.New(tensor.Host(), layout.Int32, 2)
	require.NoError(t, err)
	before := dev.Stats().Launches
	for says, x := range map[string]any{
		"argument 1: Launch of int32[2]: invalid: the tensor has been released":           device.Strided(column),
		"argument 1: Launch: the tensor is nil":                                           none,
		"Launch of int32[2]: argument 1 is on device cpu, the kernel on opencl:0: To bri": device.Strided(far),
	} {
		err := s.Launch(k, grid, device.Dim3{1}, device.Strided(y), x)
		require.ErrorIs(t, err, device.ErrInvalid, says)
		assert.ErrorContains(t, err, says)
	}
	assert.Equal(t, before, dev.Stats().Launches)
	require.ErrorIs(t, tensor.Host().Launch(k, grid, grid), device.ErrInvalid, "a kernel of another device")
	var nowhere *tensor.Stream
	require.ErrorIs(t, nowhere.Launch(k, grid, grid), device.ErrInvalid)
	require.NoError(t, dev.Close())
}

// TestKernelExample runs the program of docs/embedding.md.
func TestKernelExample(t *testing.T) {
	listed(t)
	if _, err := exec.LookPath("go"); err != nil {
		devicetest.Require(t, "compilers", err)
	}
	out, err := exec.Command("go", "run", "../examples/kernel/opencl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "float[3,2] on opencl:0:\n[[10. 40.]\n [20. 50.]\n [30. 60.]]\n", string(out))
}
