package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// array is the oracle's tensor.
type array = ndarray.Array

var (
	count    = ndarray.Count
	numbered = ndarray.Numbered
	numbers  = ndarray.Ints[int64]
	sliced   = ndarray.Sliced
	zeroOf   = ndarray.Zero
	each     = ndarray.Each
	views    = ndarray.Views
)

// upload returns a contiguous tensor with the elements of a, and uploadAs one that lies
// in memory as said.
func upload(tb testing.TB, a array, s *tensor.Stream, t layout.DType) *tensor.Tensor {
	tb.Helper()
	return held(tb)(a.Upload(s, t))
}

func uploadAs(tb testing.TB, a array, s *tensor.Stream, t layout.DType, view string) *tensor.Tensor {
	tb.Helper()
	return held(tb)(a.UploadAs(s, t, view))
}

// download reads a tensor of any layout.
func download(tb testing.TB, x *tensor.Tensor) array {
	tb.Helper()
	a, err := ndarray.Download(x)
	require.NoError(tb, err)
	return a
}

// same checks type, shape and every element.
func same(tb testing.TB, t layout.DType, want array, got *tensor.Tensor) {
	tb.Helper()
	require.NoError(tb, want.Compare(t, got))
}
