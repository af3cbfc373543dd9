package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbinet/npyio/npy"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// readInput reads a .npy file, or a protobuf file with a value of the declared
// type, onto a stream.
func readInput(s *tensor.Stream, file string, t model.Type) (onnx.Value, error) {
	if strings.EqualFold(filepath.Ext(file), ".npy") {
		return readNpy(s, file)
	}
	v, err := loadDeclared(file, t)
	if err != nil {
		return nil, err
	}
	return onnx.LoadValue(s, v, t)
}

// loadDeclared reads a protobuf file with a value of the type that the graph
// declares. Data files that ONNX wrote up to release 1.18 call bfloat16 uint16:
// there the graph's word counts.
func loadDeclared(file string, t model.Type) (*model.Value, error) {
	if t.Kind == model.UnknownType {
		t.Kind = model.TensorType
	}
	v, err := model.LoadValue(file, t)
	if err == nil && v.Kind == model.TensorType && t.Elem == layout.BFloat16 && v.Tensor.Type == layout.Uint16 {
		v.Tensor.Type = layout.BFloat16
	}
	return v, err
}

// npyTypes are numpy's names of the types that both know, without byte order.
var npyTypes = map[string]layout.DType{
	"b1": layout.Bool, "i1": layout.Int8, "i2": layout.Int16, "i4": layout.Int32, "i8": layout.Int64,
	"u1": layout.Uint8, "u2": layout.Uint16, "u4": layout.Uint32, "u8": layout.Uint64,
	"f2": layout.Float16, "f4": layout.Float32, "f8": layout.Float64, "c8": layout.Complex64, "c16": layout.Complex128,
}

// readNpy reads a numpy array file. One in Fortran order is read as the
// transpose that it is.
func readNpy(s *tensor.Stream, file string) (*tensor.Tensor, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(f)
	header, err := npy.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: not a .npy file: %w", file, err)
	}
	descr := header.Header.Descr
	t, ok := npyTypes[strings.TrimLeft(descr.Type, "<|")] // ">": big-endian, not known
	if !ok {
		return nil, fmt.Errorf("%s: elements of numpy type %q cannot be read", file, descr.Type)
	}
	shape := layout.Shape{}
	for _, d := range descr.Shape {
		shape = append(shape, int64(d))
	}
	size, err := shape.Bytes(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if size > info.Size() { // before memory is taken for it
		return nil, fmt.Errorf("%s: %v%v takes %d bytes; the file has %d", file, t, shape, size, info.Size())
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !descr.Fortran {
		return tensor.FromBytes(s, t, data, shape...)
	}
	reversed := make([]int64, len(shape))
	for i, d := range shape {
		reversed[len(shape)-1-i] = d
	}
	x, err := tensor.FromBytes(s, t, data, reversed...)
	if err != nil {
		return nil, err
	}
	y, err := x.Transpose()
	return y, errors.Join(err, x.Release())
}

// randomTensor makes up elements: floating-point numbers of the normal
// distribution, integers from 0 to 9, and for the other types any bits.
func randomTensor(rng *rand.Rand, t layout.DType, shape layout.Shape) (*model.Tensor, error) {
	out := &model.Tensor{Type: t, Dims: shape}
	n, err := shape.Count()
	if err != nil {
		return nil, err
	}
	const most = 4 << 30
	if t == layout.String {
		if n > most/16 {
			return nil, fmt.Errorf("%v%v is too large to make up", t, shape)
		}
		out.Strings = make([]string, n)
		for i := range out.Strings {
			out.Strings[i] = fmt.Sprintf("s%d", i)
		}
		return out, nil
	}
	size, err := shape.Bytes(t)
	if err != nil {
		return nil, err
	}
	if size > most {
		return nil, fmt.Errorf("%v%v is too large to make up: %s", t, shape, byteSize(size))
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
