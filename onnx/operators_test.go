package onnx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// operatorTest is what the tests of all operators know of one. Each is added by the
// operator's own test file, from ONNX's text, and knows nothing of the source's
// tables.
type operatorTest struct {
	op       string
	versions []onnx.Opset // as listed in ONNX 1.23
	note     string       // what docs/operators.md says of them

	// For TestTypes, unless the operator has such a test of its own: a call in the
	// form of an opset on a tensor of dims [2,1,3,4].
	types typesSince
	form  func(v onnx.Opset) (onnx.Attrs, [][]int64) // the further inputs
	want  func(a array) array
	shape bool // the result is int64 whatever the input
}

var operatorTests []operatorTest

// typesSince is the first opset at which an operator takes types, 0 for never: of
// floats, of integers, of bool, string and complex types, of bfloat16, of float8e4
// and e5, of integers of 4 bits, of float4e2m1, of float8e8m0, and of integers of 2
// bits.
type typesSince [9]onnx.Opset

func (s typesSince) of(t layout.DType) onnx.Opset {
	switch t {
	case layout.Float16, layout.Float32, layout.Float64:
		return s[0]
	case layout.Bool, layout.String, layout.Complex64, layout.Complex128:
		return s[2]
	case layout.BFloat16:
		return s[3]
	case layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ:
		return s[4]
	case layout.Int4, layout.Uint4:
		return s[5]
	case layout.Float4E2M1:
		return s[6]
	case layout.Float8E8M0:
		return s[7]
	case layout.Int2, layout.Uint2:
		return s[8]
	}
	return s[1]
}

// axesForm gives axes as an attribute before opset 13 and as an input from it.
func axesForm(axes ...int64) func(onnx.Opset) (onnx.Attrs, [][]int64) {
	return func(v onnx.Opset) (onnx.Attrs, [][]int64) {
		if v < 13 {
			return onnx.Attrs{onnx.Ints("axes", axes...)}, nil
		}
		return nil, [][]int64{axes}
	}
}

// byRun calls an operator by name.
func byRun(tb testing.TB, op string, v onnx.Opset, attrs onnx.Attrs, x *tensor.Tensor, more [][]int64) (*tensor.Tensor, error) {
	tb.Helper()
	in := []onnx.Value{x}
	for _, list := range more {
		in = append(in, ints(tb, tensor.Host(), list...))
	}
	out, err := onnx.Run(op, v, attrs, in...)
	if err != nil {
		return nil, err
	}
	require.Len(tb, out, 1)
	return out[0].(*tensor.Tensor), nil
}

// bySession calls an operator in a model that was written and read again.
func bySession(tb testing.TB, op string, v onnx.Opset, attrs onnx.Attrs, x *tensor.Tensor, more [][]int64) (*tensor.Tensor, error) {
	tb.Helper()
	m := model.New(op, int64(v))
	names := []string{"x"}
	for i, list := range more {
		name := fmt.Sprint("more", i)
		names = append(names, name)
		m.Graph.Initializers = append(m.Graph.Initializers, constant(tb, name, list))
	}
	m.Graph.Inputs = []model.ValueInfo{input("x", x.DType())}
	m.Graph.Outputs = outputs("y")
	m.Graph.Nodes = []model.Node{node(op, "y", names, attrs...)}
	raw, err := m.Marshal()
	require.NoError(tb, err)
	m, err = model.Parse(raw, "")
	require.NoError(tb, err)
	sess, err := onnx.NewSession(x.Stream(), m)
	if err != nil {
		return nil, err
	}
	out, err := sess.Run(context.Background(), onnx.Values{"x": x})
	require.NoError(tb, sess.Close())
	if err != nil {
		return nil, err
	}
	return out.Tensor("y")
}

