package cuda

import (
	_ "embed" // the user's kernels
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/internal/planner"
)

//go:embed testdata/user.ptx
var userPTX []byte

func TestUserKernels(t *testing.T) {
	devicetest.Kernels(t, openTest(t), openTest(t), func(dev device.Device, name string) (device.Kernel, error) {
		return dev.(*Device).Load(userPTX, name)
	})
}

// Numbers of all widths, a struct, loops, and private memory.
func TestLoadKinds(t *testing.T) {
	dev := openTest(t)
	k, err := dev.Load(append(userPTX, 0), "kinds")
	require.NoError(t, err)
	q, y := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
	gputest.Fill(t, q, y, 0)
	pair := binary.LittleEndian.AppendUint32([]byte{4, 0, 0, 0}, math.Float32bits(-2.5))
	const n = 50
	require.NoError(t, q.Launch(k, device.Dim3{2}, device.Dim3{1}, y, -3, uint16(65535), pair, float64(7.9), n))
	sum, at := int32(0), uint32(0)
	for i := range int32(n) {
		if i%7 == 3 {
			sum += i / 3
		} else {
			sum -= i
		}
	}
	for i := range uint32(8) {
		if (i*3+n)&7 == n&7 {
			at = i
		}
	}
	by := float32(7.9)
	minus := int32(-3)
	want := []uint32{uint32(minus), 65535, 4, ^uint32(1), 7, uint32(sum), uint32(int32(float32(sum) * -2.5 / by)), at, 2 * n}
	assert.Equal(t, want, words(t, q, y)[:len(want)])
	for says, args := range map[string][]any{
		"argument 1 for parameter 1, .u8 kinds_param_1, is an int of value 200, which 1 bytes do not hold": {y, 200},
		"is int32 of 4 bytes; the parameter has 2":                                                         {y, 1, int32(1)},
		"is []byte of 4 bytes; the parameter has 8":                                                        {y, 1, 1, []byte{1, 2, 3, 4}},
		".f64 kinds_param_4, is an int, which that is not":                                                 {y, 1, 1, pair, 5},
		".b8 kinds_param_3, is float32, which that is not":                                                 {y, 1, 1, float32(1)},
		"6 arguments, which fill 5 parameters":                                                             {y, 1, 1, pair, 7.9, device.Local(1 << 31)},
		"makes more local memory than there is":                                                            {y, 1, 1, pair, 7.9, 1, device.Local(1 << 31), device.Local(1 << 31)},
	} {
		err := q.Launch(k, device.Dim3{1}, device.Dim3{1}, args...)
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, says)
	}
}

func TestLoadErrors(t *testing.T) {
	dev := openTest(t)
	cut := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 40)...)
	for says, c := range map[string]struct {
		image []byte
		name  string
	}{
		`Load of kernel "scales": Load: the PTX has no such kernel; it has "kinds", "scale", "turned", "wild"`: {userPTX, "scales"},
		"is no kernel's name":         {userPTX, ""},
		"bytes are neither PTX":       {[]byte("kernel void f() {}"), "f"},
		"the 0 bytes are neither PTX": {nil, "f"},
		"cannot be read":              {[]byte(".version 6.0\n.entry f(.param .u64"), "f"},
		"the cubin is damaged":        {cut, "f"},
		"it has none":                 {[]byte(".version 6.0\n.target sm_70"), "f"},
	} {
		_, err := dev.Load(c.image, c.name)
		require.ErrorIs(t, err, device.ErrInvalid, says)
		assert.ErrorContains(t, err, says)
	}
	_, err := dev.Load([]byte(strings.Replace(string(userPTX), "mad.lo.s32", "nonsense", 1)), "scale")
	require.ErrorIs(t, err, device.ErrDriver)
	var failed *device.DriverError
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, failed.Log, "nonsense")
	require.NoError(t, dev.Close())
	_, err = dev.Load(userPTX, "scale")
	require.ErrorIs(t, err, device.ErrClosed)
}

