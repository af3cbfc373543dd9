package onnxruntime_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride" // all devices
	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// installed is where setup.sh puts packages.
const installed = "../../build/onnxruntime"

// needed returns the first file that matches a pattern among setup.sh's packages.
func needed(tb testing.TB, pattern string) string {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(installed, pattern))
	require.NoError(tb, err)
	if len(found) == 0 {
		devicetest.Require(tb, "onnxruntime", fmt.Errorf("%s: %w: setup.sh installs it", filepath.Join(installed, pattern), fs.ErrNotExist))
	}
	return found[0]
}

// library returns the path of ONNX Runtime's library: RESTRIDE_ONNXRUNTIME, or setup.sh's.
func library(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("RESTRIDE_ONNXRUNTIME"); path != "" {
		return path
	}
	return needed(tb, "onnxruntime/capi/libonnxruntime.so.*")
}

func newEngine(tb testing.TB) *onnxruntime.Engine {
	tb.Helper()
	e, err := onnxruntime.New(onnxruntime.Options{Library: library(tb)})
	require.NoError(tb, err)
	return e
}

// openOn returns a stream on a device of that name, which must be empty in the end.
func openOn(tb testing.TB, name string) *tensor.Stream {
	tb.Helper()
	dev, err := device.Open(name)
	backend, _, _ := strings.Cut(name, ":")
	devicetest.Require(tb, backend, err)
	s, err := tensor.NewStream(dev)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, s.Wait())
		require.Zero(tb, dev.Stats().Buffers, "buffers left in use")
		require.NoError(tb, s.Close())
		require.NoError(tb, dev.Close())
	})
	tensor.CheckLeaks(tb, tensor.Host())
	return s
}

func newSession(tb testing.TB, s *tensor.Stream, m *model.Model, p onnx.Provider) *onnx.Session {
	tb.Helper()
	sess, err := onnx.NewSession(s, m, onnx.WithOperators(p))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, sess.Close()) })
	return sess
}

// held releases a new tensor when the test ends.
func held(tb testing.TB) func(*tensor.Tensor, error) *tensor.Tensor {
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		tb.Helper()
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, x.Release()) })
		return x
	}
}
