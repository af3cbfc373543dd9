package model

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// manyNodes is a model that is all graph and no data.
func manyNodes(b *testing.B, n int) []byte {
	m := New("many", 21)
	for i := range n {
		m.Graph.Nodes = append(m.Graph.Nodes, NewNode("Transpose",
			[]string{fmt.Sprint("v", i)}, []string{fmt.Sprint("v", i+1)}, Attr{Name: "perm", Value: []int64{1, 0, 2}}))
	}
	bytes, err := m.Marshal()
	require.NoError(b, err)
	return bytes
}

func BenchmarkParse(b *testing.B) {
	oneTensor := func(b *testing.B, external bool) string {
		m := New("one", 21)
		x, err := NewTensor("x", make([]float32, 16<<20), 16<<20)
		require.NoError(b, err)
		m.Graph.Initializers = []Tensor{x}
		path := filepath.Join(b.TempDir(), "m.onnx")
		if external {
			require.NoError(b, m.SaveExternal(path, "w", 0))
		} else {
			require.NoError(b, m.Save(path))
		}
		return path
	}
	b.Run("10000 nodes", func(b *testing.B) {
		data := manyNodes(b, 10000)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			_, err := Parse(data, "")
			require.NoError(b, err)
		}
	})
	b.Run("64 MiB embedded", func(b *testing.B) {
		path := oneTensor(b, false)
		b.SetBytes(64 << 20)
		b.ReportAllocs()
		for b.Loop() {
			_, err := Load(path)
			require.NoError(b, err)
		}
	})
	b.Run("64 MiB external, in pieces of 1 MiB", func(b *testing.B) {
		m, err := Load(oneTensor(b, true))
		require.NoError(b, err)
		piece := make([]byte, 1<<20)
		b.SetBytes(64 << 20)
		b.ReportAllocs()
		for b.Loop() {
			r, err := m.Graph.Initializers[0].Open()
			require.NoError(b, err)
			for off := int64(0); off < r.Size(); off += int64(len(piece)) {
				_, err := r.ReadAt(piece, off)
				require.NoError(b, err)
			}
			require.NoError(b, r.Close())
		}
	})
	b.Run("64 MiB of float_data", func(b *testing.B) {
		data := encode(b, floatData(16<<20))
		b.SetBytes(64 << 20)
		b.ReportAllocs()
		for b.Loop() {
			_, err := parseTensor(data)
			require.NoError(b, err)
		}
	})
}

func floatData(n int) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{DataType: proto.Int32(1), Dims: []int64{int64(n)}, FloatData: make([]float32, n)}
}
