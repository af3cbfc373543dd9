package restride_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride"
	"github.com/restride/restride/tensor"
)

// must ends the program with an error, if there is one.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// The README's program: a view, a copy on the device, and two transfers.
func Example() {
	s := must(tensor.Open("auto")) // a GPU, or else the CPU
	defer s.Close()
	x := must(tensor.FromSlice(s, make([]float32, 8*512*16*64), 8, 512, 16, 64))
	defer x.Release()
	y := must(x.Transpose(0, 2, 1, 3))
	defer y.Release()
	z := must(y.Reshape(8, 16, -1)) // no view can express it
	defer z.Release()
	host := must(tensor.Values[float32](z))
	fmt.Println(x.Verdict().Kind, y.Verdict().Kind, z.Verdict().Kind, z.Shape(), len(host))
	// Output: transfer view copy [8,16,32768] 4194304
}

// The lines of Go in the README are those of Example.
func TestReadme(t *testing.T) {
	readme := must(os.ReadFile("README.md"))
	_, rest, found := strings.Cut(string(readme), "\n```go\n")
	require.True(t, found)
	lines, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	assert.Contains(t, string(must(os.ReadFile("example_test.go"))),
		"func Example() {\n\t"+strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n\t")+"\n\t// Output: ")
}

// The program and the Go kernel in docs/embedding.md are those that the tests of packages opencl
// and cpu run.
func TestEmbeddingDocument(t *testing.T) {
	_, rest, _ := strings.Cut(string(must(os.ReadFile("docs/embedding.md"))), "\n```go\n")
	for _, example := range []string{"opencl", "cpu"} {
		code, after, found := strings.Cut(rest, "```\n")
		require.True(t, found)
		assert.Contains(t, string(must(os.ReadFile("examples/kernel/"+example+"/main.go"))), code)
		_, rest, _ = strings.Cut(after, "\n```go\n")
	}
}
