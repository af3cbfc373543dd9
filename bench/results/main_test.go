package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/report"
)

// Each page has the figures of the newest reports: "go run ./bench/results" writes them.
func TestPages(t *testing.T) {
	for page, folder := range map[string]string{"../../docs/speed.md": "../bench/results", "README.md": "."} {
		all, err := load(filepath.Join(filepath.Dir(page), folder))
		require.NoError(t, err)
		require.NotEmpty(t, all)
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		again, err := rewrite(string(text), folder, all)
		require.NoError(t, err)
		assert.Equal(t, string(text), again)
		assert.Contains(t, again, "<!-- bench: ")
	}
}

// sample is a report of two devices with figures that are easy to see.
func sample(t *testing.T) *report.Report {
	data, err := os.ReadFile("../../internal/bench/report/testdata/report.json")
	require.NoError(t, err)
	r, err := report.Read(data)
	require.NoError(t, err)
	timing := func(ns float64) report.Timing {
		return report.Timing{Samples: 2, Batch: 1, Median: ns, Min: ns, Q1: ns, Q3: ns, Max: ns, Passes: []float64{ns, ns}}
	}
	ours := timing(2)
	cpu := r.Devices[0]
	cpu.Cached, cpu.Size = false, cases.Reference
	cpu.Roofline = &report.Roofline{
		Copy:   &report.Rate{Timing: timing(1), Bytes: 20, GBps: 20},
		Memcpy: &report.Rate{Timing: timing(1), Bytes: 10, GBps: 10},
		Launch: &ours,
	}
	cpu.Cases = append(cpu.Cases, &report.CaseResult{Name: "a-transpose/32", Case: "a", Logical: 10, Time: &ours, Ratio: .25, MemcpyRatio: .5, MemcpySpread: .07})
	cpu.Peers = []*report.Peer{
		{Name: "Other 1.2", Cases: []*report.PeerCase{{Name: "a-transpose/32", Timing: timing(8)}}},
		{Name: "None", Cases: []*report.PeerCase{{Name: "a-transpose/32", Error: "no"}}},
	}
	gpu := *cpu
	gpu.Cases = nil
	for _, c := range cpu.Cases {
		one := *c
		one.MemcpyRatio = 0
		gpu.Cases = append(gpu.Cases, &one)
	}
	gpu.Device.ID, gpu.Device.Name, gpu.Device.Driver, gpu.Peers = "cuda:0", "a board", "13.1", nil
	gpu.Roofline = &report.Roofline{Copy: cpu.Roofline.Copy, Driver: &report.Rate{Timing: timing(4), Bytes: 20, GBps: 5}}
	r.Devices = append(r.Devices, &gpu)
	return r
}

