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
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
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

// The memory of released tensors is the device's until Trim.
func Example_trim() {
	s := must(tensor.Open("cpu"))
	defer s.Close()
	x := must(tensor.Empty(s, layout.Float32, 1<<20))
	_ = x.Release()
	fmt.Println(s.Device().Stats().Reserved)

	if t, ok := device.As[device.Trimmer](s.Device()); ok {
		_ = s.Wait() // for work that may use the memory
		_ = t.Trim()
	}
	fmt.Println(s.Device().Stats().Reserved)
	// Output:
	// 4194304
	// 0
}

// An ability that not every device has.
func Example_ability() {
	s := must(tensor.Open("cpu"))
	defer s.Close()
	recorder, ok := device.As[device.Recorder](s.Queue())
	fmt.Println(recorder != nil, ok)
	// Output: true true
}

// The programs in docs/embedding.md are parts of ones that tests run, whatever the indentation.
func TestEmbeddingDocument(t *testing.T) {
	page := string(must(os.ReadFile("docs/embedding.md")))
	for begin, runs := range map[string]string{
		"package main\n":     "examples/kernel/opencl/main.go", // by the tests of package opencl
		"func scale(":        "examples/kernel/cpu/main.go",    // and of package cpu
		"if t, ok := device": "example_test.go",
	} {
		_, rest, found := strings.Cut(page, "\n```go\n"+begin)
		require.True(t, found, begin)
		program, _, found := strings.Cut(begin+rest, "```\n")
		require.True(t, found, begin)
		flat := strings.NewReplacer("\t", "")
		assert.Contains(t, flat.Replace(string(must(os.ReadFile(runs)))), flat.Replace(program))
	}
}
