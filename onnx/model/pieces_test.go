package model

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/restride/restride/layout"
)

// TestManyPiecesOfAPackedList is about less than a megabyte that kept the
// decoder busy for minutes: a packed list in tiny pieces.
func TestManyPiecesOfAPackedList(t *testing.T) {
	piece := []byte{10, 1, 1} // dims, one byte long: extent 1
	_, err := parseTensor(bytes.Repeat(piece, 1<<18))
	require.ErrorIs(t, err, layout.ErrInvalid)
	assert.ErrorContains(t, err, "field dims of TensorProto comes in more than 64 pieces")

	// A few pieces are protobuf's own business.
	few := append(bytes.Repeat(piece, maxPieces), 0x10, 2, 0x4a, 1, 7) // uint8, raw_data
	x, err := parseTensor(few)
	require.NoError(t, err)
	assert.Len(t, x.Dims, maxPieces)
	assert.Equal(t, []byte{7}, x.Data)
}

// TestMessageInPieces is about the same list in as many messages, which the
// decoder joins.
func TestMessageInPieces(t *testing.T) {
	graph := protowire.AppendTag(nil, 7, protowire.BytesType)
	graph = protowire.AppendBytes(graph, nil)
	_, err := Parse(append(graph, graph...), "")
	require.ErrorIs(t, err, layout.ErrInvalid)
	assert.ErrorContains(t, err, "field graph of ModelProto comes in more than 1 pieces")
}

func TestNoMessageHasMoreFields(t *testing.T) {
	for name := range kinds() {
		md, err := protoregistry.GlobalTypes.FindMessageByName(name)
		require.NoError(t, err)
		assert.LessOrEqual(t, md.Descriptor().Fields().Len(), maxFields, name)
	}
}
