package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/race"
)

// TestMemory: at least what a file becomes in memory is counted, for each kind of part that a
// file can have many of.
func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector's memory is several times the program's")
	}
	const n = 20_000
	var tensors, metadata, index strings.Builder
	for i := range n {
		fmt.Fprintf(&tensors, `"%d":{"dtype":"U8","shape":[1,1,1],"data_offsets":[%d,%d]},`, i, i, i+1)
		fmt.Fprintf(&metadata, `"%d":"",`, i)
		fmt.Fprintf(&index, `"%d":"model.safetensors",`, i)
	}
	list := strings.TrimSuffix(index.String(), ",")
	file := safetensors("{"+strings.TrimSuffix(tensors.String(), ",")+"}", make([]byte, n)...)
	for name, files := range map[string]map[string][]byte{
		"tensors":  {"model.safetensors": file},
		"metadata": {"model.safetensors": safetensors(`{"__metadata__":{` + strings.TrimSuffix(metadata.String(), ",") + `}}`)},
		"listed":   {"model.safetensors": file, "model.safetensors.index.json": []byte(`{"weight_map":{` + list + `}}`)},
		"gguf":     {"model.gguf": manyGGUF(n)},
	} {
		dir := t.TempDir()
		for name, content := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		memory := func() (heap, counted int64) {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc), budget.Process().InUse()
		}
		heap, counted := memory()
		c, err := Open(dir)
		require.NoError(t, err, name)
		heapNow, countedNow := memory()
		t.Logf("%s: %d bytes a part, %d counted", name, (heapNow-heap)/n, (countedNow-counted)/n)
		assert.GreaterOrEqual(t, countedNow-counted, heapNow-heap, name)
		require.NoError(t, c.Close())
	}
}

// manyGGUF is a file of n entries of metadata and as many tensors.
func manyGGUF(n int) []byte {
	var b bytes.Buffer
	b.Write(gguf(uint32(versionGGUF), n, n))
	for i := range n {
		b.Write(gguf(fmt.Sprint(i), uint32(typeUint8), []byte{1})[len(magicGGUF):])
	}
	for i := range n {
		b.Write(gguf(fmt.Sprint(i), uint32(1), 1, uint32(0), 32*i)[len(magicGGUF):])
	}
	b.Write(make([]byte, 32*n+64))
	return b.Bytes()
}
