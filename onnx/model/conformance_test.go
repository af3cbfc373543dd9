package model

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brokenUpstream holds numpy's pointers in place of twelve strings.
const brokenUpstream = "v1.4.1-test_cast_FLOAT_to_STRING/test_data_set_0/output_0.pb"

// TestONNXNodeTests reads all of ONNX's own node tests that are at hand, and
// every data file by the type that the model gives it.
func TestONNXNodeTests(t *testing.T) {
	root := os.Getenv("RESTRIDE_ONNX_TESTS")
	if root == "" {
		root = filepath.FromSlash("../../build/onnx-cases") // see scripts/cases.sh
	}
	if _, err := os.Stat(root); err != nil {
		t.Skipf("ONNX's node tests are not here (RESTRIDE_ONNX_TESTS): %v", err)
	}
	models, values := 0, 0
	types := map[layout.DType]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "model.onnx" {
			return err
		}
		m, err := Load(path)
		if !assert.NoError(t, err) {
			return nil
		}
		models++
		assertRoundTrip(t, m)
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "test_data_set_*", "*.pb"))
		require.NoError(t, err)
		for _, file := range files {
			list := m.Graph.Outputs
			if strings.HasPrefix(filepath.Base(file), "input_") {
				list = m.Graph.Inputs
			}
			var i int
			_, err := fmt.Sscanf(filepath.Base(file)[strings.Index(filepath.Base(file), "_")+1:], "%d.pb", &i)
			require.NoError(t, err, file)
			require.Less(t, i, len(list), file)
			v, err := LoadValue(file, list[i].Type)
			if strings.HasSuffix(filepath.ToSlash(file), brokenUpstream) {
				assert.ErrorIs(t, err, layout.ErrInvalid)
				continue
			}
			if !assert.NoError(t, err) {
				continue
			}
			values++
			assertCanonical(t, v)
			if v.Kind == TensorType {
				types[v.Tensor.Type]++
				// Up to ONNX 1.18 data files hold bfloat16 as uint16.
				if list[i].Type.Elem != layout.BFloat16 || v.Tensor.Type != layout.Uint16 {
					assert.Equal(t, list[i].Type.Elem, v.Tensor.Type, file)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	assert.NotZero(t, models)
	t.Logf("%d models, %d values, by type %v", models, values, types)
}
