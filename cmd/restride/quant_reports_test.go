package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestQuantReports holds the command against public reports on weights, where these are at hand:
// folders with in and expected.safetensors.
func TestQuantReports(t *testing.T) {
	const reports = "../../../shared/reports/quant"
	found, err := filepath.Glob(filepath.Join(reports, "*", "expected*"))
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("there are no reports in ", reports)
	}
	for _, expected := range found {
		folder := filepath.Dir(expected)
		if !strings.HasSuffix(expected, ".safetensors") {
			continue
		}
		t.Run(filepath.Base(folder), func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(folder, "in")); err != nil {
				t.Skip("no input")
			}
			source, output := filepath.Join(folder, "in"), filepath.Join(t.TempDir(), "out.safetensors")
			if _, name, ok := strings.Cut(filepath.Base(expected), "expected-"); ok {
				source = filepath.Join(source, strings.TrimSuffix(name, ".safetensors")+".gguf")
			}
			_, err := restride("repack", source, "--to", "float32", "--output", output)
			require.NoError(t, err)
			want, _ := contents(t, expected)
			got, _ := contents(t, output)
			for name, b := range want {
				assert.True(t, slices.Equal(floats(b), floats(got[name])), name)
			}
		})
	}
}
