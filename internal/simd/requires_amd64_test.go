package simd

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"
)

// The features of all processors that run Go's amd64 code: MMX+ is avo's word for non-temporal
// stores, fences and prefetches, which came with SSE.
var everywhere = []string{"CMOV", "CPUID", "MMX+"}

// features are those that detection checks, by avo's names, at each level.
var features = map[Level][]string{
	AVX2:   {"AVX", "AVX2", "BMI", "BMI2"},
	AVX512: {"AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX512VBMI"},
}

// required returns the instruction sets that functions in assembly name, and those
// among the functions that use one of the registers 16 to 31, which only AVX-512 has.
func required(t *testing.T) (sets map[string][]string, high map[string]bool) {
	sets, high = map[string][]string{}, map[string]bool{}
	files, err := filepath.Glob("*_amd64.s")
	require.NoError(t, err)
	text, register := regexp.MustCompile(`^TEXT ·(\w+)\(`), regexp.MustCompile(`\b[XY](1[6-9]|2\d|3[01])\b`)
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		var requires []string
		function := ""
		for lines := bufio.NewScanner(f); lines.Scan(); {
			line := lines.Text()
			if list, ok := strings.CutPrefix(line, "// Requires: "); ok {
				requires = strings.Split(list, ", ")
			} else if m := text.FindStringSubmatch(line); m != nil {
				function = m[1]
				sets[function], requires = requires, nil
			} else if register.MatchString(line) {
				high[function] = true
			}
		}
		require.NoError(t, f.Close())
	}
	return sets, high
}

// reached calls visit for the functions in a level's table.
func reached(v reflect.Value, visit func(name string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			reached(v.Field(i), visit)
		}
	case reflect.Array:
		for i := range v.Len() {
			reached(v.Index(i), visit)
		}
	case reflect.Func:
		if !v.IsNil() {
			name := runtime.FuncForPC(v.Pointer()).Name()
			visit(strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], ".abi0"))
		}
	}
}

// No level has a kernel with instructions that detection does not check. A table is filled here
// whether this processor has its level or not: no kernel is called.
func TestKernelsOfALevelNeedNoMore(t *testing.T) {
	sets, high := required(t)
	has := slices.Clone(everywhere)
	for _, l := range []Level{AVX2, AVX512} {
		has = append(has, features[l]...)
		k := Kernels{Level: l}
		k.fill()
		names := 0
		check := func(name string) {
			names++
			list, ok := sets[name]
			require.True(t, ok, "%v: %s is not in the assembly", l, name)
			for _, set := range list {
				if set == "F16C" { // detected separately
					require.True(t, hasF16C(), name)
					continue
				}
				require.Contains(t, has, set, "%v: %s", l, name)
			}
			require.False(t, l < AVX512 && high[name], "%v: %s has registers of AVX-512", l, name)
		}
		reached(reflect.ValueOf(k), func(name string) {
			switch name {
			case "pickAVX2", "pickAVX512", "spreadAVX2", "spreadAVX512": // in Go: they choose among
				for _, f := range map[string][]shuffleFunc{"pickAVX2": picksAVX2[:], "pickAVX512": picksAVX512[:], "spreadAVX2": spreadsAVX2[:], "spreadAVX512": spreadsAVX512[:]}[name] {
					reached(reflect.ValueOf(f), check)
				}
			case "pickLinesAVX2", "pickLinesAVX512":
				for _, f := range map[string][]lineFunc{"pickLinesAVX2": linesAVX2[:], "pickLinesAVX512": linesAVX512[:]}[name] {
					reached(reflect.ValueOf(f), check)
				}
			case "permuteAVX2", "permuteAVX512":
				for _, f := range map[string][]mergeFunc{"permuteAVX2": mergesAVX2[:], "permuteAVX512": mergesAVX512[:]}[name] {
					reached(reflect.ValueOf(f), check)
				}
			case "planAVX2", "planAVX512", "planPickAVX2", "planPickAVX512", "planSpreadAVX2", "planSpreadAVX512": // in Go
			default:
				check(name)
			}
		})
		require.Greater(t, names, 40, "%v", l)
	}
}

// Detection checks the features that features lists.
func TestDetectionAsks(t *testing.T) {
	if detected == None {
		t.Skip("no vectors")
	}
	x := cpu.X86
	defer func() { cpu.X86 = x }()
	for level, lacks := range map[Level][]*bool{
		None: {&cpu.X86.HasAVX2, &cpu.X86.HasBMI1, &cpu.X86.HasBMI2},
		AVX2: {&cpu.X86.HasAVX512F, &cpu.X86.HasAVX512BW, &cpu.X86.HasAVX512DQ, &cpu.X86.HasAVX512VL, &cpu.X86.HasAVX512VBMI},
	} {
		for _, feature := range lacks {
			old := *feature
			*feature = false
			require.LessOrEqual(t, detect(), level)
			*feature = old
		}
	}
	require.Equal(t, detected, detect())
}
