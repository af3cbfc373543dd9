package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// printed is the plans of cases by their names, or, without names, of bench's.
func printed(t *testing.T, p printer, names ...string) []plan {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, p.print(&out, names))
	var all []plan
	require.NoError(t, json.Unmarshal(out.Bytes(), &all))
	return all
}

// TestPlans prints the operations of bench, and writes their programs to a folder.
func TestPlans(t *testing.T) {
	folder := t.TempDir()
	all := printed(t, printer{size: 1 << 20, ptx: folder})
	require.Len(t, all, len(cases.All()))
	for _, p := range all {
		assert.Positive(t, p.Groups, p.Name)
		assert.Positive(t, p.Bytes, p.Name)
		assert.GreaterOrEqual(t, p.Written, p.Bytes/2, p.Name)
		parameters, err := hex.DecodeString(p.Desc)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(parameters), 128)
		text, err := os.ReadFile(filepath.Join(folder, p.Spec+".ptx"))
		require.NoError(t, err)
		assert.Contains(t, string(text), ".entry "+p.Spec+"(")
	}
}

// TestCase: every case that restride verify accepts has a plan under that name.
func TestCase(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	numbers := oracle.Limits{MaxBytes: 4 << 10}
	for _, d := range layout.DTypes() {
		if d != layout.String {
			numbers.Types = append(numbers.Types, d)
		}
	}
	var names []string
	for len(names) < 500 {
		if c := oracle.Random(rng, numbers); c.Reduction == device.ReduceSet { // kernels have no other
			names = append(names, c.String())
		}
	}
	all := printed(t, printer{}, names...)
	require.Len(t, all, len(names))
	for i, p := range all {
		assert.Equal(t, names[i], p.Name)
	}
	turned := printed(t, printer{}, "copy/int4/512x512/dst=512,1@128/src=1,512@0")[0]
	assert.Equal(t, "transpose", turned.Class)
	assert.Equal(t, "transpose_4", turned.Spec)
	assert.EqualValues(t, 128, turned.DB)
	assert.EqualValues(t, 512*512/2, turned.Bytes)
}

// TestRefused: an invalid case is an error that names it.
func TestRefused(t *testing.T) {
	p := printer{}
	require.ErrorContains(t, p.print(&bytes.Buffer{}, []string{"copy/int5/3"}), "int5")
	require.ErrorIs(t, p.print(&bytes.Buffer{}, []string{"copy/string/3/dst=1@0/src=1@0"}), oracle.ErrSkipped)
}
