package opencl

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/soak"
)

// oclgrind is a driver that interprets kernels, and logs their errors: accesses outside of
// buffers, races between work-items.
const oclgrind = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"

// plant is a fault to be planted in a kernel's source, and the case that shows it.
type plant struct {
	right, wrong string
	copy         string
	log          string // Oclgrind's name for it
}

var plants = map[string]plant{
	"Bounds": {
		right: "to[at + d + j * dApart] = CONVERT(value[j]);",
		wrong: "to[at + d + j * dApart + 4096] = CONVERT(value[j]);",
		copy:  "copy/float/5x7/dst=7,1@0/src=28,4@0",
		log:   "Invalid write",
	},
	"Race": {
		right: "ATOMIC_AND(word, ~mask);\n\t\tATOMIC_OR(word, value & mask);",
		wrong: "*word = (*word & ~mask) | (value & mask);",
		copy:  "copy/uint4/6x3/dst=5,1@0/src=12,4@0",
		log:   "data race",
	},
}

// shuffles are permutations of short axes, whose runs begin anywhere in a word: the table of
// elements must not be read through an address in front of it. Those of 2 to 16 bits at the end
// are matrices that form batch transposes.
var shuffles = []string{
	"copy/uint8/3x3x13x17/dst=663,221,17,1@3/src=663,1,51,3@0",
	"copy/uint8/5x7x13x9/dst=819,117,9,1@5/src=819,13,1,91@2",
	"copy/float16/5x7x13x9/dst=819,117,9,1@1/src=819,13,1,91@2",
	"copy/float/5x7x13x9/dst=819,117,9,1@1/src=819,13,1,91@2",
	"copy/double/5x7x13x9/dst=819,117,9,1@0/src=819,13,1,91@0",
	"copy/complex128/5x7x13x9/dst=819,117,9,1@0/src=819,13,1,91@0",
	"copy/uint2/20x17x49/dst=833,49,1@5/src=1683,1,33@64",
	"copy/uint4/21x9x7/dst=63,7,1@1/src=63,1,9@3",
	"copy/uint8/20x33x33/dst=1089,33,1@1/src=1089,1,33@3",
	"copy/float16/3x33x49/dst=1617,49,1@5/src=3577,1,73@64",
}

// sample is the part of the small suite in which Oclgrind finds errors that other devices do
// not; it needs a quarter of the time.
const sample = "/^(Convert|Runs|Edges|Fields|Random|Take|Put|Map|Where)$/^(Layouts|uint4|float|lane0)$"

var warnings = regexp.MustCompile(`(?m)^\d+ warnings? generated\.\n`)

// TestOclgrind runs the small suite, in a soak all of it, by both planners, on Oclgrind, whose
// log must stay empty; and kernels with planted faults, which it must report.
func TestOclgrind(t *testing.T) {
	if os.Getenv("RESTRIDE_OCLGRIND") != "" {
		underOclgrind(t, os.Getenv("RESTRIDE_OCLGRIND"))
		return
	}
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	t.Parallel() // with TestDevice
	_, err := os.Stat(oclgrind)
	devicetest.Require(t, "oclgrind", err)
	run := func(t *testing.T, what, part, planner string) string {
		// It rounds int64 to float twice, through double: no compared values may show that,
		// neither the casts' own nor those of a random seed.
		cmd := exec.Command(os.Args[0], "-test.run=^TestOclgrind$"+part, "-test.skip=^TestOclgrind$/^Convert$/^Values$", "-test.v")
		// Oclgrind does not support inlined functions that return structs. Without inlining,
		// loops that were to be unrolled remain, and its compiler warns of each.
		cmd.Env = append(os.Environ(), "OCL_ICD_VENDORS="+oclgrind, "OCLGRIND_DATA_RACES=1", "OCLGRIND_BUILD_OPTIONS=-fno-inline",
			"RESTRIDE_OCLGRIND="+what, "RESTRIDE_OPENCL_PLANNER="+planner, "RESTRIDE_CACHE_DIR=off", "RESTRIDE_SEED=1")
		var out, log strings.Builder // each context would empty a file
		cmd.Stdout, cmd.Stderr = &out, &log
		require.NoError(t, cmd.Run(), "%s%s", &out, &log)
		require.Contains(t, out.String(), "--- PASS: TestOclgrind")
		return warnings.ReplaceAllString(log.String(), "")
	}
	part := sample
	if soak.Enabled() {
		part = ""
	}
	for _, planner := range []string{"parallel", "serial"} {
		t.Run("Suite/"+planner, func(t *testing.T) {
			t.Parallel()
			assert.Empty(t, run(t, "Suite", part, planner))
		})
	}
	t.Run("Shuffles", func(t *testing.T) {
		t.Parallel()
		assert.Empty(t, run(t, "Shuffles", "", "parallel"))
	})
	for name, p := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, run(t, name, "", "parallel"), p.log)
		})
	}
}

// underOclgrind is the part of TestOclgrind in a process with that driver.
func underOclgrind(t *testing.T, what string) {
	open := func(t *testing.T) *Device {
		dev, err := OpenWith(0, Options{})
		require.NoError(t, err)
		require.Contains(t, dev.Info().Name, "Oclgrind")
		return dev
	}
	if what == "Suite" {
		devicetest.Suite{Small: true, Lone: true}.Run(t, func(t *testing.T) device.Device { return open(t) })
		return
	}
	if what == "Shuffles" {
		dev := open(t)
		for i, name := range shuffles {
			c, err := oracle.ParseCase(name)
			require.NoError(t, err)
			assert.NoError(t, oracle.Check(dev, c, uint64(i)))
		}
		require.NoError(t, dev.Close())
		return
	}
	p := plants[what]
	dev := open(t)
	source := dev.driver.programs.source
	dev.driver.programs.source = func(s planner.Spec) string {
		text := source(s)
		assert.Contains(t, text, p.right)
		return strings.ReplaceAll(text, p.right, p.wrong)
	}
	c, err := oracle.ParseCase(p.copy)
	require.NoError(t, err)
	_ = oracle.Check(dev, c, 1) // right or wrong: the log counts
	require.NoError(t, dev.Close())
	require.NoError(t, open(t).Close()) // earlier entries of the log must stay
}
