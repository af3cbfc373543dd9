package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptx"
)

// h100 is the model's H100.
func h100() gpu { return gpus[0] }

// TestTarget: plans depend on the GPU.
func TestTarget(t *testing.T) {
	g := h100()
	assert.Equal(t, planner.Target{Multiprocessors: 132, Capability: 90}, g.target())
}

// TestBounds: the part with too much work is the bound.
func TestBounds(t *testing.T) {
	g := h100()
	// A dense copy of 256 MiB by blocks that write 16 KiB.
	copying := work{
		Counts: ptx.Counts{Instructions: 8 * 50 * 4, Passes: 256, Requests: 256, Reads: 512, Writes: 512, Cycles: 2000, Cached: 2000 - ptx.Waiting},
		blocks: 1 << 14, threads: 256, fetched: 1 << 28, written: 1 << 28, least: 1 << 29, leastRead: 1 << 28, bytes: 1 << 28,
	}
	predict := func(change func(*work), r resources) prediction {
		w := copying
		change(&w)
		return g.predict(&w, r)
	}
	few := resources{registers: 32}
	p := predict(func(*work) {}, few)
	assert.InDelta(t, 1, p.share, .02)
	assert.Equal(t, "memory", p.bound)
	assert.Equal(t, 8, p.blocks)
	assert.InDelta(t, 50*machine, copying.each(), .01)
	for bound, change := range map[string]func(*work){
		"issue":      func(w *work) { w.Instructions *= 20 },
		"load/store": func(w *work) { w.Passes = 8000 },
		"requests":   func(w *work) { w.Requests *= 8 },
		"cache":      func(w *work) { w.Reads *= 8 },
		"latency":    func(w *work) { w.Cycles *= 20 },
	} {
		p := predict(change, few)
		assert.Equal(t, bound, p.bound)
		assert.Less(t, p.share, .8, bound)
	}
	for name, change := range map[string]func(*work){
		"halves":  func(w *work) { w.halves = 512 },
		"merged":  func(w *work) { w.merged = 512 },
		"broken":  func(w *work) { w.broken = 50 },
		"scatter": func(w *work) { w.put, w.lines = true, 512 },
		"gather":  func(w *work) { w.reach, w.lines = 1e9, 512 },
	} {
		p := predict(change, few)
		assert.Equal(t, "memory", p.bound)
		assert.Less(t, p.share, .75, name)
	}
	assert.Equal(t, 1, predict(func(*work) {}, resources{registers: 255}).blocks)
	assert.Equal(t, 2, predict(func(*work) {}, resources{registers: 32, shared: 80 << 10}).blocks)
	p = predict(func(w *work) { w.executions = map[int]float64{7: 8} }, resources{registers: 32, local: map[int]spilled{7: {stores: 100, loads: 100}, 8: {stores: 9}}})
	assert.Equal(t, "cache", p.bound)
}

// TestCases: all cases of bench and of the list can be predicted, by their names.
func TestCases(t *testing.T) {
	all, err := operations(nil, 1<<20)
	require.NoError(t, err)
	seen := map[string]bool{}
	text, err := os.ReadFile("../../docs/gpu-model.md")
	require.NoError(t, err)
	m := model{known: map[string]resources{}}
	for i, o := range all {
		assert.False(t, seen[o.name], "%s is there twice", o.name)
		seen[o.name] = true
		assert.Contains(t, string(text), "\n| "+o.name+" |", "run make gpu-model")
		if i%8 == 0 && i < len(all)/2 {
			l, err := m.line(o)
			require.NoError(t, err)
			assert.Positive(t, l.each)
			assert.Len(t, l.on, len(gpus))
			assert.Equal(t, assumed, l.kernels[0])
			for _, p := range l.on {
				assert.Positive(t, p.share)
				assert.LessOrEqual(t, p.share, 1.1)
			}
		}
	}
	assert.Greater(t, len(all), 110)
}

// TestCalibration: a file's figures replace the model's, for the GPUs it names.
func TestCalibration(t *testing.T) {
	before := append([]gpu(nil), gpus...)
	defer func() { gpus = before }()
	path := filepath.Join(t.TempDir(), "calibration.json")
	known, err := calibrate(path)
	require.NoError(t, err)
	assert.Empty(t, known)
	require.NoError(t, os.WriteFile(path, []byte(`{"NVIDIA H100 80GB HBM3": {"copy": 3e12, "write": 2e12, "latency": 650}}`), 0o600))
	known, err = calibrate(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"H100"}, known)
	g := h100()
	assert.EqualValues(t, 3e12, g.bandwidth(1, 1))
	assert.EqualValues(t, 3e12, g.bandwidth(1, 0))
	assert.EqualValues(t, 2e12, g.bandwidth(0, 1))
	assert.EqualValues(t, 650, g.latency)
	assert.EqualValues(t, 3, g.issue)
	assert.Equal(t, before[1], gpus[1])
	require.NoError(t, os.WriteFile(path, []byte(`{"NVIDIA L40S": {"copy": 7e11}, "NVIDIA A100-SXM4-80GB": {"copy": 1.7e12}}`), 0o600))
	known, err = calibrate(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"A100"}, known, "an L40S is no L4")
	require.NoError(t, os.WriteFile(path, []byte("no"), 0o600))
	_, err = calibrate(path)
	require.Error(t, err)
}

// TestPage: the table replaces the old one.
func TestPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(path, []byte("# Title\n"+begin+"old\n"+end+"more\n"), 0o600))
	l := line{name: "dense/8", kernel: "run_8", each: 61, kernels: []resources{{registers: 40}, {registers: 40, spilled: 8}, {}, {}}, on: make([]prediction, len(gpus))}
	l.on[0] = prediction{share: .97, bound: "memory"}
	require.NoError(t, write(path, []line{l}, false, []string{"H100"}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), "# Title\n"+begin))
	assert.True(t, strings.HasSuffix(string(text), end+"more\n"))
	assert.Contains(t, string(text), "| dense/8 | run_8 | 61 | 97 memory, 40 | 0 , 40, 8 spilled |")
	assert.Contains(t, string(text), "40 registers are assumed")
	assert.Contains(t, string(text), "measured on: H100")
	assert.NotContains(t, string(text), "old")
	require.Error(t, write(filepath.Join(t.TempDir(), "none"), nil, true, nil))
}
