package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
)

// record names a file of times, [{"Case": "copy/...", "US": 190.3}, ...], with which those of
// testdata are rewritten: at the root, with build/nvcc/ptxas,
//
//	go test ./kernels/model -run TestMeasured -record $PWD/times.json -commit 8110e5a
//
// Cases without a new time keep theirs.
var (
	record = flag.String("record", "", "a `file` of times, with which those of testdata are written again")
	commit = flag.String("commit", "", "of these times")
)

const (
	measuredTimes = "testdata/h100.json"
	// farApart is the permitted average deviation of predictions from times: a third more than
	// when the times were taken.
	farApart = .09
	// enough is the share of the times that must still apply.
	enough = .6
)

// measured is a GPU's time.
type measured struct {
	GPU     string
	Cases   []measuredCase
	Kernels map[string]measuredKernel // by their names
}

type measuredCase struct {
	Name, Case string
	Launch     string // of a kernel, and the hash of it and its program
	US         float64
	Commit     string
}

// measuredKernel is the assembler's result for a kernel: resources, for machines without it.
type measuredKernel struct {
	Registers, Shared int
	Local             map[string][2]float64 `json:",omitempty"` // stores and loads of spilled registers, by lines
}

func (k *measuredKernel) resources(t *testing.T) resources {
	r := resources{registers: k.Registers, shared: k.Shared, local: map[int]spilled{}}
	for line, n := range k.Local {
		at, err := strconv.Atoi(line)
		require.NoError(t, err)
		r.local[at] = spilled{n[0], n[1]}
	}
	return r
}

// launchOf is a case's plan, and its name: everything that its time depends on.
func launchOf(t *testing.T, text string) (o operation, l launches.Launch, name string) {
	c, err := oracle.ParseCase(text)
	require.NoError(t, err)
	g := h100()
	l, err = launches.Of(c, g.target())
	require.NoError(t, err)
	program, err := cudakernels.PTX(l.Spec)
	require.NoError(t, err)
	h := sha256.New()
	h.Write(program)
	h.Write(bytes.Join(arguments(&l), []byte{0}))
	fmt.Fprint(h, l.Groups, l.Local)
	return operation{text, c}, l, fmt.Sprintf("%v %.6x", l.Spec, h.Sum(nil))
}

// TestMeasured compares predictions with the times of an H100, in all cases whose plan and
// program have not changed.
func TestMeasured(t *testing.T) {
	var all measured
	text, err := os.ReadFile(measuredTimes)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &all))
	if *record != "" {
		again(t, &all)
		return
	}
	before := append([]gpu(nil), gpus...)
	defer func() { gpus = before }()
	_, err = calibrate("calibration.json")
	require.NoError(t, err)
	g := h100()
	far, n, tried := 0.0, 0.0, 0.0
	for i, c := range all.Cases {
		if testing.Short() && i%4 != 0 {
			continue
		}
		tried++
		o, l, name := launchOf(t, c.Case)
		k, ok := all.Kernels[l.Spec.String()]
		if !ok || name != c.Launch {
			continue
		}
		w, err := measure(o, &l)
		require.NoError(t, err)
		p := g.predict(w, k.resources(t))
		e := math.Log(1e6 * p.seconds / c.US)
		far, n = far+math.Abs(e), n+1
		t.Logf("%-28s %-36s measured %7.1f us, predicted %7.1f (%+3.0f %%), %3.0f %% %s", c.Name, name, c.US, 1e6*p.seconds, 100*math.Expm1(e), 100*p.share, p.bound)
	}
	require.Greater(t, n, enough*tried, "too few cases are planned as they were: measure again")
	t.Logf("%.0f of %.0f cases, %.1f %% apart", n, tried, 100*far/n)
	assert.Less(t, far/n, farApart)
}

// again stores the times of a file.
func again(t *testing.T, all *measured) {
	text, err := os.ReadFile(*record)
	require.NoError(t, err)
	var times []struct {
		Case string
		US   float64
	}
	require.NoError(t, json.Unmarshal(text, &times))
	took := map[string]float64{}
	for _, x := range times {
		took[x.Case] = x.US
	}
	for i := range all.Cases {
		c := &all.Cases[i]
		us, ok := took[c.Case]
		if !ok {
			continue
		}
		_, l, name := launchOf(t, c.Case)
		c.Launch, c.US, c.Commit = name, us, *commit
		program, err := cudakernels.PTX(l.Spec)
		require.NoError(t, err)
		r, err := assemble("../../build/nvcc/ptxas", gpus[0].arch, program)
		require.NoError(t, err)
		k := measuredKernel{Registers: r.registers, Shared: r.shared, Local: map[string][2]float64{}}
		for line, n := range r.local {
			k.Local[strconv.Itoa(line)] = [2]float64{n.stores, n.loads}
		}
		all.Kernels[l.Spec.String()] = k
	}
	text, err = json.MarshalIndent(all, "", "\t")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(measuredTimes, append(text, '\n'), 0o644))
}