// A report is added under its date and machine, and tables show each machine's newest one that
// has the devices.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	folder, readme := filepath.Join(dir, "results"), filepath.Join(dir, "README.md")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(readme, []byte("# X\n<!-- bench: figures cpu cuda:0 -->\nold\n<!-- /bench -->\nthe end\n<!-- bench: roofline cpu cuda:0 -->\n<!-- /bench -->\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "README.md"), []byte("<!-- bench: cases cpu cuda:0 -->\n<!-- /bench -->\n"), 0o600))
	r := sample(t)
	path := filepath.Join(dir, "build.json")
	require.NoError(t, r.WriteFile(path))
	require.NoError(t, run(folder, readme, "", []string{path}))
	name := r.Date.Format("2006-01-02") + "-" + machine(r) + ".json"
	require.FileExists(t, filepath.Join(folder, name))
	read := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	text := read(readme)
	assert.True(t, strings.HasPrefix(text, "# X\n<!-- bench: figures cpu cuda:0 -->\nRatios to a memcpy of the same bytes by two goroutines or the fastest plain copy in the same pass "), text)
	assert.Contains(t, text, "cuda:0 is a board (13.1), whose reference copy reads and writes 20.0 GB/s; ")
	assert.Contains(t, text, "([all figures](results/"+name+"))")
	assert.Contains(t, text, "\n| float | Restride, cpu | ± | Other 1.2 | None | Restride, cuda:0 | ± |\n|---|---|---|---|---|---|---|\n| 2-D transpose, 4096x4096 | .50 | 7% | .12 | - | .25 | 0% |\n\nOf the 1 cases that another library has, cpu is faster than the fastest library in 1, 4.0 times in the median.\n<!-- /bench -->\nthe end\n")
	assert.Contains(t, text, " cpu | ± | cuda:0 | ± |\n|---|---|---|---|---|\n| dense copy by our kernel | 20.00 GB/s | 0% | 20.00 GB/s | 0% |\n| dense copy by the driver | - | | 5.00 GB/s | 0% |\n")
	assert.Contains(t, text, "| one of many, until all are done | 2.0 ns | 0% | - | |\n<!-- /bench -->\n")
	all := read(filepath.Join(folder, "README.md"))
	assert.Equal(t, 2, strings.Count(all, "\n| by bits of an element | 4 | 32 |\n"))
	assert.Contains(t, all, "\n| a-transpose |   | .50 |\n")
	assert.Contains(t, all, "\n| a-transpose |   | .25 |\n<!-- /bench -->\n")
	assert.Contains(t, all, "([all figures]("+name+"))")

	// An older report changes nothing, nor does one without the devices, nor a second update; a
	// newer one does.
	r.Date = r.Date.AddDate(0, 0, -1)
	r.Devices[0].Cases[len(r.Devices[0].Cases)-1].MemcpyRatio = 1.2
	require.NoError(t, r.WriteFile(path))
	require.NoError(t, run(folder, readme, "", []string{path}))
	assert.Equal(t, text, read(readme))
	r.Date = r.Date.AddDate(0, 0, 3)
	both := r.Devices
	r.Devices = both[:1]
	require.NoError(t, r.WriteFile(path))
	require.NoError(t, run(folder, readme, "one", []string{path}))
	assert.Equal(t, text, read(readme))
	r.Date, r.Devices = r.Date.AddDate(0, 0, -1), both
	require.NoError(t, r.WriteFile(path))
	require.NoError(t, run(folder, readme, "big", []string{path}))
	text = read(readme)
	assert.Less(t, strings.Index(text, "| 1.20 | 7% | .12 | - |"), strings.Index(text, "| .50 | 7% | .12 | - |"), "the machine measured last comes first")
	assert.Contains(t, text, "| 1.20 | 7% | .12 | - |")
	assert.Contains(t, text, "](results/"+r.Date.Format("2006-01-02")+"-big.json)")

	for word, broken := range map[string]string{
		"is not closed":                "<!-- bench: cases cpu -->\n",
		"no report has cpu and cuda:1": "<!-- bench: cases cpu cuda:1 -->\n<!-- /bench -->",
		"bench: lies -->: there is no": "<!-- bench: lies cpu -->\n<!-- /bench -->",
		"names no kind":                "<!-- bench: cpu -->\n<!-- /bench -->",
	} {
		_, err := rewrite(broken, "", nil)
		assert.ErrorContains(t, err, word)
	}
	r.Unfinished = true
	require.NoError(t, r.WriteFile(path))
	require.ErrorContains(t, run(folder, readme, "", []string{path}), "interrupted")
}

// A name in a foreign report is not markup.
func TestNamesInTables(t *testing.T) {
	r := sample(t)
	for _, d := range r.Devices {
		d.Device.Name = "<!-- /bench --> | [x](y) `z`"
		for _, p := range d.Peers {
			p.Name = d.Device.Name
		}
	}
	again, err := rewrite("<!-- bench: cases cpu cuda:0 -->\n<!-- /bench -->\n", ".", []kept{{"x.json", r}})
	require.NoError(t, err)
	assert.Contains(t, again, "&lt;!-- /bench --> \\| \\[x](y) \\`z\\`")
	assert.Equal(t, 1, strings.Count(again, "<!-- /bench -->"))
}

func TestMachine(t *testing.T) {
	for cpu, want := range map[string]string{
		"Intel(R) Xeon(R) Processor": "xeon-2cores", "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz": "core-i7-8700-2cores",
		"AMD EPYC 7763 64-Core Processor": "epyc-7763-64-core-2cores", "": "linux-arm64-2cores",
	} {
		assert.Equal(t, want, machine(&report.Report{System: "linux/arm64", CPUs: 2, Host: report.Host{CPU: cpu}}))
	}
}

func TestRatio(t *testing.T) {
	for x, want := range map[float64]string{.394: ".39", .04: ".04", .996: "1.00", .994: ".99", 1.56: "1.56", 0: "-"} {
		assert.Equal(t, want, ratio(x))
	}
}
