package model

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/layout"
)

// assertCanonical holds the bytes of a value against what protobuf's own encoder
// makes of its message.
func assertCanonical(t testing.TB, v *Value) {
	t.Helper()
	b, err := v.Marshal()
	require.NoError(t, err)
	var p proto.Message
	switch v.Kind {
	case SequenceType:
		p = new(onnxpb.SequenceProto)
	case OptionalType:
		p = new(onnxpb.OptionalProto)
	default:
		p = new(onnxpb.TensorProto)
	}
	require.NoError(t, proto.Unmarshal(b, p))
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, b), "%.100x; want %.100x", b, want)
}

// randomValue draws a value, and the same with its elements outside of it.
func randomValue(rng *rand.Rand, kind TypeKind, depth int) (inside, outside Value) {
	name := []string{"", "a name", "ü"}[rng.IntN(3)]
	if kind == TensorType {
		t := Tensor{Name: name, Type: layout.DTypes()[rng.IntN(len(layout.DTypes()))]}
		for range rng.IntN(4) {
			t.Dims = append(t.Dims, rng.Int64N(40))
		}
		head := t
		if t.Type == layout.String {
			n, _ := t.Dims.Count()
			t.Strings = make([]string, n)
			for i := range t.Strings {
				t.Strings[i] = string(bytes.Repeat([]byte("x"), rng.IntN(200)))
			}
		} else {
			size, _ := t.Dims.Bytes(t.Type)
			t.Data = make([]byte, size)
			for i := range t.Data {
				t.Data[i] = byte(rng.IntN(2))
			}
			t.Data = t.clearTail(t.Data)
		}
		if rng.IntN(2) == 0 { // fields behind the elements
			text := "doc"
			b, _ := proto.Marshal(&onnxpb.TensorProto{DocString: &text})
			t.rest, head.rest = b, b
		}
		return Value{Name: name, Kind: kind, Tensor: &t}, Value{Name: name, Kind: kind, Tensor: &head, Source: &source{of: &t}}
	}
	inside = Value{Name: name, Kind: kind}
	n := rng.IntN(5)
	if kind == OptionalType {
		n %= 2
	}
	item := TensorType
	if depth < 3 {
		item = []TypeKind{TensorType, SequenceType, OptionalType}[rng.IntN(3)]
	}
	outside = inside
	for range n {
		a, b := randomValue(rng, item, depth+1)
		inside.Items, outside.Items = append(inside.Items, a), append(outside.Items, b)
	}
	return inside, outside
}

// source has the elements of a tensor by small pieces.
type source struct {
	of   *Tensor
	fail error
}

func (s *source) WriteTo(w io.Writer) (n int64, err error) {
	for piece := range slices.Chunk(s.of.Data, 7) {
		k, err := w.Write(piece)
		if n += int64(k); err != nil {
			return n, err
		}
	}
	return n, s.fail
}

func (s *source) Strings() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, word := range s.of.Strings {
			if !yield(word, nil) {
				return
			}
		}
	}
}

// What is written by pieces is what is written from memory, and what protobuf's
// encoder would write.
func TestValuesByPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	for i := range 300 {
		kind := []TypeKind{TensorType, SequenceType, OptionalType}[i%3]
		inside, outside := randomValue(rng, kind, 0)
		assertCanonical(t, &inside)
		want, err := inside.Marshal()
		require.NoError(t, err)
		size, err := inside.size(0)
		require.NoError(t, err)
		require.Len(t, want, int(size))
		got, err := outside.Marshal()
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "case %d", i)
		path := filepath.Join(dir, "v.pb")
		require.NoError(t, SaveValue(path, &outside))
		got, err = os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "case %d", i)
	}
}

// TestSaveValueRefuses: after an error there is what was there before.
func TestSaveValueRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "v.pb")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	of := func(typ layout.DType, s Source, dims ...int64) Value {
		return Value{Kind: TensorType, Tensor: &Tensor{Name: "x", Type: typ, Dims: dims}, Source: s}
	}
	list := func(items ...Value) Value { return Value{Name: "l", Kind: SequenceType, Items: items} }
	unread := &source{fail: errors.New("it was read")}
	two := &source{of: &Tensor{Data: []byte{1, 2}, Strings: []string{"a\xff"}}}
	torn := &source{of: two.of, fail: errors.New("torn")}
	gib := of(layout.Uint8, unread, 1<<30)
	for says, v := range map[string]Value{
		`model.SaveValue: value "": 2147483648 bytes are more than protobuf allows in a file (2147483647)`:          of(layout.Uint8, unread, 1<<31),
		`model.SaveValue: value "": 4611686018427387904 bytes are more than protobuf allows in a file (2147483647)`: of(layout.Int32, unread, 1<<60),
		`model.SaveValue: value "l": 2147483699 bytes are more than protobuf allows in a file (2147483647)`:         list(gib, gib),
		`model.SaveValue: value "": torn`:           of(layout.Uint8, torn, 2),
		`model.SaveValue: value "l": value 1: torn`: list(of(layout.Uint8, two, 2), of(layout.Uint8, torn, 2)),
		`model.SaveValue: value "": the elements changed while they were written: they had 3 bytes, and have 2`: of(layout.Uint8, two, 3),
		`model.SaveValue: value "": string 0 is not valid UTF-8`:                                                of(layout.String, two, 1),
		`model.SaveValue: value "l": value 1 is a sequence and value 0 a tensor`:                                list(of(layout.Uint8, two, 2), list()),
	} {
		require.EqualError(t, SaveValue(path, &v), says)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "before", string(b))
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, files, 1, says)
	}
}

// endless yields a text of 4 KiB for ever.
type endless struct{ source }

func (*endless) Strings() iter.Seq2[string, error] {
	text := string(make([]byte, 4096))
	return func(yield func(string, error) bool) {
		for yield(text, nil) {
		}
	}
}

// TestManyStringsAreRefusedEarly: those that no file could hold are not all read.
func TestManyStringsAreRefusedEarly(t *testing.T) {
	for _, n := range []int64{1 << 20, 1 << 60} {
		v := Value{Kind: TensorType, Tensor: &Tensor{Type: layout.String, Dims: layout.Shape{n}}, Source: &endless{}}
		_, err := v.Marshal()
		require.ErrorIs(t, err, layout.ErrInvalid)
		require.ErrorContains(t, err, "more than protobuf allows in a file (2147483647)")
	}
}
