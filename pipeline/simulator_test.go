package pipeline_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/pipeline"
)

// TestOnSimulator runs all tests again on the simulated CUDA driver, whose streams wait at
// random before each piece of work.
func TestOnSimulator(t *testing.T) {
	for name, env := range map[string][]string{
		"Fast":           {"RESTRIDE_SIM_SEED=1"},
		"Slow":           {"RESTRIDE_SIM_DELAY=100", "RESTRIDE_SIM_SEED=2"},
		"NoPools":        {"RESTRIDE_SIM_FAIL=cuMemAllocFromPoolAsync=801,cuMemAllocAsync=801,cuMemFreeAsync=801", "RESTRIDE_SIM_DELAY=50", "RESTRIDE_SIM_SEED=3"},
		"NoPinnedMemory": {"RESTRIDE_SIM_FAIL=cuMemHostAlloc=2", "RESTRIDE_SIM_DELAY=50", "RESTRIDE_SIM_SEED=4"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "Slow" {
				t.Skip("-short: Slow alone")
			}
			out, err := onSimulator(t, ".", env...)
			require.NoError(t, err, "%s", out)
			for _, test := range []string{"Results", "Overlap", "Errors", "Cancel"} {
				assert.Contains(t, out, "--- PASS: Test"+test+"/cuda:0 ", "%s", out)
			}
		})
	}
}

// If streams do not wait for each other, results are wrong, and the tests detect it.
func TestMissingWaitIsSeen(t *testing.T) {
	// Delays far beyond the duration of the host's calls, on any load.
	out, err := onSimulator(t, "^TestResults$", "RESTRIDE_SIM_PLANT=skipwait", "RESTRIDE_SIM_DELAY=3000", "RESTRIDE_SIM_SEED=1")
	require.Error(t, err, "TestResults passed")
	assert.Contains(t, out, "--- FAIL: TestResults/cuda:0")
	assert.NotContains(t, out, "panic:")
}

// A device that is lost during work ends the pipeline with its error.
func TestLostDevice(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := onSimulator(t, "^TestLostDevice$", "RESTRIDE_SIM_PLANT=oob", "RESTRIDE_SIM_DELAY=100")
		require.NoError(t, err, "%s", out)
		require.Contains(t, out, "--- PASS: TestLostDevice")
		return
	}
	if os.Getenv("RESTRIDE_SIM_PLANT") != "oob" {
		t.Skip("the device is well")
	}
	s := openFaulty(t)
	stats, err := pipeline.Run(deadline(t), s, pipeline.Stages{
		Inputs: ints, Depth: 3, Source: counted(100), Work: turned,
		Sink: func(context.Context, []*pipeline.Array) error {
			t.Error("a batch of a lost device reached Sink")
			return nil
		},
	})
	require.ErrorIs(t, err, device.ErrDriver)
	assert.Zero(t, stats.Batches)
	assert.Zero(t, s.Device().Stats().Buffers)
	assert.Equal(t, 1, strings.Count(err.Error(), "pipeline: "), "%v", err)
	t.Log(err)
}
