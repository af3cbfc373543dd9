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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// batch is the number of sequences.
const batch = 2

// small is a decoder whose steps the simulator of CUDA interprets in a moment.
var small = sizes{layers: 2, heads: 2, width: 16, vocabulary: 24, positions: 12, dtype: layout.Float32}

// TestMain has CUDA's tests run on the simulator where there is no driver.
func TestMain(m *testing.M) {
	_ = cudasim.Default() // without it they are skipped, or fail by RESTRIDE_REQUIRE
	os.Exit(m.Run())
}

// open returns a stream of a device, which must be empty in the end.
func open(t testing.TB, name string) *tensor.Stream {
	backend, _, _ := strings.Cut(name, ":")
	dev, err := device.Open(name)
	devicetest.Require(t, backend, err)
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Wait())
		require.Zero(t, dev.Stats().Buffers, "buffers left in use")
		require.NoError(t, errors.Join(s.Close(), dev.Close()))
	})
	return s
}

// onDevices runs a test on a device of each kind.
func onDevices(t *testing.T, f func(t *testing.T, s *tensor.Stream)) {
	for _, name := range []string{"cpu", "opencl:0", "cuda:0"} {
		t.Run(name, func(t *testing.T) { f(t, open(t, name)) })
	}
}

// exported returns the path of a model, without endings.
func exported(t testing.TB, z sizes) string {
	path := filepath.Join(t.TempDir(), "gpt")
	require.NoError(t, z.export(path))
	return path
}

func newTestDecoder(t testing.TB, s *tensor.Stream, path, cublas string) *decoder {
	d, err := newDecoder(s, path, cublas, make([]int64, batch))
	t.Cleanup(func() { require.NoError(t, d.close()) })
	require.NoError(t, err)
	return d
}

// steps are the tokens that a decoder is fed.
func steps(n int) (all [][]int64) {
	for i := range int64(n) {
		all = append(all, []int64{(i*7 + 3) % small.vocabulary, i * 5 % small.vocabulary})
	}
	return all
}

