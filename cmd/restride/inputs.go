package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/npy"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// readInput reads a .npy file, or a protobuf file with a value of the declared
// type, onto a stream.
func readInput(s *tensor.Stream, path string, t model.Type) (onnx.Value, error) {
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		return readNpy(s, path)
	}
	v, err := loadDeclared(path, t)
	if err != nil {
		return nil, err
	}
	return onnx.LoadValue(s, v, t)
}

// loadDeclared reads a protobuf file with a value of the type that the graph declares. In data
// files from ONNX up to release 1.18, bfloat16 is labelled uint16: the graph's type takes
// precedence.
func loadDeclared(path string, t model.Type) (*model.Value, error) {
	if t.Kind == model.UnknownType {
		t.Kind = model.TensorType
	}
	v, err := model.LoadValue(path, t)
	if err == nil && v.Kind == model.TensorType && t.Elem == layout.BFloat16 && v.Tensor.Type == layout.Uint16 {
		v.Tensor.Type = layout.BFloat16
	}
	return v, err
}

// readNpy reads a numpy array file. An array in Fortran order is read as a transpose.
func readNpy(s *tensor.Stream, path string) (*tensor.Tensor, error) {
	f, err := file.Open(path, math.MaxInt64) // npy.Read checks its length against its header
	if err != nil {
		return nil, err
	}
	defer f.Close()
	memory := budget.Process()
	if err := memory.Take("the file "+quote.Path(path), f.Size); err != nil {
		return nil, err
	}
	defer memory.Give(f.Size)
	h, data, err := npy.Read(bufio.NewReader(f), f.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Path(path), err)
	}
	if !h.Fortran {
		return tensor.FromBytes(s, h.Type, data, h.Shape...)
	}
	slices.Reverse(h.Shape)
	x, err := tensor.FromBytes(s, h.Type, data, h.Shape...)
	if err != nil {
		return nil, err
	}
	y, err := x.Transpose()
	return y, errors.Join(err, x.Release())
}

// maxRandom is the most bytes of random inputs for a model: the user must provide larger ones.
const maxRandom = 1 << 30

// maker generates tensors within a limit on memory.
type maker struct {
	rng  *rand.Rand
	room int64 // remaining bytes
}

// claim reserves memory for a tensor's n things of the given size.
func (m *maker) claim(of *model.Tensor, n, size int64) error {
	if n > m.room/size {
		return fmt.Errorf("random inputs of more than %s in all are too large to make up: give this one with --input", byteSize(maxRandom))
	}
	m.room -= n * size
	return budget.TakeFor(budget.Process(), of, "a random input", n*size)
}

// tensor generates elements: normally distributed floating-point numbers, integers from 0 to 9,
// and random bits for other types.
func (m *maker) tensor(t layout.DType, shape layout.Shape) (*model.Tensor, error) {
	rng := m.rng
	out := &model.Tensor{Type: t, Dims: shape}
	n, err := shape.Count()
	if err != nil {
		return nil, err
	}
	if t == layout.String {
		if err := m.claim(out, n, 64); err != nil {
			return nil, err
		}
		out.Strings = make([]string, n)
		for i := range out.Strings {
			out.Strings[i] = fmt.Sprintf("s%d", i)
		}
		return out, nil
	}
	size, err := shape.Bytes(t)
	if err == nil {
		err = m.claim(out, size, 1)
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	le := binary.LittleEndian
	switch t {
	case layout.Float32, layout.Complex64:
		for i := 0; i < len(b); i += 4 {
			le.PutUint32(b[i:], math.Float32bits(float32(rng.NormFloat64())))
		}
	case layout.Float64, layout.Complex128:
		for i := 0; i < len(b); i += 8 {
			le.PutUint64(b[i:], math.Float64bits(rng.NormFloat64()))
		}
	case layout.Int8, layout.Int16, layout.Int32, layout.Int64, layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64:
		for i := 0; i < len(b); i += t.Bits() / 8 {
			b[i] = byte(rng.IntN(10))
		}
	case layout.Bool:
		for i := range b {
			b[i] = byte(rng.IntN(2))
		}
	default:
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if used := n * int64(t.Bits()) % 8; used != 0 {
			b[size-1] &= 1<<used - 1
		}
	}
	out.Data = b
	return out, nil
}
