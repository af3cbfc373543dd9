package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

const attention = "../../examples/attention/attention.onnx"

// restride runs the command as a user would.
func restride(args ...string) (string, error) {
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := execute(context.Background(), root)
	return out.String(), err
}

func TestDevicesListsCPU(t *testing.T) {
	out, err := restride("devices")
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^cpu +cpu +`, out)
}

func TestRunAttention(t *testing.T) {
	dir := t.TempDir()
	out, err := restride("run", attention, "--device", "cpu", "--dim", "batch=3", "--dim", "sequence=5", "--output", dir)
	require.NoError(t, err, out)
	assert.Contains(t, out, "input x: random float[3,5,1024] (declared float[batch,sequence,1024]), seed 1")
	assert.Contains(t, out, "7 nodes: 4 views, 2 copies of 120.0 KiB, 1 on the host, 0 constants; 0 B transferred during the run")

	// The second output is the input again: it went through both copies.
	merged, err := loadTensor(filepath.Join(dir, "output_1.pb"))
	require.NoError(t, err)
	assert.Equal(t, "merged", merged.Name)
	assert.Equal(t, layout.Shape{3, 5, 1024}, merged.Dims)
	packed, err := loadTensor(filepath.Join(dir, "output_0.pb"))
	require.NoError(t, err)
	require.Equal(t, layout.Shape{3, 16, 320}, packed.Dims)
	for b := range 3 {
		for h := range 16 {
			for i := range 320 {
				got := packed.Data[4*((b*16+h)*320+i):][:4]
				want := merged.Data[4*((b*5+i/64)*1024+h*64+i%64):][:4]
				require.Equal(t, want, got, "packed[%d,%d,%d]", b, h, i)
			}
		}
	}

	// What was written is read again.
	again, err := restride("run", attention, "--input", "x="+filepath.Join(dir, "output_1.pb"), "--output", filepath.Join(dir, "again"))
	require.NoError(t, err, again)
	assert.NotContains(t, again, "random")
	same, err := loadTensor(filepath.Join(dir, "again", "output_0.pb"))
	require.NoError(t, err)
	assert.Equal(t, packed.Data, same.Data)
}

// TestRunOutputOfBroadcast: an output that is one element, 2^27 times, is written with
// little memory.
func TestRunOutputOfBroadcast(t *testing.T) {
	dir := t.TempDir()
	m := model.New("g", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Uint8, model.Known(1))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	shape, err := model.NewTensor("shape", []int64{1 << 27}, 1)
	require.NoError(t, err)
	m.Graph.Initializers = []model.Tensor{shape}
	m.Graph.Nodes = []model.Node{model.NewNode("Expand", []string{"x", "shape"}, []string{"y"})}
	path := filepath.Join(dir, "m.onnx")
	require.NoError(t, m.Save(path))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := restride("run", path, "--device", "cpu", "--output", dir)
	runtime.ReadMemStats(&after)
	require.NoError(t, err, out)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
	info, err := os.Stat(filepath.Join(dir, "output_0.pb"))
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(1<<27))
}

// TestAttentionIsGenerated holds the committed model against its generator.
func TestAttentionIsGenerated(t *testing.T) {
	m, err := model.Load(attention)
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"": 21}, m.Opsets)
	var ops []string
	for _, n := range m.Graph.Nodes {
		ops = append(ops, n.OpType)
	}
	assert.Equal(t, []string{"Shape", "Reshape", "Transpose", "Reshape", "Reshape", "Transpose", "Reshape"}, ops)
}

func TestExplainSaysWhy(t *testing.T) {
	out, err := restride("explain", attention)
	require.NoError(t, err, out)
	assert.Regexp(t, `(?m)^0 shape +Shape-21 +shape +int64\[3\] +host +0 +worked out from the shape`, out)
	assert.Regexp(t, `(?m)^2 heads +Transpose-21 +heads +float\[2,16,2,64\] +view +0 +strides`, out)
	assert.Regexp(t, `(?m)^3 packed +Reshape-21 +packed +float\[2,16,128\] +copy \(\S+\) +16384 +50% +no strides over`, out)
	assert.Contains(t, out, "plan: inputs 16.0 KiB, constants 0 B, and at most 32.0 KiB at once beside them\n")
	// One token: the heads need not be packed.
	out, err = restride("explain", attention, "--dim", "sequence=1")
	require.NoError(t, err, out)
	assert.Contains(t, out, "6 views, 0 copies of 0 B")
}

func TestRunReadsNpy(t *testing.T) {
	dir := t.TempDir()
	transpose := model.New("g", 21)
	transpose.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float16, model.Known(2), model.Known(3))}}
	transpose.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	transpose.Graph.Nodes = []model.Node{model.NewNode("Identity", []string{"x"}, []string{"y"})}
	path := filepath.Join(dir, "m.onnx")
	require.NoError(t, transpose.Save(path))

	// 0 to 5 as float16, in row-major and in column-major order.
	half := map[int]uint16{0: 0, 1: 0x3c00, 2: 0x4000, 3: 0x4200, 4: 0x4400, 5: 0x4500}
	for fortran, order := range map[string][]int{"False": {0, 1, 2, 3, 4, 5}, "True": {0, 3, 1, 4, 2, 5}} {
		var data []byte
		for _, v := range order {
			data = binary.LittleEndian.AppendUint16(data, half[v])
		}
		file := filepath.Join(dir, "x.npy")
		require.NoError(t, os.WriteFile(file, npyFile("<f2", fortran, "(2, 3)", data), 0o666))
		out, err := restride("run", path, "--input", "x="+file)
		require.NoError(t, err, out)
		assert.Contains(t, out, "[[0. 1. 2.]\n [3. 4. 5.]]", "fortran order: %s", fortran)
	}

	for name, bad := range map[string][]byte{
		"truncated":   npyFile("<f2", "False", "(2, 3)", make([]byte, 11)),
		"huge":        npyFile("<f2", "False", "(1099511627776, 1099511627776)", nil),
		"large":       npyFile("<f2", "False", "(1099511627776,)", nil),
		"negative":    npyFile("<f2", "False", "(-2, 3)", make([]byte, 12)),
		"big-endian":  npyFile(">f2", "False", "(2, 3)", make([]byte, 12)),
		"objects":     npyFile("|O", "False", "(2, 3)", make([]byte, 12)),
		"no numpy":    []byte("hello"),
		"empty":       nil,
		"wrong type":  npyFile("<f4", "False", "(2, 3)", make([]byte, 24)),
		"wrong shape": npyFile("<f2", "False", "(3, 2)", make([]byte, 12)),
	} {
		file := filepath.Join(dir, "bad.npy")
		require.NoError(t, os.WriteFile(file, bad, 0o666))
		_, err := restride("run", path, "--input", "x="+file)
		assert.Error(t, err, name)
	}
}

// npyFile is a numpy array file, version 1.0.
func npyFile(descr, fortran, shape string, data []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, fortran, shape)
	out := []byte("\x93NUMPY\x01\x00")
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	return append(append(out, header...), data...)
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "none.onnx"}, "none.onnx"},
		{[]string{"run", "none.gguf"}, "restride inspect none.gguf says"},
		{[]string{"run"}, "restride run needs a MODEL.onnx"},
		{[]string{"run", attention, "--device", "tpu"}, "tpu"},
		{[]string{"run", attention, "--device", "cpu:7"}, "cpu"},
		{[]string{"run", attention, "--input", "x"}, "NAME=FILE"},
		{[]string{"run", attention, "--input", "y=a.pb"}, "its inputs: x"},
		{[]string{"run", attention, "--input", "x=none.npy"}, "none.npy"},
		{[]string{"run", attention, "--dim", "batch"}, "NAME=N"},
		{[]string{"run", attention, "--dim", "batch=-1"}, "NAME=N"},
		{[]string{"run", attention, "--dim", "batch=9223372036854775807"}, "overflow"},
		{[]string{"run", attention, "--dim", "batch=1000000000"}, "too large"},
		{[]string{"run", attention, "--dim", "typo=5"}, "no input has an axis of that name; axes with a name: batch, sequence"},
		{[]string{"conform", t.TempDir(), "--device", ""}, "--device"},
		{[]string{"verify", "--cases", "0"}, "at least 1"},
		{[]string{"verify", "--case", ""}, "--case"},
		{[]string{"conform", t.TempDir()}, "has a model.onnx"},
		{[]string{"conform", attention}, "attention.onnx is a file: want a folder that has model.onnx"},
		{[]string{"conform", "nowhere"}, "nowhere"},
		{[]string{"conform", t.TempDir(), "--run", "("}, "--run"},
		{[]string{"verify", "--case", "nonsense"}, "--case"},
	} {
		_, err := restride(c.args...)
		assert.ErrorContains(t, err, c.says, "%v", c.args)
	}
}

func TestVerify(t *testing.T) {
	out, err := restride("verify", "--device", "cpu", "--cases", "300", "--seed", "7")
	require.NoError(t, err, out)
	assert.Contains(t, out, "300 passed, 0 failed, 0 skipped\n")

	out, err = restride("verify", "--device", "cpu", "--case", "copy/int4/3x5/dst=5,1@1/src=-1,3@14")
	require.NoError(t, err, out)
	assert.Contains(t, out, "1 passed, 0 failed, 0 skipped\n")

	// Two indices of dst share an element: the device refuses, which is a failure
	// of the case.
	out, err = restride("verify", "--device", "cpu", "--case", "copy/int4/3x5/dst=0,1@1/src=-1,3@14")
	assert.ErrorIs(t, err, errCounted)
	assert.Contains(t, out, "FAIL copy/int4/3x5/dst=0,1@1/src=-1,3@14")
	assert.Contains(t, out, "0 passed, 1 failed, 0 skipped\n")
}

// TestConform makes a case that passes, some that fail in each way, and one
// that is skipped.
func TestConform(t *testing.T) {
	root := t.TempDir()
	x, err := model.NewTensor("x", []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	y, err := model.NewTensor("y", []int32{1, 4, 2, 5, 3, 6}, 3, 2)
	require.NoError(t, err)
	wrong, err := model.NewTensor("y", []int32{1, 4, 2, 5, 30, 6}, 3, 2)
	require.NoError(t, err)
	shape, err := model.NewTensor("y", []int32{1, 4, 2, 5, 3, 6}, 2, 3)
	require.NoError(t, err)
	words, err := model.NewTensor("y", []string{"a"}, 1)
	require.NoError(t, err)
	writeCase(t, root, "good", "Transpose", x, y)
	writeCase(t, root, "bad/element", "Transpose", x, wrong)
	writeCase(t, root, "bad/shape", "Transpose", x, shape)
	writeCase(t, root, "bad/type", "Transpose", x, words)
	writeCase(t, root, "bad/input", "Transpose", words, y)
	writeCase(t, root, "other", "Relu", x, y)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "broken"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(root, "broken", "model.onnx"), []byte("?"), 0o666))

	out, err := restride("conform", root, "--device", "cpu")
	assert.ErrorIs(t, err, errCounted)
	assert.Contains(t, out, "skipped: no operator Relu: 1 cases\n")
	assert.Contains(t, out, "1 passed, 5 failed, 1 skipped\n")
	assert.Contains(t, out, `FAIL bad/element on cpu: test_data_set_0: output "y": element [2,0] is 00000003, want 0000001e`)
	assert.Contains(t, out, `output "y": is int32[3,2], want int32[2,3]`)

	out, err = restride("conform", root, "--device", "cpu,cpu", "--run", "^good$")
	require.NoError(t, err, out)
	assert.Contains(t, out, "2 passed, 0 failed, 0 skipped\n")
}

// TestConformFindsCases: folders with characters of patterns in their names,
// links to folders, and a folder named twice.
func TestConformFindsCases(t *testing.T) {
	root := t.TempDir()
	x, err := model.NewTensor("x", []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	y, err := model.NewTensor("y", []int32{1, 4, 2, 5, 3, 6}, 3, 2)
	require.NoError(t, err)
	writeCase(t, root, "sp ace [x] *dir", "Transpose", x, y)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(root, link))
	out, err := restride("conform", link, root, root, "--device", "cpu")
	require.NoError(t, err, out)
	assert.Contains(t, out, "1 passed, 0 failed, 0 skipped\n")
}

// TestNamesCannotForgeLines: a model's names must not print lines of their own,
// such as a closing line.
func TestNamesCannotForgeLines(t *testing.T) {
	root := t.TempDir()
	x, err := model.NewTensor("x", []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	const forged = "A\n9 passed, 0 failed, 0 skipped\n\x1b[2J"
	writeCase(t, root, "a", forged, x, x)
	out, err := restride("conform", root, "--device", "cpu")
	require.NoError(t, err)
	assert.NotContains(t, out, "\n9 passed")
	assert.NotContains(t, out, "\x1b")

	m := model.New("g", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: forged, Type: model.TensorOf(layout.Int32, model.Known(2))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: forged + "y"}}
	m.Graph.Nodes = []model.Node{model.NewNode("Identity", []string{forged}, []string{forged + "y"})}
	m.Graph.Nodes[0].Name = forged
	path := filepath.Join(root, "m.onnx")
	require.NoError(t, m.Save(path))
	for _, command := range []string{"run", "explain"} {
		out, err := restride(command, path)
		require.NoError(t, err)
		assert.NotContains(t, out, "\n9 passed")
		assert.NotContains(t, out, "\x1b")
	}
}

func TestSplitInput(t *testing.T) {
	inputs := []model.ValueInfo{{Name: "a"}, {Name: "a=b"}}
	for given, want := range map[string][2]string{
		"a=x.pb": {"a", "x.pb"}, "a=b=x.pb": {"a=b", "x.pb"}, "a=dir=1/x.pb": {"a", "dir=1/x.pb"},
	} {
		in, file, err := splitInput(given, inputs)
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{in.Name, file})
	}
}

// TestLostOutputIsAnError: a full disk must not look like success.
func TestLostOutputIsAnError(t *testing.T) {
	out := &checkedWriter{w: failing{}}
	root := newRoot()
	root.SetOut(out)
	root.SetArgs([]string{"devices"})
	_ = execute(context.Background(), root)
	assert.ErrorIs(t, out.err, os.ErrClosed)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestConformReadsOldBFloat16 is about data files in which ONNX wrote bfloat16 as
// uint16.
func TestConformReadsOldBFloat16(t *testing.T) {
	root := t.TempDir()
	x, err := model.NewTensor("x", []uint16{1, 2}, 2)
	require.NoError(t, err)
	dir := filepath.Join(root, "test_data_set_0")
	require.NoError(t, os.MkdirAll(dir, 0o777))
	m := model.New("g", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.BFloat16, model.Known(2))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y", Type: model.TensorOf(layout.BFloat16, model.Known(2))}}
	m.Graph.Nodes = []model.Node{model.NewNode("Identity", []string{"x"}, []string{"y"})}
	require.NoError(t, m.Save(filepath.Join(root, "model.onnx")))
	require.NoError(t, saveTensor(filepath.Join(dir, "input_0.pb"), &x))
	require.NoError(t, saveTensor(filepath.Join(dir, "output_0.pb"), &x))
	out, err := restride("conform", root, "--device", "cpu")
	require.NoError(t, err, out)
}

func loadTensor(path string) (*model.Tensor, error) {
	v, err := model.LoadValue(path, model.Type{Kind: model.TensorType})
	if err != nil {
		return nil, err
	}
	return v.Tensor, nil
}

func saveTensor(path string, x *model.Tensor) error {
	return model.SaveValue(path, &model.Value{Kind: model.TensorType, Tensor: x})
}

func writeCase(t *testing.T, root, name, op string, x, y model.Tensor) {
	t.Helper()
	dir := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "test_data_set_0"), 0o777))
	m := model.New("g", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Int32, model.Known(2), model.Known(3))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y", Type: model.Type{Kind: model.TensorType}}}
	m.Graph.Nodes = []model.Node{model.NewNode(op, []string{"x"}, []string{"y"})}
	require.NoError(t, m.Save(filepath.Join(dir, "model.onnx")))
	require.NoError(t, saveTensor(filepath.Join(dir, "test_data_set_0", "input_0.pb"), &x))
	require.NoError(t, saveTensor(filepath.Join(dir, "test_data_set_0", "output_0.pb"), &y))
}

// TestONNXBackendCases runs the ONNX test suite where it is: the folder that
// RESTRIDE_ONNX_TESTS names, or shared/onnx-node-tests beside the checkout.
func TestONNXBackendCases(t *testing.T) {
	dir := os.Getenv("RESTRIDE_ONNX_TESTS")
	if dir == "" {
		dir = "../../../shared/onnx-node-tests"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no ONNX test cases: %v", err)
	}
	out, err := restride("conform", dir, "--device", "cpu")
	require.NoError(t, err, out)
	for op := range onnx.Operators() {
		assert.NotContains(t, out, "no operator "+op+":")
	}
}
