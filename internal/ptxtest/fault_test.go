package ptxtest_test

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
	"github.com/restride/restride/internal/soak"
)

// fault is a mistake in a program: the text to find, and its replacement.
type fault struct {
	name string
	find *regexp.Regexp
	put  func(found []string) string
	// least is the share of faults that must show: others have no effect, for example if masked
	// or shifted bits were zero.
	least float64
}

// faults are planted in kernels, one at a time.
var faults = []fault{
	{"no barrier", regexp.MustCompile(`bar\.sync\s+0;`), func([]string) string { return "" }, 1},
	{"a wrong mask", regexp.MustCompile(`(and\.b32\s+%r\d+, %r\d+, )(\d+);`), func(f []string) string {
		n, _ := strconv.Atoi(f[2])
		return fmt.Sprintf("%s%d;", f[1], n>>1)
	}, .35},
	{"a shift by one more", regexp.MustCompile(`(sh[lr]\.[bus](?:32|64)\s+%rd?\d+, %rd?\d+, )(\d+);`), func(f []string) string {
		n, _ := strconv.Atoi(f[2])
		return fmt.Sprintf("%s%d;", f[1], n+1)
	}, .4},
	{"a condition turned round", regexp.MustCompile(`@(%p\d+) (bra|st)`), func(f []string) string { return "@!" + f[1] + " " + f[2] }, .75},
	{"one element further", regexp.MustCompile(`((?:st\.global\.\S+\s+|atom\.global\.\S+\s+%\S+, )\[%rd\d+)(\+\d+)?(\])`), func(f []string) string {
		n, _ := strconv.Atoi(f[2])
		return fmt.Sprintf("%s+%d%s", f[1], n+16, f[3])
	}, .9},
}

// TestFaultsShow plants faults in a kernel of each form, and requires that the checks
// find them.
func TestFaultsShow(t *testing.T) {
	var mu sync.Mutex
	planted, found := map[string]int{}, map[string]int{}
	seen := map[string]bool{} // by the beginning of the name
	t.Run("kernels", func(t *testing.T) {
		for _, s := range planner.Specs() {
			entry, _, _ := strings.Cut(s.String(), "_")
			if s.CPUTarget || s.Wide || s.ManyAxes || seen[entry] {
				continue
			}
			seen[entry] = true
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				all := find(t, s, 48)
				some := largest(t, all[:24])
				for _, f := range faults {
					cases := some
					if f.least == 1 { // each must show, in some case
						cases = append(some, all...)
					}
					n, missed := f.plant(t, s, cases)
					mu.Lock()
					planted[f.name] += n
					found[f.name] += n - len(missed)
					mu.Unlock()
					t.Logf("%s: %d planted, not found: %v", f.name, n, missed)
				}
			})
		}
	})
	for _, f := range faults {
		t.Logf("%s: %d of %d found", f.name, found[f.name], planted[f.name])
		assert.Greater(t, planted[f.name], 5, f.name)
		assert.GreaterOrEqual(t, float64(found[f.name]), f.least*float64(planted[f.name]), f.name)
	}
	assert.Greater(t, len(seen), 8)
}

// plant plants a fault at some places of a kernel's program that the cases reach, and
// returns those at which it does not show.
func (f fault) plant(t *testing.T, s planner.Spec, all []oracle.Case) (planted int, missed []string) {
	text, err := cudakernels.PTX(s)
	require.NoError(t, err)
	d := ptxtest.New(ptxtest.Options{Blocks: 3})
	require.NoError(t, checkAll(d, all), "without a fault")
	ran := d.Ran(s)
	var places [][]int
	for _, at := range f.find.FindAllSubmatchIndex(text, -1) {
		if ran[1+bytes.Count(text[:at[0]], []byte("\n"))] {
			places = append(places, at)
		}
	}
	most := 4
	if soak.Enabled() {
		most = 10
	}
	for i := 0; i < len(places); i += max(len(places)/most, 1) {
		at := places[i]
		var words []string
		for k := 0; k < len(at); k += 2 {
			word := ""
			if at[k] >= 0 {
				word = string(text[at[k]:at[k+1]])
			}
			words = append(words, word)
		}
		planted++
		if checkAll(ptxtest.New(ptxtest.Options{Blocks: 3, Steps: 1 << 16, Text: func(of planner.Spec, text []byte) []byte {
			if of != s {
				return text
			}
			return bytes.Join([][]byte{text[:at[0]], text[at[1]:]}, []byte(f.put(words)))
		}}), all) == nil {
			missed = append(missed, words[0])
		}
	}
	return planted, missed
}

// checkAll checks cases until one fails.
func checkAll(d *ptxtest.Driver, all []oracle.Case) error {
	dev := gpu.New(d)
	for seed, c := range all {
		if err := oracle.Check(dev, c, uint64(seed)); err != nil {
			return err
		}
	}
	return dev.Close()
}

// largest are the cases with the most blocks, and some others.
func largest(t *testing.T, all []oracle.Case) []oracle.Case {
	blocks := func(c oracle.Case) uint32 {
		l, err := launches.Of(c, planner.Target{})
		require.NoError(t, err)
		return l.Groups
	}
	slices.SortStableFunc(all, func(a, b oracle.Case) int { return cmp.Compare(blocks(b), blocks(a)) })
	return append(all[:4:4], all[len(all)-8:]...)
}
