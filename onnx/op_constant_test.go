package onnx_test

import (
	"fmt"
	"os"
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

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Constant", versions: []onnx.Opset{1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
		note: "`sparse_value` from 11, numbers and strings from 12",
	})
}

// tensorOf returns what a file would hold of an array.
func tensorOf(a array, t layout.DType) *model.Tensor {
	if t == layout.String {
		return &model.Tensor{Type: t, Dims: a.Dims, Strings: append([]string{}, a.Elems...)}
	}
	return &model.Tensor{Type: t, Dims: a.Dims, Data: a.Bytes(t)}
}

// constants makes a Constant in all three ways and checks each.
func constants(t *testing.T, v onnx.Opset, attr onnx.Attr, check func(*tensor.Tensor, error)) {
	t.Helper()
	s := open(t)
	direct := func() (*tensor.Tensor, error) { return onnx.Constant(s, v, attr) }
	byName := func() (*tensor.Tensor, error) {
		out, err := onnx.Run("Constant", v, onnx.Attrs{attr})
		if err != nil {
			return nil, err
		}
		return out[0].(*tensor.Tensor), nil
	}
	inModel := func() (*tensor.Tensor, error) {
		m := model.New("constant", int64(v))
		m.Graph.Nodes = []model.Node{node("Constant", "y", nil, attr)}
		m.Graph.Outputs = outputs("y")
		sess, err := onnx.NewSession(s, m)
		if err != nil {
			return nil, err
		}
		defer func() { require.NoError(t, sess.Close()) }()
		out, err := sess.Run(t.Context(), nil)
		require.NoError(t, err)
		return out.Tensor("y")
	}
	for _, call := range []func() (*tensor.Tensor, error){direct, byName, inModel} {
		y, err := call()
		check(y, err)
		require.NoError(t, y.Release())
	}
}

func TestConstantTypes(t *testing.T) {
	for _, typ := range layout.DTypes() {
		a := numbered(typ, 3, 5)
		first := typesSince{1, 1, 1, 13, 19, 21, 23, 24, 25}.of(typ)
		for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
			constants(t, v, onnx.Attr{Name: "value", Value: tensorOf(a, typ)}, func(y *tensor.Tensor, err error) {
				require.Equal(t, v >= first, onnx.Allows("Constant", v, typ))
				if v >= first {
					require.NoError(t, err)
					same(t, typ, a, y)
					return
				}
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, fmt.Sprintf("type %v is not allowed; Constant allows it from opset %d", typ, first))
			})
		}
	}
}

func TestConstantLiterals(t *testing.T) {
	for _, c := range []struct {
		attr onnx.Attr
		typ  layout.DType
		want array
	}{
		{onnx.Int("value_int", -2), layout.Int64, numbers(-2).Reshape()},
		{onnx.Ints("value_ints", 3, -1), layout.Int64, numbers(3, -1)},
		{onnx.Ints("value_ints"), layout.Int64, numbers()},
		{onnx.Attr{Name: "value_float", Value: float32(1)}, layout.Float32, array{Dims: nil, Elems: []string{"\x00\x00\x80\x3f"}}},
		{onnx.Attr{Name: "value_floats", Value: []float32{1, 2}}, layout.Float32, array{Dims: []int64{2}, Elems: []string{"\x00\x00\x80\x3f", "\x00\x00\x00\x40"}}},
		{onnx.Attr{Name: "value_string", Value: "xÿ"}, layout.String, array{Dims: nil, Elems: []string{"xÿ"}}},
		{onnx.Attr{Name: "value_strings", Value: []string{"", "b"}}, layout.String, array{Dims: []int64{2}, Elems: []string{"", "b"}}},
		{onnx.Attr{Name: "value_strings", Value: []string{}}, layout.String, array{Dims: []int64{0}, Elems: nil}},
	} {
		t.Run(c.attr.Name, func(t *testing.T) {
			for _, v := range []onnx.Opset{12, 13, 25, 28} {
				constants(t, v, c.attr, func(y *tensor.Tensor, err error) {
					require.NoError(t, err)
					same(t, c.typ, c.want, y)
				})
			}
			constants(t, 11, c.attr, func(_ *tensor.Tensor, err error) {
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, "Constant-11: attribute")
				require.ErrorContains(t, err, "Constant-12 has it")
			})
		})
	}
}