// TestTypes runs every operator at every opset with all 26 types, in every way
// to call it and with every view as its input.
func TestTypes(t *testing.T) {
	oldest := onnx.Opset(1)
	if race.Enabled {
		oldest = onnx.MaxOpset
	}
	for _, c := range operatorTests {
		if c.form == nil {
			continue
		}
		t.Run(c.op, func(t *testing.T) {
			for _, typ := range layout.DTypes() {
				t.Run(typ.String(), func(t *testing.T) {
					s := open(t)
					a := numbered(typ, 2, 1, 3, 4)
					for _, view := range views {
						x := uploadAs(t, a, s, typ, view)
						same(t, typ, a, x)
						for v := oldest; v <= onnx.MaxOpset; v++ {
							c.check(t, x, a, v)
						}
					}
				})
			}
		})
	}
}

func (c *operatorTest) check(t *testing.T, x *tensor.Tensor, a array, v onnx.Opset) {
	t.Helper()
	first := c.types.of(x.DType())
	allowed := first != 0 && v >= first
	require.Equal(t, allowed, onnx.Allows(c.op, v, x.DType()), "opset %d", v)
	attrs, more := c.form(v)
	for _, call := range []func() (*tensor.Tensor, error){
		func() (*tensor.Tensor, error) { return byRun(t, c.op, v, attrs, x, more) },
		func() (*tensor.Tensor, error) { return bySession(t, c.op, v, attrs, x, more) },
	} {
		y, err := call()
		switch {
		case v < onnx.Operators()[c.op][0]:
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, "the operator exists from opset")
		case allowed:
			require.NoError(t, err, "opset %d", v)
			typ := x.DType()
			if c.shape {
				typ = layout.Int64
			}
			same(t, typ, c.want(a), y)
			require.NoError(t, y.Release())
		case first == 0:
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("type %v is not allowed, in no version of %s", x.DType(), c.op))
		default:
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("type %v is not allowed; %s allows it from opset %d", x.DType(), c.op, first))
		}
	}
}

// TestOperators checks the versions against the list in ONNX 1.23, where Cast-28
// adds floats of 6 bits only, which are not known here.
func TestOperators(t *testing.T) {
	want := map[string][]onnx.Opset{}
	for _, c := range operatorTests {
		want[c.op] = c.versions
	}
	require.Equal(t, want, onnx.Operators())
	require.False(t, onnx.Allows("Reshape", 0, layout.Float32))
	require.False(t, onnx.Allows("Reshape", onnx.MaxOpset+1, layout.Float32))
	require.False(t, onnx.Allows("Reshape", 25, layout.Invalid))
	require.False(t, onnx.Allows("Conv", 25, layout.Float32))
}

// TestErrorsNameTheVersion: the version that runs is the newest that is not
// newer than the opset.
func TestErrorsNameTheVersion(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Int4, 2))
	for v, name := range map[onnx.Opset]string{1: "Reshape-1 of int4[2]:", 4: "Reshape-1 of int4[2]:", 5: "Reshape-5 of int4[2]:", 12: "Reshape-5 of int4[2]:", 13: "Reshape-13 of int4[2]:", 18: "Reshape-14 of int4[2]:", 20: "Reshape-19 of int4[2]:"} {
		_, err := onnx.Reshape(x, v, []int64{2})
		require.ErrorContains(t, err, name)
	}
	_, err := onnx.Reshape(x, 0, nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "the first is 1")
	_, err = onnx.Reshape(x, 29, nil)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "newest known here is 28")
	_, err = onnx.Run("Conv", 25, nil, x)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "Conv")
	_, err = onnx.Reshape(nil, 25, nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	released, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, released.Release())
	for _, call := range []func() (*tensor.Tensor, error){
		func() (*tensor.Tensor, error) { return onnx.Reshape(released, 25, []int64{2}) },
		func() (*tensor.Tensor, error) { return onnx.Shape(released, 25) },
		func() (*tensor.Tensor, error) { return runSize(released, 25) },
		func() (*tensor.Tensor, error) { return runIdentity(released, 25) },
	} {
		_, err := call()
		require.ErrorIs(t, err, tensor.ErrReleased)
	}
}
