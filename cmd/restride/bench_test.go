package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/internal/bench/report"
)

// other is a program that speaks the protocol of peers.
func other(t *testing.T, name, answer string) string {
	path := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(path, []byte(`#!/bin/sh
[ "$1 $2" = "--device cpu" ] || exit 4
echo '{"protocol":1,"peer":"`+name+`","device":"a processor"}'
while read -r line; do
	name=$(printf %s "$line" | sed 's/^{"case":{"name":"\([^"]*\)".*/\1/')
	`+answer+`
done
`), 0o700))
	return path
}

const aSecond = `echo "{\"name\":\"$name\",\"samples\":[1e9],\"batch\":1,\"verified\":\"all\"}"`

// Other libraries are measured in the same passes and stand beside ours; what was
// measured is in a file.
func TestBench(t *testing.T) {
	small := []string{"bench", "--device", "cpu", "--size", "16K", "--time", "1us", "--filter", "^(c-heads|pack)/(4|16)$"}
	quick := other(t, "Other 1.2", aSecond)
	picky := other(t, "Slow 3", `case $name in
	*/4) echo "{\"name\":\"$name\",\"error\":\"no int4\",\"unsupported\":true}" ;;
	*) `+aSecond+` ;;
	esac`)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.json")

	page := filepath.Join(dir, "page.html")
	out, err := restride(append(small, "--peer", `"`+quick+`=^c{1,2}-",`+picky, "--json", file, "--html", page)...)
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^roofline +\d+\.\d\d GB/s$`, out)
	assert.Regexp(t, `(?m)^case .* ratio +memcpy +touched +Other +Slow  faster +±$`, out)
	assert.Regexp(t, `(?m)^c-heads/16 .* 0\.00 +0\.00 +\d+\.\d\dx +\d+%$`, out)
	assert.Regexp(t, `(?m)^c-heads/4 .* 0\.00 +- +\d+\.\d\dx +\d+%$`, out)
	assert.Contains(t, out, "Other: Other 1.2 on a processor, GB/s")
	assert.Regexp(t, `(?m)^pack/4 .* no int4$`, out)
	assert.Contains(t, out, "cpu: 3 cases measured, 0 failed, 0 unsupported")

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var r report.Report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, r.Devices, 1)
	assert.EqualValues(t, 16<<10, r.Devices[0].Size)
	assert.Len(t, r.Devices[0].Cases, 3)
	peers := r.Devices[0].Peers
	require.Len(t, peers, 2)
	assert.Len(t, peers[0].Cases, 2)
	assert.Len(t, peers[0].Cases[0].Passes, bench.Passes)
	assert.Equal(t, "no int4", peers[1].Cases[1].Error)
	assert.Positive(t, r.Devices[0].Cases[0].Ratio)

	measured, err := os.ReadFile(page)
	require.NoError(t, err)
	out, err = restride("bench", "--from", file, "--html", page)
	require.NoError(t, err)
	assert.Empty(t, out)
	again, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, string(measured), string(again))
	assert.Contains(t, string(again), `<th scope="row">c-heads/16</th>`)
	assert.Contains(t, string(again), "Other 1.2")
}

// Layouts of the user's own are measured alone, or beside those of the filter.
func TestBenchOwn(t *testing.T) {
	dir := t.TempDir()
	list, file := filepath.Join(dir, "list.txt"), filepath.Join(dir, "report.json")
	require.NoError(t, os.WriteFile(list, []byte("# of mine\nlisted/16 fill/float16/64x4/dst=16,1@4\n"), 0o600))
	const text = "copy/int4/3x5/dst=5,1@1/src=-1,3@14"
	args := []string{"bench", "--device", "cpu", "--size", "4K", "--time", "1us", "--json", file, "--html", filepath.Join(dir, "page.html"), "--case", text, "--case", "rows/8=copy/uint8/64x100/dst=100,1@0/src=128,1@3", "--cases", list}
	for filter, before := range map[string][]string{"": nil, "^pack/": {"pack/4", "pack/2"}} {
		out, err := restride(append(args, "--filter", filter)...)
		require.NoError(t, err)
		r, err := report.Load(file)
		require.NoError(t, err)
		var names []string
		for _, c := range r.Devices[0].Cases {
			names = append(names, c.Name)
			assert.Contains(t, out, "\n"+c.Name+" ")
			assert.NotNil(t, c.Time)
		}
		assert.Equal(t, append(before, text, "rows/8", "listed/16"), names)
		own := r.Devices[0].Cases[len(before)+1]
		assert.Equal(t, "copy/uint8/64x100/dst=100,1@0/src=128,1@3", own.Case, "--size does not change it")
		assert.Equal(t, "own", own.Class)
	}
}

func TestBenchRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{}"), 0o600))
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, []byte("# none\n"), 0o600))
	elsewhere := filepath.Join(dir, "elsewhere")
	require.NoError(t, os.WriteFile(elsewhere, []byte("#!/bin/sh\nexit 4\n"), 0o700))
	for word, args := range map[string][]string{
		`no case matches "zzz"`:                     {"--filter", "zzz"},
		"--filter: error parsing regexp":            {"--filter", "("},
		`"x" is no size`:                            {"--size", "x"},
		`"0" is no size`:                            {"--size", "0"},
		`"-5" is no size`:                           {"--size", "-5"},
		`"5MM" is no size`:                          {"--size", "5MM"},
		`"9000000000G" is more bytes`:               {"--size", "9000000000G"},
		"--time -1s":                                {"--time", "-1s"},
		"--peer: \"=x\": want a name":               {"--peer", "=x"},
		"--peer: error parsing regexp":              {"--peer", "numpy=("},
		"bad.json: permission denied":               {"--peer", bad},
		"no such file":                              {"--peer", filepath.Join(dir, "none")},
		"for none of cpu":                           {"--peer", elsewhere},
		"--json: open":                              {"--filter", "pack/4", "--size", "1K", "--time", "1us", "--json", filepath.Join(dir, "no", "report.json")},
		"--from: open":                              {"--from", filepath.Join(dir, "none.json"), "--html", filepath.Join(dir, "page.html")},
		"format is 0":                               {"--from", bad, "--html", filepath.Join(dir, "page.html")},
		"--html: open":                              {"--filter", "pack/4", "--size", "1K", "--time", "1us", "--html", filepath.Join(dir, "no", "page.html")},
		"no device":                                 {"--device", "tpu:0"},
		"1024 is there twice":                       {"--size", "1K,2K,1024"},
		"cpu is there already, at 1024":             {"--device", "cpu", "--filter", "pack/4", "--size", "1K", "--time", "1us"},
		"--json with --from":                        {"--from", bad, "--json", filepath.Join(dir, "other.json")},
		"--filter with --from":                      {"--from", bad, "--filter", "pack"},
		"--case with --from":                        {"--from", bad, "--case", "copy/int8/3/dst=1@0/src=1@0"},
		"--cases with --from":                       {"--from", bad, "--cases", bad},
		"--case: ParseCase: \"copy/int8\"":          {"--case", "copy/int8"},
		"--case: Case: x: all indices are in range": {"--case", "x=take/int4/3/dst=1@0/src=0@0/at=1@0/int32/by=0:7:5/wrong=1"},
		"--case: x is there twice":                  {"--case", "x=copy/int8/3/dst=1@0/src=1@0", "--case", "x=copy/int8/4/dst=1@0/src=1@0"},
		"--case: pack/4 is there twice":             {"--case", "pack/4=copy/int8/3/dst=1@0/src=1@0", "--filter", "pack"},
		"--cases: open":                             {"--cases", filepath.Join(dir, "none")},
		"--cases: " + bad + ": line 1: Case: want a name and an operation": {"--cases", bad},
		"--cases: " + empty + " has no cases":                              {"--cases", empty},
		"--peer with --from":                                               {"--from", bad, "--peer", "auto"},
	} {
		if word != "no device" && !slices.Contains(args, "--from") {
			args = append(args, "--device", "cpu")
		}
		_, err := restride(append([]string{"bench"}, args...)...)
		assert.ErrorContains(t, err, word)
	}
}

// A peer that is not there is found before anything is measured.
func TestBenchRefusesPeersEarly(t *testing.T) {
	enable(t)
	t.Setenv("RESTRIDE_PYTHON", "/no/such/python")
	_, err := restride("bench", "--device", "slowed", "--filter", "pack/4", "--size", "1K", "--time", "1us", "--peer", "numpy")
	require.ErrorContains(t, err, "--peer: numpy beside cpu: not installed; /no/such/python")
	assert.Zero(t, slow.copies.Load())
}

// Files that cannot be written are found before anything is measured.
func TestBenchRefusesEarly(t *testing.T) {
	enable(t)
	no := filepath.Join(t.TempDir(), "no", "file")
	for _, flag := range []string{"--json", "--html", "--benchstat"} {
		_, err := restride("bench", "--device", "slowed", "--filter", "pack/4", "--size", "1K", "--time", "1us", flag, no)
		assert.ErrorContains(t, err, flag+": open")
	}
	assert.Zero(t, slow.copies.Load())
}

func TestParseSize(t *testing.T) {
	for word, want := range map[string]int64{
		"1": 1, "4096": 4096, "12B": 12, "64K": 64 << 10, "64KiB": 64 << 10, "3M": 3 << 20, "3MiB": 3 << 20, "2G": 2 << 30, "1TiB": 1 << 40,
	} {
		n, err := parseSize(word)
		require.NoError(t, err, word)
		assert.Equal(t, want, n, word)
	}
}