// An error of a user's kernel is an error of the work, as for any kernel.
func TestUserKernelFaults(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := inChild(t, "^TestUserKernelFaults$")
		require.NoError(t, err, "%s", out)
		return
	}
	for _, at := range []int{16, 1 << 40, -1} {
		dev := openTest(t)
		k, err := dev.Load(userPTX, "wild")
		require.NoError(t, err)
		q, y := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
		require.NoError(t, q.Launch(k, device.Dim3{1}, device.Dim3{1}, y, at))
		require.ErrorIs(t, q.Wait(), ErrLost)
		_ = dev.Close()
	}
}

// olderDriver does not report a kernel's parameters.
type olderDriver struct{ api }

func (olderDriver) parameter(cuFunction, int) (int, bool, error) { return 0, false, errNoParameters }

// A cubin's parameters come from the driver.
func TestLoadCubin(t *testing.T) {
	ptxas, err := exec.LookPath("../build/nvcc/ptxas")
	devicetest.Require(t, "ptxas", err)
	dev := openTest(t)
	l, err := planner.Plan(fillingWords(), dev.driver.target)
	require.NoError(t, err)
	spec, text := fillKernel(t, dev)
	in, out := filepath.Join(t.TempDir(), "kernel.ptx"), filepath.Join(t.TempDir(), "kernel.cubin")
	require.NoError(t, os.WriteFile(in, text, 0o600))
	log, err := exec.Command(ptxas, "-arch=sm_90", "-o", out, in).CombinedOutput()
	require.NoError(t, err, "%s", log)
	image, err := os.ReadFile(out)
	require.NoError(t, err)
	k, err := dev.Load(image, spec.String())
	require.NoError(t, err)
	q, y := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
	err = q.Launch(k, device.Dim3{1}, device.Dim3{1}, y)
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "1 arguments, which fill 1 parameters; the kernel has 7")
	params, value := l.Params[:spec.ParameterBytes()], uint64(0x0403020104030201)
	require.NoError(t, q.Launch(k, device.Dim3{l.Groups}, device.Dim3{l.Local}, y, y, params, 0, 0, value, value))
	assert.EqualValues(t, 0x04030201, words(t, q, y)[15])
	err = q.Launch(k, device.Dim3{l.Groups}, device.Dim3{l.Local}, y, y, params[8:], 0, 0, value, value)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = dev.Load(image[:len(image)/2], spec.String())
	require.ErrorIs(t, err, device.ErrInvalid)

	// A driver that does not report them, and one that fails.
	s := simulated(t)
	told := dev.driver.api
	dev.driver.api = olderDriver{told}
	_, err = dev.Load(image, spec.String())
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "load PTX")
	_, err = dev.Load(userPTX, "scale")
	require.NoError(t, err)
	dev.driver.api = told
	s.turn(t, "FAIL", "cuFuncGetParamInfo=801")
	unloaded := s.Count("cuModuleUnload")
	_, err = dev.Load(image, spec.String())
	require.ErrorIs(t, err, device.ErrDriver)
	assert.EqualValues(t, unloaded+1, s.Count("cuModuleUnload"))
}

// TestKernelExample runs the example program on the simulator.
func TestKernelExample(t *testing.T) {
	path, err := cudasim.Path()
	devicetest.Require(t, "compilers", err)
	cmd := exec.Command("go", "run", "../examples/kernel/cuda")
	cmd.Env = append(os.Environ(), library+"="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "float[3,2] on cuda:0:\n[[10. 40.]\n [20. 50.]\n [30. 60.]]\n", string(out))
}

func TestLibrary(t *testing.T) {
	openTest(t)
	path, handle, err := Library()
	require.NoError(t, err)
	assert.Contains(t, path, "libcuda")
	assert.NotZero(t, handle)
}

func FuzzReadEntries(f *testing.F) {
	f.Add(string(userPTX))
	f.Add(".version 6.0 .entry f(.param .align 8 .b8 x[24], .param .u64 .ptr .global .align 1 y)")
	f.Fuzz(func(t *testing.T, text string) {
		kernels, err := readEntries(text)
		if err != nil {
			require.ErrorIs(t, err, device.ErrInvalid)
		}
		for _, parameters := range kernels {
			for _, p := range parameters {
				require.Positive(t, p.Bytes)
			}
		}
	})
}
