package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
)

// needed returns the first file that matches a pattern among setup.sh's packages.
func needed(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("../../../build/onnxruntime", pattern))
	require.NoError(t, err)
	if len(found) == 0 {
		devicetest.Require(t, "onnxruntime", fmt.Errorf("%s: %w: setup.sh installs it", pattern, fs.ErrNotExist))
	}
	return found[0]
}

// TestRun: a real model, and what it needs to be told.
func TestRun(t *testing.T) {
	library := needed(t, "onnxruntime/capi/libonnxruntime.so.*")
	path := needed(t, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx")
	var out strings.Builder
	require.NoError(t, run([]string{"-library", library, "-rounds", "1", "-shape", "x=1x3x48x192", path}, &out), out.String())
	require.Regexp(t, `(?m)^output "[^"]+": float\[1,2\], differs by at most `, out.String())
	require.Regexp(t, `(?m)^\d+ nodes in \d+ groups of ONNX Runtime, `, out.String())
	require.Contains(t, out.String(), "median of 1 runs: ")

	out.Reset()
	require.NoError(t, run([]string{"-library", library, "-explain", "-shape", "x=1x3x48x192", path}, &out), out.String())
	require.Regexp(t, `(?m)^\d+ +Reshape-\d+ .* foreign +an engine's: between `, out.String())

	for says, args := range map[string][]string{
		"give one model":      nil,
		"want NAME=VALUE":     {"-dim", "batch", path},
		"-shape x=1xtwo":      {"-library", library, "-shape", "x=1xtwo", path},
		"input_0.pb: no such": {"-library", library, "-inputs", t.TempDir(), path},
		"no such file":        {"-library", library, "nowhere.onnx"},
		`no device: "gpu"`:    {"-library", library, "-device", "gpu", path},
	} {
		require.ErrorContains(t, run(args, &strings.Builder{}), says)
	}
}
