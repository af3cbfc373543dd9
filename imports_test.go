package restride_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/restride/restride"

// policy says what each package may import of this module (and of other
// modules, which are named in full) beside the standard library. A package that
// is not listed fails the test: its place is to be decided here first.
var policy = map[string][]string{
	"":                         {"cpu", "cuda", "opencl"},
	"layout":                   {},
	"device":                   {"layout", "internal/nearest", "internal/quote", "device/budget"},
	"device/budget":            {"layout", "internal/sysmem"},
	"internal/arguments":       {"layout", "device", "internal/quote"},
	"internal/backend":         {"layout", "device", "internal/numeric", "internal/indexing"},
	"internal/oracle":          {"layout", "device", "internal/numeric", "internal/rounding", "internal/indexing"},
	"device/devicetest":        {"layout", "device", "internal/backend", "internal/oracle", "internal/race", "internal/soak", "github.com/stretchr/testify", "internal/rounding", "internal/indexing"},
	"cpu":                      {"layout", "device", "internal/arguments", "internal/backend", "device/budget", "internal/nest", "internal/plankey", "internal/hugemem", "internal/numeric", "internal/simd", "internal/sysmem", "internal/rounding", "internal/indexing", "internal/quote"},
	"internal/planner":         {"kernels", "layout", "device", "internal/backend", "internal/nest", "internal/plankey", "internal/numeric", "internal/rounding", "internal/indexing"},
	"kernels":                  {},
	"kernels/emit":             {"internal/planner"},
	"internal/launches":        {"internal/backend", "internal/planner", "internal/bench/cases", "internal/oracle", "layout"},
	"kernels/model":            {"internal/planner", "internal/launches", "layout", "internal/bench/cases", "internal/cudakernels", "internal/oracle", "internal/ptx"},
	"kernels/plans":            {"internal/planner", "internal/launches", "internal/bench/cases", "internal/cudakernels", "internal/oracle"},
	"opencl":                   {"layout", "device", "internal/arguments", "internal/planner", "internal/dl", "internal/file", "internal/glcontext", "internal/gpu", "internal/hugemem", "internal/quote"},
	"cuda":                     {"layout", "device", "internal/arguments", "internal/planner", "internal/cudakernels", "internal/dl", "internal/glcontext", "internal/gpu", "internal/quote"},
	"cuda/ptxzip":              {},
	"cuda/cubins":              {"internal/cudakernels", "internal/planner"},
	"internal/cudakernels":     {"internal/planner", "internal/file"},
	"internal/ptxtest":         {"device", "internal/planner", "internal/cudakernels", "internal/gpu", "internal/ptx"},
	"tensor":                   {"layout", "device", "internal/backend", "cpu", "internal/ndformat", "internal/numeric", "device/budget", "internal/quote", "internal/padding", "internal/indexing", "internal/shapes"},
	"bench":                    {"layout", "device", "internal/clock", "cpu", "tensor", "internal/oracle", "internal/bench/cases", "internal/bench/report", "internal/bench/peers", "internal/quote"},
	"internal/bench/cases":     {"layout", "device", "internal/oracle", "internal/quote"},
	"internal/bench/report":    {"layout", "device", "device/budget", "internal/file", "internal/quote"},
	"internal/bench/peers":     {"layout", "internal/oracle", "internal/bench/cases", "internal/bench/report", "internal/quote"}, // and a module of its own, for libraries in Go
	"internal/bench/page":      {"internal/bench/report", "gonum.org/v1/plot"},
	"internal/bench/benchtest": {"layout", "device", "internal/oracle", "bench", "internal/bench/cases", "internal/bench/report"},
	"bench/results":            {"internal/bench/cases", "internal/bench/report", "internal/file", "internal/quote"},
	"checkpoint":               {"layout", "device/budget", "internal/file", "internal/jsontext", "internal/quote"},
	"quant":                    {"layout", "internal/digits", "device", "tensor", "checkpoint", "internal/nearest", "internal/quote"},
	"internal/digits":          {"layout", "internal/quote"},
	"order":                    {"layout", "internal/digits", "internal/quote", "tensor"},
	"quant/generate":           {"checkpoint", "quant", "internal/file"},
	"dlpack":                   {"layout", "device", "cpu", "tensor", "internal/dl"},
	"pipeline":                 {"layout", "device", "device/budget", "tensor"},
	"onednn":                   {"layout", "device", "tensor"},
	"onnx":                     {"layout", "device", "internal/dry", "internal/infer", "internal/numeric", "internal/padding", "internal/quote", "tensor", "onnx/model", "device/budget", "internal/shapes"},
	"onnx/model":               {"layout", "internal/file", "internal/onnxpb", "internal/quote", "google.golang.org/protobuf", "device/budget"},

	// With the tag gogl: without it, gl is empty (TestTagged).
	"gl":          {"layout", "device", "internal/backend", "tensor", "internal/dl", "internal/glcontext", "github.com/go-gl/gl"},
	"gl/headless": {"layout", "device", "internal/dl", "internal/egl"},
	"examples/gl": {"", "layout", "device", "opencl", "tensor", "gl", "gl/headless", "internal/file", "github.com/go-gl/gl"},

	"internal/gpu":         {"layout", "device", "internal/arguments", "internal/backend", "device/budget", "internal/planner", "internal/glcontext", "internal/quote"},
	"internal/gpu/gputest": {"layout", "device", "cpu", "internal/dl", "internal/egl", "internal/glcontext", "internal/gpu", "internal/race", "github.com/stretchr/testify"},
	"internal/ptx":         {},
	"internal/dry":         {"layout", "device", "internal/backend"},
	"internal/infer":       {"layout", "internal/numeric", "onnx/model"},
	"internal/cudasim":     {"internal/dl"}, // builds the simulated driver, for tests
	"internal/dl":          {"internal/quote", "github.com/ebitengine/purego"},
	"internal/egl":         {"internal/dl"},
	"internal/glcontext":   {"internal/dl"},
	"internal/hugemem":     {},
	"internal/sysmem":      {"golang.org/x/sys"},
	"internal/clock":       {"golang.org/x/sys"},
	"internal/simd":        {"golang.org/x/sys"},
	"internal/onnxpb":      {"google.golang.org/protobuf"},
	"internal/file":        {"internal/quote", "golang.org/x/sys"},
	"internal/jsontext":    {},
	"internal/nearest":     {},
	"internal/quote":       {},
	"internal/race":        {},
	"internal/readme":      {"github.com/stretchr/testify"}, // of the modules in adapters
	"internal/soak":        {},
	"internal/numeric":     {"layout"},
	"internal/plankey":     {"layout"},
	"internal/rounding":    {"layout", "device", "internal/numeric"},
	"internal/ndformat":    {"layout", "internal/numeric"},
	"internal/nest":        {"layout"},
	"internal/padding":     {"layout", "internal/quote"},
	"internal/indexing":    {"layout"},
	"internal/shapes":      {"layout"},
	"internal/npy":         {"layout"},
	"internal/ndarray":     {"layout", "tensor"},
	"internal/fraction":    {"layout", "device", "internal/numeric", "internal/rounding"},
	"internal/faults":      {"layout", "device", "pipeline", "tensor"}, // of drivers, for tests
	"internal/graphs":      {"layout", "device", "tensor", "onnx", "onnx/model", "internal/fraction", "internal/ndarray", "internal/numeric"},
	"internal/adversary":   {"layout", "cuda", "internal/cudasim", "internal/bench/cases", "internal/bench/page", "internal/bench/peers", "internal/bench/report", "checkpoint", "device", "device/budget", "internal/oracle", "quant", "tensor", "dlpack", "onnx", "onnx/model", "internal/fraction", "internal/graphs", "internal/ndarray", "internal/npy", "internal/numeric", "internal/onnxpb", "internal/race", "google.golang.org/protobuf"},

	"cmd/restride": {
		"", "layout", "device", "internal/backend", "internal/launches", "internal/oracle", "bench", "internal/bench/cases", "internal/bench/page", "internal/bench/peers", "internal/bench/report", "tensor", "onnx", "onnx/model", "checkpoint", "order", "quant", "pipeline", "internal/file", "internal/nearest", "internal/jsontext", "internal/npy", "internal/numeric", "internal/quote", "internal/simd", "device/budget", "internal/sysmem",
		"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term",
	},
	"cmd/soak":           {"", "internal/adversary"},
	"examples/attention": {"layout", "onnx", "onnx/model"},

	"examples/gpt": {"", "layout", "device", "cpu", "opencl", "cuda", "tensor", "checkpoint", "onnx", "onnx/model", "internal/dl"},

	"examples/kernel/cpu":    {"layout", "device", "cpu", "tensor"},
	"examples/kernel/opencl": {"layout", "device", "opencl", "tensor"},
	"examples/kernel/cuda":   {"layout", "device", "cuda", "tensor"},
	"examples/pipeline":      {"", "layout", "onnx", "onnx/model", "pipeline", "tensor"},
}

