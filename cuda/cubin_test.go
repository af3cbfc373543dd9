package cuda

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// fillKernel is the kernel of fillOne.
func fillKernel(t *testing.T, dev *Device) (planner.Spec, []byte) {
	l, err := planner.Plan(fillingWords(), dev.driver.target)
	require.NoError(t, err)
	text, err := cudakernels.PTX(l.Spec)
	require.NoError(t, err)
	return l.Spec, text
}

// fillingWords is the operation of fillOne.
func fillingWords() *planner.Operation {
	l := layoutOf(16)
	o := planner.Operation{Op: planner.OpFill}
	o.Operands[planner.Dst] = planner.Operand{Type: layout.Uint32, Layout: &l}
	return &o
}

func layoutOf(n int64) layout.Layout {
	l, err := layout.Contiguous(n)
	if err != nil {
		panic(err)
	}
	return l
}

// fills opens a device with some cubins, and fills words there. It returns the number of
// modules tried.
func fills(t *testing.T, k knobs, files fs.FS) int {
	dev, err := OpenWith(0, Options{Cubins: files})
	require.NoError(t, err)
	q, b := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
	before := k.Count("cuModuleLoadDataEx")
	require.NoError(t, fillOne(dev, q, b))
	assert.EqualValues(t, 0x04030201, words(t, q, b)[15])
	tried := k.Count("cuModuleLoadDataEx") - before
	require.NoError(t, dev.Close())
	return tried
}

// Where a cubin does not load, as the driver is too old, or is for another program, the PTX is
// used.
func TestCubinGivesWay(t *testing.T) {
	k := simulated(t)
	spec, text := fillKernel(t, openTest(t))
	name := cudakernels.CubinName(90, spec, text)
	assert.Equal(t, 1, fills(t, k, fstest.MapFS{}))
	assert.Equal(t, 2, fills(t, k, fstest.MapFS{name: {Data: []byte("\x7fELF, or not")}}))
	assert.Equal(t, 1, fills(t, k, fstest.MapFS{name: {}}))
	assert.Equal(t, 1, fills(t, k, fstest.MapFS{cudakernels.CubinName(90, spec, text[1:]): {Data: []byte("\x7fELF")}}))
	assert.Equal(t, 1, fills(t, k, fstest.MapFS{cudakernels.CubinName(80, spec, text): {Data: []byte("\x7fELF")}}))

	k.turn(t, "FAIL", "cuModuleLoadDataEx=2:after=1") // another error is reported
	dev, err := OpenWith(0, Options{Cubins: fstest.MapFS{name: {Data: []byte("\x7fELF")}}})
	require.NoError(t, err)
	_, err = dev.driver.modules.get(spec)
	require.ErrorContains(t, err, "OUT_OF_MEMORY")
	require.NoError(t, dev.Close())
}

// A kernel compiled by ptxas is loaded, instead of its PTX.
func TestCubin(t *testing.T) {
	ptxas, err := exec.LookPath("../build/nvcc/ptxas")
	devicetest.Require(t, "ptxas", err)
	k := simulated(t)
	spec, text := fillKernel(t, openTest(t))
	in := filepath.Join(t.TempDir(), "kernel.ptx")
	require.NoError(t, os.WriteFile(in, text, 0o600))
	for _, architecture := range cudakernels.Architectures() {
		out := filepath.Join(t.TempDir(), strconv.Itoa(architecture))
		log, err := exec.Command(ptxas, "-arch=sm_"+strconv.Itoa(architecture), "-o", out, in).CombinedOutput()
		require.NoError(t, err, "%s", log)
		image, err := os.ReadFile(out)
		require.NoError(t, err)
		tried := 2 // the one for another GPU is refused
		if architecture == 90 {
			tried = 1
		}
		assert.Equal(t, tried, fills(t, k, fstest.MapFS{cudakernels.CubinName(90, spec, text): {Data: image}}), architecture)
	}
}
