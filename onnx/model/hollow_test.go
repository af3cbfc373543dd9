package model

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestHollow: Load, which does not copy large tensors, reads what Parse reads.
func TestHollow(t *testing.T) {
	m := small(t)
	rng := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{3, largeElements / 4, 7, largeElements, largeElements/4 - 1} {
		values := make([]int32, n)
		for i := range values {
			values[i] = rng.Int32()
		}
		x, err := NewTensor("large"+string(rune('a'+len(m.Graph.Initializers))), values, int64(n))
		require.NoError(t, err)
		inner := &Graph{Name: "inner", Initializers: []Tensor{x}}
		m.Graph.Initializers = append(m.Graph.Initializers, x)
		m.Graph.Nodes = append(m.Graph.Nodes, NewNode("Constant", nil, []string{"of " + x.Name}, Attr{Name: "value", Value: &x}, Attr{Name: "graph", Value: inner}, Attr{Name: "n", Value: int64(3)}))
	}
	b, err := m.Marshal()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	loaded, err := Load(path)
	require.NoError(t, err)
	again, err := loaded.Marshal()
	require.NoError(t, err)
	require.Equal(t, b, again)
}

// TestHollowRepeats: the last of several raw_data counts, as for a decoder.
func TestHollowRepeats(t *testing.T) {
	large := make([]byte, largeElements)
	bytes := func(field protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), content)
	}
	for last, want := range map[string][]byte{"": nil, "small": nil, string(large): large} {
		tensor := append(bytes(rawDataOfTensor, large), bytes(rawDataOfTensor, []byte(last))...)
		rest, graph := hollow(bytes(graphOfModel, bytes(initializerOfGraph, tensor)))
		require.Equal(t, [][]byte{want}, graph.initializers)
		require.Less(t, len(rest), 100)
	}
}