// logitsOf returns the logits of steps, one after the other.
func logitsOf(t *testing.T, d *decoder, steps [][]int64) (all []float32) {
	for _, tokens := range steps {
		require.NoError(t, d.begin(tokens))
		require.NoError(t, d.run(t.Context()))
		outputs := d.outputs
		if d.step != nil {
			outputs = d.step.Outputs()
		}
		logits, err := outputs.Tensor("logits")
		require.NoError(t, err)
		logits, err = logits.Cast(layout.Float32, device.Rounding{})
		require.NoError(t, err)
		values, err := tensor.Values[float32](logits)
		require.NoError(t, errors.Join(err, logits.Release()))
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

// The logits are ONNX Runtime's, of planned steps and of captured ones.
func TestLogits(t *testing.T) {
	path, steps := exported(t, small), steps(5)
	want := reference(t, path, steps)
	onDevices(t, func(t *testing.T, s *tensor.Stream) {
		d := newTestDecoder(t, s, path, "none")
		got := logitsOf(t, d, steps)
		assert.InDeltaSlice(t, want, got, 1e-5)

		d = newTestDecoder(t, s, path, "none")
		capture(t, d)
		assert.Equal(t, got, logitsOf(t, d, steps), "captured")
	})
}

func capture(t testing.TB, d *decoder) {
	var err error
	d.step, err = d.session.Capture(t.Context(), d.state, d.into...)
	require.NoError(t, err)
}

// A step moves the new tokens' keys and values, and rows of two tables; it transfers the new
// tokens alone. Memory does not grow.
func TestStepMovesNewTokens(t *testing.T) {
	onDevices(t, func(t *testing.T, s *tensor.Stream) {
		z, n := small, 1000
		if s.Device().Info().Backend == "cuda" && !soak.Enabled() { // the simulator interprets every instruction
			n = 20
		}
		z.layers, z.positions = 1, int64(n)+1
		d := newTestDecoder(t, s, exported(t, z), "none")
		row := z.width * 4 // bytes
		caches, moved := int64(0), int64(0)
		d.session.OnNode(func(n onnx.NodeReport) {
			if moved += n.Bytes; n.Op == "TensorScatter-24" {
				caches += n.Bytes
			}
			assert.Zero(t, n.Read+n.Sent, "%s %s: %s", n.Op, n.Output, n.Why)
		})
		require.NoError(t, d.run(t.Context()))
		d.session.OnNode(nil)
		assert.Equal(t, batch*2*row, caches)
		assert.Equal(t, caches+batch*2*row+batch*2*8, moved, "and embeddings, tokens and places")

		capture(t, d)
		tokens := make([]int64, batch)
		var before device.Stats
		for i := range n {
			if i == 10 {
				before = s.Device().Stats()
			}
			require.NoError(t, d.run(t.Context()))
			require.NoError(t, d.token.ReadInto(tokens))
		}
		after, replays := s.Device().Stats(), int64(n-10)
		assert.Equal(t, replays*moved, after.DeviceToDevice-before.DeviceToDevice)
		assert.Equal(t, replays*batch*8, after.DeviceToHost-before.DeviceToHost)
		assert.Equal(t, before.HostToDevice, after.HostToDevice)
		assert.Equal(t, []int64{before.Live, before.Peak, before.Reserved}, []int64{after.Live, after.Peak, after.Reserved})
	})
}

// An index that is out of range is an error of the step and of its state, not of the weights.
func TestTokenOutOfRange(t *testing.T) {
	onDevices(t, func(t *testing.T, s *tensor.Stream) {
		path, good := exported(t, small), steps(1)
		want := logitsOf(t, newTestDecoder(t, s, path, "none"), good)
		for _, captured := range []bool{false, true} {
			d := newTestDecoder(t, s, path, "none")
			if captured {
				capture(t, d)
			}
			require.NoError(t, d.begin([]int64{1, small.vocabulary}))
			err := d.run(t.Context())
			if err == nil {
				err = d.token.ReadInto(make([]int64, batch))
			}
			require.ErrorIs(t, err, device.ErrInvalid)
			for _, v := range d.state { // the caches have what the step made of it
				x := v.(*tensor.Tensor)
				zeros, err := tensor.New(s, x.DType(), x.Shape()...)
				require.NoError(t, err)
				require.NoError(t, errors.Join(x.CopyFrom(zeros), zeros.Release()))
			}
			assert.Equal(t, want, logitsOf(t, d, good), captured)
		}
	})
}

// cuBLAS multiplies as the kernel does: a stand-in of it, on the simulator.
func TestCuBLAS(t *testing.T) {
	compiler, err := exec.LookPath("g++")
	devicetest.Require(t, "compilers", err)
	s := open(t, "cuda:0")
	lib := filepath.Join(t.TempDir(), "libcublas.so")
	out, err := exec.Command(compiler, "-x", "c", "-O1", "-fPIC", "-shared", "-o", lib, "testdata/cublas.c").CombinedOutput()
	require.NoError(t, err, string(out))
	path, steps := exported(t, small), steps(2)
	d := newTestDecoder(t, s, path, lib)
	require.NotNil(t, d.engine.blas)
	assert.InDeltaSlice(t, logitsOf(t, newTestDecoder(t, s, path, "none"), steps), logitsOf(t, d, steps), 1e-5)
	d, err = newDecoder(s, path, lib+".missing", make([]int64, batch))
	require.ErrorContains(t, err, "missing")
	require.NoError(t, d.close())
}

// Halves are close to floats. (The simulator of CUDA does not compute with them.)
func TestHalf(t *testing.T) {
	s, float, steps := open(t, "opencl:0"), small, steps(2)
	float.layers = 1
	half := float
	half.dtype = layout.Float16
	want := logitsOf(t, newTestDecoder(t, s, exported(t, float), "none"), steps)
	assert.InDeltaSlice(t, want, logitsOf(t, newTestDecoder(t, s, exported(t, half), "none"), steps), .03)
}

// What the engine lacks is named.
func TestErrors(t *testing.T) {
	s := open(t, "cpu")
	path := exported(t, small)
	m, err := model.Load(path + ".onnx")
	require.NoError(t, err)
	for i := range m.Graph.Nodes {
		if n := &m.Graph.Nodes[i]; n.OpType == "Gelu" {
			n.Attrs = nil
		}
	}
	require.NoError(t, m.Save(path+".onnx"))
	d, err := newDecoder(s, path, "", make([]int64, batch))
	require.NoError(t, d.close())
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "Gelu")
	require.ErrorContains(t, sizes{layers: 1, heads: 3, width: 16, vocabulary: 1, positions: 1}.export(path), "a multiple of the heads")
	half := small
	half.dtype = layout.Float16
	d, err = newDecoder(s, exported(t, half), "", make([]int64, batch))
	require.ErrorContains(t, err, "cpu has no kernels for float16")
	require.NoError(t, d.close())
}

// The Go code of docs/embedding.md's section is the example's, and the engine is as short as that
// says.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/embedding.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## A small engine\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	code, lines := "", 0
	for _, name := range []string{"blas.go", "decoder.go", "engine.go", "main.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			code += strings.TrimLeft(line, "\t")
			lines++
		}
	}
	assert.LessOrEqual(t, lines, 450)
	for _, rest := range strings.Split(section, "\n```go\n")[1:] {
		snippet, _, _ := strings.Cut(rest, "```\n")
		assert.Contains(t, code, strings.ReplaceAll(snippet, "\t", ""))
	}
}

// The host time of a step of twelve layers, until it is queued.
func BenchmarkStep(b *testing.B) {
	z := small
	z.layers, z.positions = 12, 1<<10
	for _, name := range []string{"cpu", "opencl:0", "cuda:0"} {
		for _, captured := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/captured=%t", name, captured), func(b *testing.B) {
				s := open(b, name)
				d := newTestDecoder(b, s, exported(b, z), "none")
				require.NoError(b, d.run(b.Context()))
				if captured {
					capture(b, d)
				}
				var queued time.Duration
				for b.Loop() {
					require.NoError(b, s.Wait())
					began := time.Now()
					require.NoError(b, d.run(b.Context()))
					queued += time.Since(began)
				}
				b.ReportMetric(float64(queued.Microseconds())/float64(b.N), "us-queued/op")
			})
		}
	}
}