// TestImports keeps the arrows between packages true: layout knows nothing of
// memory, the oracle nothing of the devices that it checks, and so on.
func TestImports(t *testing.T) {
	assert.Equal(t, len(policy), checkImports(t, "./..."), "the policy lists packages that are gone")
}

// TestTagged: with its tag package gl follows the policy, too; without, nothing is built of
// the module that it needs.
func TestTagged(t *testing.T) {
	assert.Equal(t, 3, checkImports(t, "-tags=gogl", "./gl/...", "./examples/gl"))
	without, err := exec.Command("go", "list", "-deps", "./...").Output()
	require.NoError(t, err)
	assert.NotContains(t, string(without), "github.com/go-gl")
}

// checkImports holds packages, as go list takes them, against the policy, and returns how
// many they are.
func checkImports(t *testing.T, packages ...string) (seen int) {
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports"}, packages...)...).Output()
	require.NoError(t, err)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; seen++ {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		err := dec.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return seen
		}
		require.NoError(t, err)
		name := local(pkg.ImportPath)
		allowed, listed := policy[name]
		if !assert.True(t, listed, "package %q is not in the import policy", name) {
			continue
		}
		for _, path := range pkg.Imports {
			if path == "C" || !strings.Contains(strings.Split(path, "/")[0], ".") {
				assert.NotEqual(t, "C", path, "%s uses cgo; the default build must not", name)
				continue
			}
			ok := slices.ContainsFunc(allowed, func(a string) bool {
				if strings.Contains(a, ".") { // another module: any of its packages
					return path == a || strings.HasPrefix(path, a+"/")
				}
				return path == strings.TrimSuffix(module+"/"+a, "/")
			})
			assert.True(t, ok, "%s imports %s, which its policy does not allow", name, path)
		}
	}
}

