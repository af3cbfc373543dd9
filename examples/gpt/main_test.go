package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// small is a decoder whose steps the simulator of CUDA interprets in a moment.
var small = sizes{layers: 2, heads: 2, width: 16, vocabulary: 24, positions: 12, dtype: layout.Float32}

// onDevices runs a test on every kind of device.
func onDevices(t *testing.T, f func(t *testing.T, s *tensor.Stream)) {
	for _, name := range []string{"cpu", "opencl:0", "cuda:0"} {
		t.Run(name, func(t *testing.T) {
			backend, _, _ := strings.Cut(name, ":")
			if backend == "cuda" && os.Getenv(cudasim.Variable) == "" {
				path, err := cudasim.Path()
				devicetest.Require(t, backend, err)
				t.Setenv(cudasim.Variable, path)
			}
			dev, err := device.Open(name)
			devicetest.Require(t, backend, err)
			s, err := tensor.NewStream(dev)
			require.NoError(t, err)
			t.Cleanup(func() {
				require.NoError(t, s.Wait())
				require.Zero(t, dev.Stats().Buffers, "buffers left in use")
				require.NoError(t, errors.Join(s.Close(), dev.Close()))
			})
			f(t, s)
		})
	}
}

// exported returns the path of a model, without endings.
func exported(t *testing.T, z sizes) string {
	path := filepath.Join(t.TempDir(), "gpt")
	require.NoError(t, z.export(path))
	return path
}

func newTestDecoder(t *testing.T, s *tensor.Stream, path string, batch int64) *decoder {
	m, err := load(path)
	require.NoError(t, err)
	d, err := newDecoder(s, m, batch, "none")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.close()) })
	return d
}

// steps are the tokens that a decoder is fed.
func steps(n, batch, vocabulary int64) [][]int64 {
	all := make([][]int64, n)
	for i := range all {
		for k := range batch {
			all[i] = append(all[i], (int64(i)*7+k*5+3)%vocabulary)
		}
	}
	return all
}

// logitsOf returns the logits of steps, one after the other.
func logitsOf(t *testing.T, d *decoder, steps [][]int64) (all []float32) {
	for _, tokens := range steps {
		require.NoError(t, d.set("token", tokens))
		require.NoError(t, d.run(t.Context()))
		logits, err := d.outputs.Tensor("logits")
		require.NoError(t, err)
		values, err := tensor.Values[float32](logits)
		require.NoError(t, err)
		all = append(all, values...)
	}
	return all
}

// reference returns the same by ONNX Runtime.
func reference(t *testing.T, path string, steps [][]int64) []float32 {
	m, err := load(path)
	require.NoError(t, err)
	require.NoError(t, m.Save(path+".bound.onnx"))
	tokens, err := json.Marshal(steps)
	require.NoError(t, err)
	missing := fs.ErrNotExist
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		cmd := exec.Command(python, "testdata/reference.py", path+".bound.onnx", string(tokens))
		cmd.Env = append(os.Environ(), "PYTHONPATH=../../build/onnxruntime")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 3 {
			missing = fmt.Errorf("%w; %s: %w %s", missing, python, err, &said)
			continue
		}
		require.NoError(t, err, said.String())
		values := make([]float32, len(out)/4)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:]))
		}
		return values
	}
	devicetest.Require(t, "onnxruntime", missing)
	return nil
}

func TestLogits(t *testing.T) {
	const batch = 2
	path, steps := exported(t, small), steps(5, batch, small.vocabulary)
	want := reference(t, path, steps)
	onDevices(t, func(t *testing.T, s *tensor.Stream) {
		got := logitsOf(t, newTestDecoder(t, s, path, batch), steps)
		assert.InDeltaSlice(t, want, got, 1e-5)
	})
}