func TestConstantRefuses(t *testing.T) {
	one := tensorOf(numbers(1), layout.Int64)
	for _, c := range []struct {
		v    onnx.Opset
		attr onnx.Attr
		kind error
		says string
	}{
		{12, onnx.Attr{Name: "value", Value: int64(1)}, device.ErrInvalid, "attribute value is of kind int"},
		{12, onnx.Attr{Name: "value", Value: (*model.Tensor)(nil)}, device.ErrInvalid, "attribute value is of kind tensor"},
		{12, onnx.Attr{Name: "value"}, device.ErrInvalid, "attribute value is of kind no kind"},
		{12, onnx.Attr{Name: "value_int", Value: one}, device.ErrInvalid, "attribute value_int is of kind tensor"},
		{12, onnx.Attr{Name: "value_int", Value: []int64{1}}, device.ErrInvalid, "attribute value_int is of kind ints"},
		{12, onnx.Attr{Name: "value_ints", Value: int64(1)}, device.ErrInvalid, "attribute value_ints is of kind int"},
		{12, onnx.Attr{Name: "value_string", Value: "\xff"}, device.ErrInvalid, "value_string: string 0 is not valid UTF-8"},
		{12, onnx.Attr{Name: "value_strings", Value: []string{"a", "x\xff"}}, device.ErrInvalid, "value_strings: string 1 is not valid UTF-8"},
		{12, onnx.Attr{Name: "value_string", Value: []string{""}}, device.ErrInvalid, "is of kind strings"},
		{12, onnx.Attr{Name: "sparse_value", Value: one}, device.ErrInvalid, "attribute sparse_value is of kind tensor"},
		{12, onnx.Attr{Name: "sparse_value", Value: (*model.SparseTensor)(nil)}, device.ErrInvalid, "is of kind sparse_tensor"},
		{12, onnx.Attr{Name: "value_int", Ref: "v", RefKind: "int"}, device.ErrUnsupported, "its function's attribute"},
		{12, onnx.Attr{Name: "sparse_value", Ref: "v", RefKind: "sparse_tensor"}, device.ErrUnsupported, "its function's attribute"},
		{12, onnx.Attr{Name: "axis", Value: int64(1)}, device.ErrInvalid, `no attribute "axis"`},
		{10, onnx.Attr{Name: "sparse_value", Value: sparse(t, numbers(1), []int64{0}, 3)}, device.ErrInvalid, "Constant-11 has it"},
	} {
		constants(t, c.v, c.attr, func(_ *tensor.Tensor, err error) {
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "Constant-")
		})
	}
	for n, attrs := range map[int]onnx.Attrs{0: nil, 2: {onnx.Int("value_int", 1), onnx.Ints("value_ints", 1)}} {
		_, err := onnx.Run("Constant", 12, attrs)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, fmt.Sprintf("%d attributes are given", n))
	}
	x := ints(t, open(t), 1)
	_, err := onnx.Run("Constant", 12, onnx.Attrs{onnx.Int("value_int", 1)}, x)
	require.ErrorContains(t, err, "1 inputs are given; it takes 0")
}

// sparse returns a tensor of int64 with the given indices, coordinates row by
// row where there are more than values.
func sparse(tb testing.TB, values array, indices []int64, dims ...int64) *model.SparseTensor {
	tb.Helper()
	return sparseOf(layout.Int64, values, indices, dims...)
}

func sparseOf(t layout.DType, values array, indices []int64, dims ...int64) *model.SparseTensor {
	n := int64(len(values.Elems))
	at := numbers(indices...)
	if rank := int64(len(dims)); int64(len(indices)) != n {
		at = at.Reshape(n, rank)
	}
	return &model.SparseTensor{Values: *tensorOf(values, t), Indices: *tensorOf(at, layout.Int64), Dims: dims}
}

// TestConstantSparse spreads values of every type by both kinds of index.
func TestConstantSparse(t *testing.T) {
	for _, typ := range layout.DTypes() {
		values := numbered(typ, 4)
		at := []int64{1, 4, 5, 14}
		zero := ""
		if typ != layout.String {
			zero = string(make([]byte, max(typ.Bits()/8, 1)))
		}
		want := array{Dims: []int64{3, 5}}
		for range 15 {
			want.Elems = append(want.Elems, zero)
		}
		var coordinates []int64
		for i, p := range at {
			want.Elems[p] = values.Elems[i]
			coordinates = append(coordinates, p/5, p%5)
		}
		for _, indices := range [][]int64{at, coordinates} {
			attr := onnx.Attr{Name: "sparse_value", Value: sparseOf(typ, values, indices, 3, 5)}
			constants(t, 25, attr, func(y *tensor.Tensor, err error) {
				require.NoError(t, err)
				same(t, typ, want, y)
			})
		}
	}
	for _, s := range []*model.SparseTensor{
		sparse(t, numbers(), nil, 2),
		sparse(t, numbers(), nil, 0),
	} {
		constants(t, 11, onnx.Attr{Name: "sparse_value", Value: s}, func(y *tensor.Tensor, err error) {
			require.NoError(t, err)
			require.Equal(t, s.Dims, y.Shape())
		})
	}
	scalar := sparse(t, numbers(7), []int64{0})
	constants(t, 11, onnx.Attr{Name: "sparse_value", Value: scalar}, func(y *tensor.Tensor, err error) {
		require.NoError(t, err)
		same(t, layout.Int64, numbers(7).Reshape(), y)
	})
}