// TestFilesAreOpenedInOneWay: all that is not the system's own is opened by
// internal/file, which waits for no pipe and reads no more than is allowed.
func TestFilesAreOpenedInOneWay(t *testing.T) {
	own := map[string]bool{ // the system's files, and tools of developers
		"internal/file": true, "internal/sysmem": true, "internal/adversary": true,
		"bench/host.go": true, "cpu/host_linux.go": true,
		"internal/simd/asm": true, "kernels/emit": true, "kernels/plans": true, "kernels/model": true, "cuda/ptxzip": true, "cuda/cubins": true,
		"adapters/onnxruntime/compare": true, "adapters/gomlx/internal/generate": true, "internal/licenses": true, "internal/readme": true,
	}
	opens := regexp.MustCompile(`\bos\.(Open\w*|ReadFile|WriteFile|Create)\(`)
	seen := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		path = filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case own[path]:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || path == "build"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		assert.Empty(t, opens.FindAllString(string(text), -1), path)
		seen++
		return err
	}))
	assert.Greater(t, seen, 300)
}

// TestOracleIsOnItsOwn: not even by way of others do the oracle and the cpu device
// have code in common that moves elements.
func TestOracleIsOnItsOwn(t *testing.T) {
	for name, apart := range map[string][]string{
		"internal/oracle": {"cpu", "internal/simd", "internal/planner"},
		"cpu":             {"internal/oracle", "internal/planner"},
	} {
		out, err := exec.Command("go", "list", "-deps", "./"+name).Output()
		require.NoError(t, err)
		deps := strings.Fields(string(out))
		require.Contains(t, deps, module+"/layout")
		for _, other := range apart {
			assert.NotContains(t, deps, module+"/"+other, "%s needs %s", name, other)
		}
	}
}

