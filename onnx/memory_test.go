package onnx_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// allocated returns how many bytes of Go's memory f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestSessionIsCounted: a graph of very many small nodes is refused before it is compiled.
func TestSessionIsCounted(t *testing.T) {
	const nodes = 20_000
	m := model.New("long", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "v0"}}
	for i := range nodes {
		m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", fmt.Sprint("v", i+1), []string{fmt.Sprint("v", i)}))
	}
	m.Graph.Outputs = []model.ValueInfo{{Name: fmt.Sprint("v", nodes)}}
	s := open(t)
	var sess *onnx.Session
	took := allocated(func() { sess = session(t, s, m) })
	t.Logf("%d bytes a node", took/nodes)
	require.NoError(t, sess.Close())

	limitMemory(t, took/2)
	least := allocated(func() {
		_, err := onnx.NewSession(s, m)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
		require.ErrorContains(t, err, "the session")
	})
	require.Less(t, least, took/10)
}

// TestSequencesAreCounted: references to the items of a sequence are not free.
func TestSequencesAreCounted(t *testing.T) {
	const items = 1 << 16
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32))
	seq := &onnx.Sequence{Elem: layout.Float32}
	for range items {
		seq.Items = append(seq.Items, x)
	}
	limitMemory(t, 8<<20)
	require.Less(t, allocated(func() {
		_, err := onnx.Run("Identity", 25, nil, seq)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
		require.ErrorIs(t, onnx.SaveValue(filepath.Join(t.TempDir(), "v.pb"), "v", seq), device.ErrOutOfMemory)
	}), int64(1<<20))
}

// TestManyOutputsAreCounted: views are not free.
func TestManyOutputsAreCounted(t *testing.T) {
	const n = 1 << 16
	x := held(t)(tensor.New(open(t), layout.Int8, n))
	limitMemory(t, 8<<20)
	require.Less(t, allocated(func() {
		_, err := onnx.Run("Split", 18, onnx.Attrs{onnx.Int("num_outputs", n)}, x)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
	}), int64(2<<20))
}

// TestManyPartsAreCounted: one element for each of very many batches costs no more on
// the host than it may.
func TestManyPartsAreCounted(t *testing.T) {
	const batches = 1 << 18
	s := open(t)
	x := held(t)(tensor.New(s, layout.Int8, batches, 3))
	update := held(t)(tensor.New(s, layout.Int8, batches, 1))
	lengths, indices := make([]int64, batches), make([]int64, batches)
	for i := range lengths {
		lengths[i], indices[i] = int64(1+i%2*2), int64(i%2)
	}
	limitMemory(t, 32<<20)
	require.Less(t, allocated(func() {
		_, err := runReverseSequence(x, 10, 0, 1, lengths)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
	}), int64(16<<20))
	require.Less(t, allocated(func() {
		_, err := runTensorScatter(x, update, 24, indices, 1, false)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
	}), int64(16<<20))
}
