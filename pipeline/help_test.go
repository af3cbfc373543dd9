package pipeline_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// child is a variable that tells a test that it runs on the CUDA simulator, in a
// process of its own.
const child = "RESTRIDE_TEST_CHILD"

// each runs a test on every device of the machine, and checks that it leaves
// nothing behind.
func each(t *testing.T, f func(t *testing.T, s *tensor.Stream)) {
	t.Helper()
	names := []string{"cuda:0"}
	if os.Getenv(child) == "" {
		names = nil
		all, _ := device.List() // absent backends do not matter
		for _, info := range all {
			names = append(names, info.ID())
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { f(t, open(t, name)) })
	}
}

// open opens a device whose memory must be free again when the test ends.
func open(t *testing.T, name string) *tensor.Stream {
	t.Helper()
	s, err := tensor.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() {
		after := s.Device().Stats()
		require.Zero(t, after.Buffers)
		require.Zero(t, after.Live)
		require.NoError(t, s.Close())
	})
	tensor.CheckLeaks(t, s)
	return s
}

// openFaulty opens a device that may be unusable in the end.
func openFaulty(t *testing.T) *tensor.Stream {
	t.Helper()
	s, err := tensor.Open("cuda:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	tensor.CheckLeaks(t, s)
	return s
}

// deadline ends tests that would otherwise wait for ever.
func deadline(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(stop)
	return ctx
}

// simulator builds the simulated CUDA driver, once, or skips the test.
func simulator(t *testing.T) string {
	t.Helper()
	path, err := cudasim.Path()
	devicetest.Require(t, "cuda", err)
	return path
}

// onSimulator runs tests again on the simulator and returns their output.
func onSimulator(t *testing.T, tests string, env ...string) (string, error) {
	t.Helper()
	if os.Getenv(child) != "" {
		t.Skip("in a process of its own")
	}
	cmd := exec.Command(os.Args[0], "-test.run="+tests, "-test.v", "-test.short", "-test.timeout=300s")
	cmd.Env = append(os.Environ(), child+"=1", cudasim.Variable+"="+simulator(t), "GORACE=exitcode=66")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// counted is a source of a number of batches of one input of int32, whose elements are all the
// batch's number.
func counted(batches int) func(context.Context, []*pipeline.Array) error {
	number := 0
	return func(_ context.Context, in []*pipeline.Array) error {
		if number == batches {
			return io.EOF
		}
		raw := in[0].Bytes()
		for i := 0; i < len(raw); i += 4 {
			binary.LittleEndian.PutUint32(raw[i:], uint32(number))
		}
		number++
		return nil
	}
}

var ints = []pipeline.Input{{Type: layout.Int32, Dims: []int64{4, 8}}}

// turned is work on counted batches.
func turned(_ context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	x, err := in[0].Transpose()
	if err != nil {
		return nil, err
	}
	defer x.Release()
	y, err := x.Clone()
	return []*tensor.Tensor{y}, err
}

// ignore is a sink.
func ignore(context.Context, []*pipeline.Array) error { return nil }

// random fills bytes with the random numbers of a seed.
func random(b []byte, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 4))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}
