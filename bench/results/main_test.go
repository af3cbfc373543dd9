package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
)

// Each README has the figures of the newest reports: "go run ./bench/results" writes
// them.
func TestReadme(t *testing.T) {
	for readme, folder := range map[string]string{"../../README.md": "bench/results", "plain/README.md": "."} {
		all, err := load(filepath.Join(filepath.Dir(readme), folder))
		require.NoError(t, err)
		require.NotEmpty(t, all)
		text, err := os.ReadFile(readme)
		require.NoError(t, err)
		again, err := rewrite(string(text), folder, all)
		require.NoError(t, err)
		assert.Equal(t, string(text), again)
		assert.Contains(t, again, "<!-- bench: cpu -->")
	}
}

// A report is added under its date and machine, and the newest one of a device is
// what the tables are of.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	folder, readme := filepath.Join(dir, "results"), filepath.Join(dir, "README.md")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(readme, []byte("# X\n<!-- bench: cpu -->\nold\n<!-- /bench -->\nthe end\n"), 0o600))
	data, err := os.ReadFile("../testdata/report.json")
	require.NoError(t, err)
	r, err := bench.ReadReport(data)
	require.NoError(t, err)
	d := r.Devices[0]
	d.Cached, d.Roofline.Memcpy.GBps = false, 10
	timing := func(ns float64) bench.Timing {
		return bench.Timing{Samples: 1, Batch: 1, Median: ns, Min: ns, Q1: ns, Q3: ns, Max: ns}
	}
	ours := timing(2)
	d.Cases = append(d.Cases, &bench.CaseResult{Name: "a-transpose/32", Case: "a", Logical: 10, Time: &ours, MemcpyRatio: .5, MemcpySpread: .07})
	theirs := timing(8)
	theirs.Passes = []float64{8, 8}
	d.Peers = []*bench.Peer{
		{Name: "Other 1.2", Cases: []*bench.PeerCase{{Name: "a-transpose/32", Timing: theirs}}},
		{Name: "None", Cases: []*bench.PeerCase{{Name: "x", Error: "no"}}},
	}
	path := filepath.Join(dir, "build.json")
	require.NoError(t, r.WriteFile(path))
	require.NoError(t, run(folder, readme, "", []string{path}))
	kept, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(folder, r.Date.Format("2006-01-02")+"-"+machine(r)+".json")}, kept)
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), "# X\n<!-- bench: cpu -->\nRatios to a memcpy of the same bytes by two goroutines (10.0 GB/s "), string(text))
	assert.Contains(t, string(text), "\n| float | Restride | ± | Other 1.2 | None |\n|---|---|---|---|---|\n| 2-D transpose, 4096x4096 | .50 | 7% | .12 | - |\n")
	assert.Contains(t, string(text), "\n| by bits of an element | 4 | 32 |\n")
	assert.Contains(t, string(text), "\n| a-transpose |   | .50 |\n")
	assert.Contains(t, string(text), "single passes are; other libraries in the same passes ([all")
	assert.True(t, strings.HasSuffix(string(text), "|\n<!-- /bench -->\nthe end\n"), string(text))

	// An older report changes nothing, nor does writing again; a newer one does.
	r.Date = r.Date.AddDate(0, 0, -1)
	d.Cases[len(d.Cases)-1].MemcpyRatio = 1.2
	require.NoError(t, r.WriteFile(path))
	require.NoError(t, run(folder, readme, "", []string{path}))
	again, err := os.ReadFile(readme)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again))
	r.Date = r.Date.AddDate(0, 0, 2)
	require.NoError(t, r.WriteFile(path))
	require.NoError(t, run(folder, readme, "big", []string{path}))
	again, err = os.ReadFile(readme)
	require.NoError(t, err)
	assert.Contains(t, string(again), "| 1.20 | 7% | .12 | - |")
	assert.Contains(t, string(again), "](results/"+r.Date.Format("2006-01-02")+"-big.json)")

	for word, broken := range map[string]string{"is not closed": "<!-- bench: cpu -->\n", "no report has cuda:1": "<!-- bench: cuda:1 -->\n<!-- /bench -->"} {
		_, err := rewrite(broken, "", nil)
		assert.ErrorContains(t, err, word)
	}
	r.Unfinished = true
	require.NoError(t, r.WriteFile(path))
	require.ErrorContains(t, run(folder, readme, "", []string{path}), "interrupted")
}

func TestMachine(t *testing.T) {
	for cpu, want := range map[string]string{
		"Intel(R) Xeon(R) Processor": "xeon-2cores", "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz": "core-i7-8700-2cores",
		"AMD EPYC 7763 64-Core Processor": "epyc-7763-64-core-2cores", "": "linux-arm64-2cores",
	} {
		assert.Equal(t, want, machine(&bench.Report{System: "linux/arm64", CPUs: 2, Host: bench.Host{CPU: cpu}}))
	}
}

func TestRatio(t *testing.T) {
	for x, want := range map[float64]string{.394: ".39", .04: ".04", .996: "1.00", .994: ".99", 1.56: "1.56", 0: ".00"} {
		assert.Equal(t, want, ratio(x))
	}
}