func TestConstantSparseRefuses(t *testing.T) {
	const huge = 1 << 40
	wrongType := sparse(t, numbers(1), []int64{0}, 3)
	wrongType.Indices = *tensorOf(numbered(layout.Int32, 1), layout.Int32)
	matrix := sparse(t, numbers(1), []int64{0}, 3)
	matrix.Values.Dims = layout.Shape{1, 1}
	strings := sparseOf(layout.String, numbered(layout.String, 2), []int64{0, 1}, 3)
	strings.Values.Strings = strings.Values.Strings[:1]
	for _, c := range []struct {
		s    *model.SparseTensor
		kind error
		says string
	}{
		{sparse(t, numbers(1, 2), []int64{0, 3}, 3), device.ErrInvalid, "index 3 is outside [0,3)"},
		{sparse(t, numbers(1, 2), []int64{-1, 2}, 3), device.ErrInvalid, "index -1 is outside [0,3)"},
		{sparse(t, numbers(1, 2), []int64{2, 1}, 3), device.ErrInvalid, "not in rising order"},
		{sparse(t, numbers(1, 2), []int64{1, 1}, 3), device.ErrInvalid, "not in rising order"},
		{sparse(t, numbers(1, 2), []int64{0, 0, 1, 2}, 2, 2), device.ErrInvalid, "index 2 of axis 1 is outside [0,2)"},
		{sparse(t, numbers(1, 2), []int64{0, 0, -1, 1}, 2, 2), device.ErrInvalid, "index -1 of axis 0 is outside [0,2)"},
		{sparse(t, numbers(1, 2), []int64{0, 1, 0, 0}, 2, 2), device.ErrInvalid, "not in rising order"},
		{sparse(t, numbers(1), []int64{0}, 0), device.ErrInvalid, "1 values for 0 elements"},
		{sparse(t, numbers(1), []int64{0}, -1), device.ErrInvalid, "negative"},
		{sparse(t, numbers(1), []int64{0}, huge, huge), device.ErrInvalid, "overflow"},
		{sparse(t, numbers(1), []int64{0}, huge), device.ErrOutOfMemory, "bytes are asked for"},
		{sparse(t, numbers(1), []int64{0}, 1<<62), device.ErrInvalid, "overflow"},
		{sparseOf(layout.Int2, numbered(layout.Int2, 1), []int64{0}, huge), device.ErrOutOfMemory, "bytes are asked for"},
		{sparseOf(layout.String, numbered(layout.String, 1), []int64{0}, huge), device.ErrOutOfMemory, "bytes are asked for"},
		{sparseOf(layout.String, numbered(layout.String, 1), []int64{0}, 1<<62), device.ErrInvalid, "overflow"},
		{wrongType, device.ErrInvalid, "indices must be int64"},
		{matrix, device.ErrInvalid, "indices must be int64 and of shape [n] or [n,1]"},
		{strings, device.ErrInvalid, "1 strings for 2 indices"},
	} {
		constants(t, 25, onnx.Attr{Name: "sparse_value", Value: c.s}, func(_ *tensor.Tensor, err error) {
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "Constant-25")
		})
	}
}

// Once memory for as many indices as the file claims was asked for before
// anything was checked: indices of shape [n,0] have no bytes. The process died.
func TestConstantSparseClaimsNothing(t *testing.T) {
	const n = 1 << 40
	s := &model.SparseTensor{
		Values: model.Tensor{Type: layout.Uint8, Dims: layout.Shape{n}, External: &model.External{
			Dir: t.TempDir(), Path: "none", Length: -1,
		}},
		Indices: model.Tensor{Type: layout.Int64, Dims: layout.Shape{n, 0}, Data: []byte{}},
	}
	constants(t, 25, onnx.Attr{Name: "sparse_value", Value: s}, func(_ *tensor.Tensor, err error) {
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "1099511627776 values for 1 elements")
	})
}

// Once each sparse constant of a model might take a GiB, and took it twice.
func TestConstantSparseSharesOneLimit(t *testing.T) {
	m := model.New("sparse", 21)
	for i := range 3 {
		attr := onnx.Attr{Name: "sparse_value", Value: sparse(t, numbers(1), []int64{0}, 1<<20)}
		m.Graph.Nodes = append(m.Graph.Nodes, node("Constant", fmt.Sprint("c", i), nil, attr))
	}
	limitMemory(t, 20<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refused(t, m, device.ErrOutOfMemory, `node 2 (Constant "c2"): Constant-21: 8388608 bytes are asked for`)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20), "twice 8 MiB")
}

// A value may be an external file.
func TestConstantExternal(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w"), []byte("..abcd"), 0o666))
	value := &model.Tensor{Type: layout.Uint8, Dims: layout.Shape{4}, External: &model.External{Dir: dir, Path: "w", Offset: 2, Length: 4}}
	constants(t, 25, onnx.Attr{Name: "value", Value: value}, func(y *tensor.Tensor, err error) {
		require.NoError(t, err)
		same(t, layout.Uint8, array{Dims: []int64{4}, Elems: []string{"a", "b", "c", "d"}}, y)
	})
}
