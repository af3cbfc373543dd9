package cuda

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudasim"
)

// Tests run on the library that RESTRIDE_LIBCUDA names, else on the machine's GPUs, else on the
// simulator. With the tag gorgonia, it is the library that the system's loader finds: make
// gorgonia makes it find the simulator, and names it.
func TestMain(m *testing.M) {
	if os.Getenv(library) == "" && !gpuHere() {
		if path, err := cudasim.Path(); err == nil {
			_ = os.Setenv(library, path)
		}
	}
	os.Exit(m.Run())
}

const library = cudasim.Variable

// openTest opens the first device, or ends the test.
func openTest(tb testing.TB) *Device {
	tb.Helper()
	if os.Getenv(library) == "" && !gpuHere() {
		_, err := cudasim.Path()
		devicetest.Require(tb, "cuda", err)
	}
	dev, err := OpenWith(0, Options{})
	devicetest.Require(tb, "cuda", err)
	devicetest.Keep(dev.Info(), func() (device.Device, error) { return OpenWith(0, Options{}) })
	tb.Cleanup(func() { _ = dev.Close() })
	return dev
}

// knobs are the simulator's, in a test.
type knobs struct{ cudasim.Knobs }

// simulated returns the knobs, or skips a test that runs on a real driver.
func simulated(t *testing.T) knobs {
	t.Helper()
	require.NoError(t, openTest(t).Close())
	k, err := cudasim.Loaded()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this is a GPU: ", err)
	}
	require.NoError(t, err)
	return knobs{k}
}

// turn turns a knob until the test ends.
func (k knobs) turn(t *testing.T, name, value string) {
	k.Set(name, value)
	t.Cleanup(func() { k.Set(name, "") })
}

// child is a variable that tells a test that it runs in a process of its own.
const child = "RESTRIDE_TEST_CHILD"

// inChild runs a test again on the simulator, in a process of its own with more variables, and
// returns its output.
func inChild(t *testing.T, test string, env ...string) (string, error) {
	t.Helper()
	path, err := cudasim.Path()
	devicetest.Require(t, "compilers", err)
	cmd := exec.Command(os.Args[0], "-test.run="+test, "-test.v", "-test.short", "-test.timeout=1h")
	cmd.Env = append(os.Environ(), child+"=1", library+"="+path, "LD_LIBRARY_PATH="+filepath.Dir(path), "GORACE=exitcode=66", "RESTRIDE_SOAK=")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// lines returns the lines of a text that hold a word.
func lines(text, word string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// words reads words of a buffer.
func words(t *testing.T, q device.Queue, b device.Buffer) []uint32 {
	t.Helper()
	raw := make([]byte, b.Size())
	require.NoError(t, q.Read(raw, b, 0))
	w := make([]uint32, len(raw)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return w
}