// TestLightDevices: whoever imports a tensor and a device builds no modules but these two.
func TestLightDevices(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"tensor", "cpu", "opencl", "cuda"} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+name).Output()
		require.NoError(t, err)
		for _, path := range strings.Fields(string(out)) {
			seen[path] = true
		}
		assert.Subset(t, []string{module, "github.com/ebitengine/purego", "golang.org/x/sys"}, slices.Collect(maps.Keys(seen)), name)
	}
	assert.Len(t, seen, 3)
}

// TestDrawing holds CONTRIBUTING's drawing against the policy: every package stands
// above those that it may import, and in the table of folders below.
func TestDrawing(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "```\n")
	drawing, rest, found := strings.Cut(rest, "```\n")
	require.True(t, found, "there is no drawing")
	line := map[string]int{}
	for i, words := range strings.Split(drawing, "\n") {
		for _, word := range strings.Fields(words) {
			if name := strings.TrimPrefix(word, path.Base(module)); policy[name] != nil {
				assert.NotContains(t, line, name, "drawn twice")
				line[name] = i
			}
		}
	}
	for name, allowed := range policy {
		require.Contains(t, line, name, "not drawn")
		for _, other := range allowed {
			if !strings.Contains(other, ".") {
				assert.Less(t, line[name], line[other], "%s may import %s, and is not above it", name, other)
			}
		}
		if name != "" {
			assert.Contains(t, rest, "`"+name+"`", "not in the table")
		}
	}
}

// TestPublicPackages: the root's documentation lists every package that programs can import,
// docs/stability.md says which of them are stable, and neither names others.
func TestPublicPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags=gogl", "-f", "{{.Name}} {{.ImportPath}}", "./...").Output()
	require.NoError(t, err)
	var public []string
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		name, path, _ := strings.Cut(line, " ")
		if path = local(path); name != "main" && path != "" && !strings.HasPrefix(path, "internal/") {
			public = append(public, path)
		}
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var listed []string
	for _, found := range regexp.MustCompile(`(?m)^//   - ([\w/]+): \S`).FindAllStringSubmatch(string(doc), -1) {
		listed = append(listed, found[1])
	}
	assert.ElementsMatch(t, public, listed, "doc.go")

	page, err := os.ReadFile("docs/stability.md")
	require.NoError(t, err)
	_, levels, _ := strings.Cut(string(page), "|---|---|---|\n")
	levels, _, _ = strings.Cut(levels, "\n\n")
	var promised []string
	for _, row := range strings.Split(levels, "\n") {
		for _, found := range regexp.MustCompile("`([\\w/]+)`").FindAllStringSubmatch(strings.Split(row, "|")[2], -1) {
			promised = append(promised, found[1])
		}
	}
	for _, path := range public {
		if !strings.HasPrefix(path, "bench/") { // with bench
			assert.Contains(t, promised, path, "docs/stability.md")
		}
	}
	for _, path := range promised {
		assert.Contains(t, append(public, "restride", "internal"), path, "docs/stability.md")
	}
}

// TestDocuments: what documents link to and what CONTRIBUTING names is there, and a
// name after a file's is in that file.
func TestDocuments(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "*/*.md", "*/*/README.md"} {
		more, err := filepath.Glob(pattern)
		require.NoError(t, err)
		documents = append(documents, more...)
	}
	link := regexp.MustCompile(`\]\(([\w./-]+[./][\w.-]+)(#[^)]*)?\)`)
	named := regexp.MustCompile("`([a-z/_0-9]+/[a-z_0-9]+\\.[a-z]+)`(?:, `(\\w+)`)?(?: and `(\\w+)`)?")
	for _, document := range documents {
		if strings.HasPrefix(document, "build") {
			continue
		}
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, found := range link.FindAllSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(document), string(found[1])))
			assert.NoError(t, err, document)
		}
		if document != "CONTRIBUTING.md" {
			continue
		}
		for _, found := range named.FindAllSubmatch(text, -1) {
			file, err := os.ReadFile(string(found[1]))
			assert.NoError(t, err)
			for _, name := range found[2:] {
				assert.Contains(t, string(file), string(name), string(found[1]))
			}
		}
	}
}

func local(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}
