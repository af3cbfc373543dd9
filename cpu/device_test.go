package cpu_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/internal/simd"
)

func open(t *testing.T) device.Device {
	dev, err := cpu.Open()
	require.NoError(t, err)
	return dev
}

func TestDevice(t *testing.T) {
	if race.Enabled { // it sees no kernels: the best level is enough
		devicetest.Run(t, open)
		return
	}
	cpu.EachLevel(t, func(t *testing.T) { devicetest.Run(t, open) })
}

// Info names the kernels in use, and a variable that names none.
func TestDriverNamesTheLevel(t *testing.T) {
	const asks = "RESTRIDE_TEST_DRIVER"
	if os.Getenv(asks) != "" {
		dev := open(t)
		defer dev.Close()
		_, err := os.Stdout.WriteString(dev.Info().Driver + "\n")
		require.NoError(t, err)
		return
	}
	levels := simd.Levels()
	best := runtime.Version() + ", " + levels[len(levels)-1].String()
	for value, want := range map[string]string{
		"":     best + "\n",
		"go":   runtime.Version() + ", go\n",
		"avx9": best + ` (ignored: RESTRIDE_SIMD="avx9"`,
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDriverNamesTheLevel$")
		cmd.Env = append(os.Environ(), asks+"=1", simd.Variable+"="+value)
		out, err := cmd.Output()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("the system cannot start this program: it is emulated")
		}
		require.NoError(t, err)
		require.Contains(t, string(out), want)
	}
}
