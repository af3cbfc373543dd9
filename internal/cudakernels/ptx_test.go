package cudakernels

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/race"
)

// byValue is the number of the argument that is a launch's parameters, as in package cuda.
const byValue = 2

// A folder of programs is in place of the archive's, of which it need not have all.
func TestPTXFolder(t *testing.T) {
	in := t.TempDir()
	t.Setenv(ptxFolder, in)
	one, other := planner.Spec{Form: planner.Element, DstBits: 32, SrcBits: 32}, planner.Spec{Form: planner.Element, DstBits: 64, SrcBits: 64}
	require.NoError(t, os.WriteFile(filepath.Join(in, "element_32.ptx"), []byte("// another"), 0o600))
	text, err := PTX(one)
	require.NoError(t, err)
	assert.Equal(t, "// another", string(text))
	text, err = PTX(other)
	require.NoError(t, err)
	assert.Contains(t, string(text), "element_64")
	require.NoError(t, os.Mkdir(filepath.Join(in, "element_64.ptx"), 0o700))
	_, err = PTX(other)
	require.Error(t, err, "what is there, and cannot be read")
}

// TestBugFusedArithmetic: compilers must not fuse a product and a sum in dequantize and blocks,
// which would round once instead of twice. Without a rounding mode in the instruction,
// assemblers do.
func TestBugFusedArithmetic(t *testing.T) {
	if race.Enabled {
		t.Skip("a search in text")
	}
	// Fused on purpose in blocks: a product rounded to an integer.
	meant := regexp.MustCompile(`fma\.rn\.f32\s+%f\d+, %f\d+, %f\d+, 0f4B00000[024];`)
	// Fused on purpose in codes: four steps of the quotients of an item's 16 elements
	// (divisor.h).
	corrections := regexp.MustCompile(`fma\.rn\.f32\s`)
	fused := regexp.MustCompile(`\bfma\.|\bmad\.f|\b(?:mul|add|sub)\.(?:ftz\.)?f\d+`)
	for _, s := range planner.Specs() {
		if s.CPUTarget {
			continue
		}
		text, err := PTX(s)
		require.NoError(t, err)
		if s.Form == planner.Blocks {
			text = meant.ReplaceAll(text, nil)
		}
		if s.Form == planner.Codes {
			assert.Len(t, corrections.FindAll(text, -1), 4*16, "%v", s)
			text = corrections.ReplaceAll(text, nil)
		}
		assert.Empty(t, fused.FindAllString(string(text), -1), "%v", s)
	}
}

// TestPTX: every kernel that a plan for a GPU may need exists, under its name, with the
// arguments that a launch passes; and no other does.
func TestPTX(t *testing.T) {
	files, err := ptxFiles()
	require.NoError(t, err)
	left := map[string]bool{}
	for _, f := range files.File {
		left[strings.TrimSuffix(f.Name, ".ptx")] = true
	}
	entry := regexp.MustCompile(`\.visible \.entry (\w+)\(([^)]*)\)`)
	accesses := regexp.MustCompile(`(?m)^\s*(?:@!?%p\d+\s+)?(?:ld|st|atom|red)\.(?:volatile\.)?(\w+).*`)
	for _, s := range planner.Specs() {
		if s.CPUTarget {
			continue
		}
		delete(left, s.String())
		arguments := s.Arguments()
		text, err := PTX(s)
		require.NoError(t, err)
		found := entry.FindAllStringSubmatch(string(text), -1)
		require.Len(t, found, 1, "%v", s)
		assert.Equal(t, s.String(), found[0][1])
		assert.Equal(t, arguments-1, strings.Count(found[0][2], ".param .u64"), "%v", s)
		assert.Contains(t, found[0][2], fmt.Sprintf(".param .align 8 .b8 %v_param_%d[%d]", s, byValue, s.ParameterBytes()))
		assert.LessOrEqual(t, 8*(arguments-1)+s.ParameterBytes(), 4<<10, "%v", s)
		assert.Equal(t, arguments, strings.Count(found[0][2], ".param"), "%v", s)
		assert.Contains(t, string(text), ".target sm_70\n")
		assert.Contains(t, string(text), ".maxntid 256, 1, 1\n")
		// Neither variables nor a copy of the parameters are in memory.
		for _, memory := range []string{"depot", ".local", "cvta.param"} {
			assert.NotContains(t, string(text), memory, "%v", s)
		}
		// The memory space of every access is known.
		for _, access := range accesses.FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, []string{"global", "shared", "param"}, access[1], "%v: %s", s, access[0])
		}
	}
	assert.Empty(t, left, "kernels that nobody asks for")
}
