package onnx_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "DepthToSpace", versions: []onnx.Opset{1, 11, 13, 28},
		note:  "`mode` from 11",
		types: typesSince{1, 1, 1, 13},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("blocksize", 1)}, nil },
		want:  func(a array) array { return a },
	}, operatorTest{
		op: "SpaceToDepth", versions: []onnx.Opset{1, 13, 28},
		note:  "`mode` from 28",
		types: typesSince{1, 1, 1, 13},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("blocksize", 1)}, nil },
		want:  func(a array) array { return a },
	})
}

// TestDepthToSpace: eight channels of one row of two pixels, of which each block
// takes four.
func TestDepthToSpace(t *testing.T) {
	s := open(t)
	x := filled(t, s, 1, 8, 1, 2)
	dcr := []int32{1, 5, 2, 6, 9, 13, 10, 14, 3, 7, 4, 8, 11, 15, 12, 16}
	crd := []int32{1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14, 16}
	for _, v := range []onnx.Opset{1, 10, 11, 13, 28} {
		hasValues(t, held(t)(runDepthToSpace(x, v, 2, "")), []int64{1, 2, 2, 4}, dcr...)
		if v >= 11 {
			hasValues(t, held(t)(runDepthToSpace(x, v, 2, "DCR")), []int64{1, 2, 2, 4}, dcr...)
			hasValues(t, held(t)(runDepthToSpace(x, v, 2, "CRD")), []int64{1, 2, 2, 4}, crd...)
		}
	}
	require.Equal(t, tensor.Copy, held(t)(runDepthToSpace(x, 13, 2, "")).Verdict().Kind)
	require.Equal(t, tensor.View, held(t)(runDepthToSpace(x, 13, 1, "CRD")).Verdict().Kind)
}

// TestSpaceToDepth: what DepthToSpace made, backwards.
func TestSpaceToDepth(t *testing.T) {
	s := open(t)
	x := filled(t, s, 1, 2, 2, 4)
	dcr := []int32{1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16}
	crd := []int32{1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14, 16}
	for _, v := range []onnx.Opset{1, 13, 28} {
		hasValues(t, held(t)(runSpaceToDepth(x, v, 2, "")), []int64{1, 8, 1, 2}, dcr...)
	}
	hasValues(t, held(t)(runSpaceToDepth(x, 28, 2, "DCR")), []int64{1, 8, 1, 2}, dcr...)
	hasValues(t, held(t)(runSpaceToDepth(x, 28, 2, "CRD")), []int64{1, 8, 1, 2}, crd...)
	for _, mode := range []string{"DCR", "CRD"} {
		deep := held(t)(runSpaceToDepth(x, 28, 2, mode))
		back := held(t)(runDepthToSpace(deep, 28, 2, mode))
		hasValues(t, back, []int64{1, 2, 2, 4}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	}
}

// TestBlocksOfNothing: an axis of extent 0 is a multiple of anything.
func TestBlocksOfNothing(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		in, deep, wide []int64 // wide nil: refused
		b              int64
	}{
		{[]int64{0, 4, 2, 2}, []int64{0, 16, 1, 1}, []int64{0, 1, 4, 4}, 2},
		{[]int64{2, 0, 3, 3}, []int64{2, 0, 1, 1}, []int64{2, 0, 9, 9}, 3},
		{[]int64{1, 9, 0, 6}, []int64{1, 81, 0, 2}, []int64{1, 1, 0, 18}, 3},
		{[]int64{1, 0, 0, 0}, []int64{1, 0, 0, 0}, []int64{1, 0, 0, 0}, math.MaxInt32},
	} {
		x := filled(t, s, c.in...)
		hasValues(t, held(t)(runSpaceToDepth(x, 13, c.b, "")), c.deep)
		hasValues(t, held(t)(runDepthToSpace(x, 13, c.b, "CRD")), c.wide)
	}
}

func TestBlockErrors(t *testing.T) {
	s := open(t)
	x := filled(t, s, 1, 6, 4, 6)
	flat := filled(t, s, 4, 4)
	tall := filled(t, s, 0, 0, 1<<62, 1)
	deep := filled(t, s, 0, 1<<62, 0, 0)
	for _, c := range []struct {
		op   string
		v    onnx.Opset
		x    *tensor.Tensor
		b    int64
		mode string
		says string
	}{
		{"DepthToSpace", 13, x, 2, "", "DepthToSpace-13 of int32[1,6,4,6]: 6 channels, axis 1, are no multiple of 4, the square of blocksize 2"},
		{"DepthToSpace", 13, x, 3, "", "no multiple of 9"},
		{"DepthToSpace", 13, x, 0, "", "DepthToSpace-13: blocksize is 0; it must be positive"},
		{"DepthToSpace", 1, x, -2, "", "DepthToSpace-1: blocksize is -2"},
		{"DepthToSpace", 11, x, 1, "dcr", `mode is "dcr"; it must be DCR or CRD`},
		{"DepthToSpace", 10, x, 1, "CRD", `attribute "mode" does not belong to this version; DepthToSpace-11 has it`},
		{"DepthToSpace", 13, flat, 1, "", "DepthToSpace-13 of int32[4,4]: the input has 2 axes; it must have 4: N, C, H, W"},
		{"DepthToSpace", 13, tall, 2, "", "times blocksize 2, overflow int64"},
		{"SpaceToDepth", 13, x, 4, "", "SpaceToDepth-13 of int32[1,6,4,6]: extent 6 of axis 3 is no multiple of blocksize 4"},
		{"SpaceToDepth", 1, x, 3, "", "extent 4 of axis 2 is no multiple of blocksize 3"},
		{"SpaceToDepth", 1, x, 0, "", "blocksize is 0; it must be positive"},
		{"SpaceToDepth", 13, x, 2, "CRD", `attribute "mode" does not belong to this version; SpaceToDepth-28 has it`},
		{"SpaceToDepth", 28, x, 2, "CDR", `mode is "CDR"`},
		{"SpaceToDepth", 13, flat, 2, "", "the input has 2 axes"},
		{"SpaceToDepth", 13, deep, 2, "", "channels, axis 1, times 4, the square of blocksize 2, overflow int64"},
		{"SpaceToDepth", 13, nil, 2, "", "SpaceToDepth-13: input 0 is missing"},
	} {
		call := runDepthToSpace
		if c.op == "SpaceToDepth" {
			call = runSpaceToDepth
		}
		_, err := call(c.x, c.v, c.b, c.mode)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runDepthToSpace(x, 13, math.MaxInt64, "")
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "the largest supported is 2147483647")
	for _, op := range []string{"DepthToSpace", "SpaceToDepth"} {
		_, err := onnx.Run(op, 13, nil, x)
		require.ErrorContains(t, err, "attribute blocksize is missing")
		_, err = onnx.Run(op, 28, onnx.Attrs{onnx.Int("blocksize", 1), onnx.Int("mode", 1)}, x)
		require.ErrorContains(t, err, `attribute "mode" is of kind int, want string`)
	}
	s.ForbidCopies(true)
	_, err = runSpaceToDepth(x, 13, 2, "")
	require.ErrorIs(t, err, tensor.ErrCopy)
	s.ForbidCopies(false)
	require.Equal(t, layout.Int32, held(t)(runSpaceToDepth(x, 13, 2, "")).DType())
}
