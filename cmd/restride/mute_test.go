package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// mute is a backend whose device is the cpu's, but that all downloads fail.
type mute struct{}

func init() { device.Register(mute{}) }

func (mute) Name() string                 { return "mute" }
func (mute) List() ([]device.Info, error) { return nil, nil }

func (mute) Open(int) (device.Device, error) {
	dev, err := cpu.Open()
	return muteDevice{dev}, err
}

type muteDevice struct{ device.Device }

func (d muteDevice) Info() device.Info { return device.Info{Backend: "mute", Name: "mute"} }

func (d muteDevice) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return muteQueue{q}, err
}

type muteQueue struct{ device.Queue }

var errMute = errors.New("the bus has fallen off")

func (muteQueue) Read([]byte, device.Buffer, int64) error { return errMute }

// Once run said <not shown: ...> in the place of the elements, then its summary, and
// exited with 0.
func TestFailedDownloads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	at := func(name string) string { return filepath.Join(dir, name) }
	transpose := model.New("g", 21)
	transpose.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, model.Known(2), model.Known(3))}}
	transpose.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	transpose.Graph.Nodes = []model.Node{model.NewNode("Transpose", []string{"x"}, []string{"y"})}
	// The output is the input, a sequence.
	of := model.Type{Kind: model.SequenceType, Item: &transpose.Graph.Inputs[0].Type}
	sequence := model.New("g", 21)
	sequence.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: of}}
	sequence.Graph.Outputs = transpose.Graph.Outputs
	sequence.Graph.Nodes = []model.Node{model.NewNode("Identity", []string{"x"}, []string{"y"})}
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, transpose.Save(at("model.onnx")))
	require.NoError(t, sequence.Save(at("sequence.onnx")))
	x := &model.Tensor{Name: "x", Type: layout.Float32, Dims: layout.Shape{2, 3}, Data: make([]byte, 24)}
	value := &model.Value{Kind: model.SequenceType, Items: []model.Value{{Kind: model.TensorType, Tensor: x}}}
	stored, err := value.Marshal()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("x.pb"), stored, 0o600))
	for name, input := range map[string][]string{"model.onnx": nil, "sequence.onnx": {"--input", "x=" + at("x.pb")}} {
		for _, more := range [][]string{nil, {"--output", at("out")}} {
			out, err := restride(slices.Concat([]string{"run", at(name), "--device", "mute"}, input, more)...)
			require.ErrorIs(t, err, errMute, out)
			assert.ErrorContains(t, err, `output "y": `)
			assert.NotContains(t, out, "y =")
			assert.NotContains(t, out, "mute")
			assert.NotContains(t, out, "transferred")
			assert.NotContains(t, out, "written")
		}
	}
	// What shows no elements reads none.
	out, err := restride("explain", at("model.onnx"), "--device", "mute")
	require.NoError(t, err, out)

	_, err = restride("run", at("model.onnx"), "--device", "cpu", "--output", at("test_data_set_0"))
	require.NoError(t, err)
	require.NoError(t, saveTensor(at("test_data_set_0/input_0.pb"), x))
	out, err = restride("conform", dir, "--device", "mute")
	require.ErrorIs(t, err, errCounted)
	assert.Contains(t, out, errMute.Error())
	assert.Contains(t, out, "0 passed, 1 failed, 0 skipped")

	out, err = restride("verify", "--device", "mute", "--cases", "3")
	require.ErrorIs(t, err, errCounted)
	assert.Contains(t, out, "0 passed, 3 failed, 0 skipped")
	out, err = restride("bench", "--device", "mute", "--size", "64K", "--time", "1ns", "--filter", "^c-heads/8$")
	require.Error(t, err, out)
}
