package onnxpb

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The committed code is the output of go generate.
func TestGeneratedCodeIsUpToDate(t *testing.T) {
	version, err := exec.Command("protoc", "--version").Output()
	if err != nil || !strings.Contains(string(version), " 3.21.") {
		t.Skipf("needs protoc 3.21 (Debian: protobuf-compiler); there is %q, %v", version, err)
	}
	out := filepath.Join(t.TempDir(), "onnx.pb.go")
	log, err := exec.Command("sh", "generate.sh", out).CombinedOutput()
	require.NoError(t, err, string(log))
	want, err := os.ReadFile(out)
	require.NoError(t, err)
	got, err := os.ReadFile("onnx.pb.go")
	require.NoError(t, err)
	assert.True(t, string(want) == string(got), "run go generate ./internal/onnxpb")
}

// The package's own message names allow a program to link another ONNX package, too.
func TestNamesAreOurOwn(t *testing.T) {
	file := File_github_com_restride_restride_internal_onnxpb_onnx_proto
	assert.Equal(t, "restride.onnx", string(file.Package()))
	assert.Equal(t, "github.com/restride/restride/internal/onnxpb/onnx.proto", file.Path())
}
