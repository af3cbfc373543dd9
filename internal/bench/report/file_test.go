package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
)

// example is a report of the cpu device at two cases, small.
func example(t *testing.T) *Report {
	text, err := os.ReadFile("testdata/report.json")
	require.NoError(t, err)
	r, err := Read(text)
	require.NoError(t, err)
	return r
}

// A report can be read from its file, which is complete at every moment, and leaves no other
// file.
func TestWriteFile(t *testing.T) {
	report := example(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "report.json")
	for range 2 {
		require.NoError(t, report.WriteFile(path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, word := range []string{`"format": 2`, `"go": "go1`, `"driver_copy": null`, `"gb_per_s"`, `"median_ns"`, `"copy/int4/`, `"touched_ratio"`, `"kind": "cpu"`, `"passes_ns"`, `"host"`} {
			assert.Contains(t, string(text), word)
		}
		assert.NotContains(t, string(text), "unfinished")
		back, err := Read(text)
		require.NoError(t, err)
		assert.Equal(t, report, back)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)

	require.Error(t, report.WriteFile(filepath.Join(dir, "no", "report.json")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	require.Error(t, report.WriteFile(filepath.Join(dir, "folder")))
	link := filepath.Join(dir, "link") // a link must stay a link
	require.NoError(t, os.Symlink(os.DevNull, link))
	require.NoError(t, report.WriteFile(link))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
}

// Anything but a report is refused, with the reason.
func TestReadRefuses(t *testing.T) {
	text, err := json.Marshal(example(t))
	require.NoError(t, err)
	_, err = Read(text)
	require.NoError(t, err)
	for word, edit := range map[string][2]string{
		"format is 1":                           {`"format":2`, `"format":1`},
		"cannot unmarshal":                      {`"format":2`, `"format":"2"`},
		"cpu at 4096 bytes: a size of 4":        {`"sector":64`, `"sector":0`},
		"at byte":                               {`"min_ns":`, `"min_ns":NaN`},
		"want at least 0.001":                   {`"min_ns":`, `"min_ns":-`},
		"a call took 1e-320 to ":                {`"min_ns":`, `"min_ns":1e-320,"m":`},
		"samples of":                            {`"samples":`, `"samples":-`},
		"GB/s of":                               {`"gb_per_s":`, `"gb_per_s":-`},
		"is there twice":                        {`"name":"pack/4"`, `"name":"odd-nibble/4"`},
		"neither a time nor an error":           {`"time":`, `"tide":`},
		"a time and an error":                   {`"name":"pack/4"`, `"name":"pack/4","error":"x"`},
		"negative figure":                       {`"ratio":`, `"ratio":-`},
		"no roofline":                           {`"roofline":`, `"tideline":`},
		"no id":                                 {`"id":"cpu"`, `"id":""`},
		"which no sample did":                   {`"passes_ns":[`, `"passes_ns":[1e300,`},
		"cannot unmarshal number 1e999":         {`"seconds":`, `"seconds":1e999,"s":`},
		"is null":                               {`"devices":[`, `"devices":[null,`},
		"a report of restride bench: \"go\\x1b": {`"go":"go`, `"go":"go\u001b`},
		"case 0: \"every\\n":                    {`"verified":"every`, `"verified":"every\n`},
		"devices[0]: \"cpu\\x1b":                {`"id":"cpu"`, `"id":"cpu\u001b[2J"`},
		"case 1: \"x\\x1b":                      {`"class":"convert"`, `"class":"x\u001b"`},
		"devices[0]: \"cpu\\a":                  {`"kind":"cpu`, `"kind":"cpu\u0007`},
		"case 0: \"\\x1b":                       {`"op":"`, `"op":"\u001b`},
		"4096 bytes: roofline: \"x\\u202e":      {`"copy_kernel":"`, `"copy_kernel":"x\u202e`},
		"cannot be printed":                     {`"time":`, `"error":"x\u001b","tide":`},
		"case 0 is null":                        {`"cases":[`, `"cases":[null,`},
		"peers[0] is null":                      {`"sector":`, `"peers":[null],"sector":`},
		"peers[0]: no name":                     {`"sector":`, `"peers":[{"cases":[]}],"sector":`},
		"peers[0]: \"x\\x1b":                    {`"sector":`, `"peers":[{"peer":"x\u001b"}],"sector":`},
		"peers[0]: case 0 has no name":          {`"sector":`, `"peers":[{"peer":"x","cases":[null]}],"sector":`},
		"peers[0]: a: 0 samples":                {`"sector":`, `"peers":[{"peer":"x","cases":[{"name":"a"}]}],"sector":`},
		"peers[0]: \"a\" is there twice":        {`"sector":`, `"peers":[{"peer":"x","cases":[{"name":"a","error":"e"},{"name":"a","error":"e"}]}],"sector":`},
		"peers[0]: \"two\\nlines\"":             {`"sector":`, `"peers":[{"peer":"x","cases":[{"name":"a","error":"two\nlines"}]}],"sector":`},
		"5000 bytes":                            {`"sector":`, `"peers":[{"peer":"` + strings.Repeat("e", 5000) + `"}],"sector":`},
	} {
		broken := strings.Replace(string(text), edit[0], edit[1], 1)
		require.NotEqual(t, string(text), broken, word)
		_, err := Read([]byte(broken))
		require.ErrorIs(t, err, device.ErrInvalid, word)
		assert.ErrorContains(t, err, word)
	}
	for word, whole := range map[string]string{
		"cut off, at byte 0 of 0": "", "cut off": string(text[:len(text)/2]), "format is 0": "{}", "cannot unmarshal array": "[]",
		"no device": `{"format":2}`, "is there twice": `{"format":2,"devices":[` + devices(t, text) + "," + devices(t, text) + "]}",
	} {
		_, err := Read([]byte(whole))
		require.ErrorIs(t, err, device.ErrInvalid, word)
		assert.ErrorContains(t, err, word)
	}
	// An interrupted run's report has the results so far.
	r, err := Read([]byte(strings.Replace(strings.Replace(string(text), `"format":2`, `"format":2,"unfinished":true`, 1), `"time":`, `"tide":`, 1)))
	require.NoError(t, err)
	assert.Nil(t, r.Devices[0].Cases[0].Time)
}

// devices is the text of a report's only device.
func devices(t *testing.T, report []byte) string {
	var r struct{ Devices []json.RawMessage }
	require.NoError(t, json.Unmarshal(report, &r))
	return string(r.Devices[0])
}

// Any text that is read as a report can be written, printed and compared; it equals itself.
func FuzzReadReport(f *testing.F) {
	text, err := os.ReadFile("testdata/report.json")
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"format":2,"unfinished":true}`))
	f.Add([]byte(`{"format":2,"unfinished":true,"devices":[{"device":{"id":"cpu"},"size":1,"sector":1,"roofline":{},"cases":[{"name":"x"}]}]}`))
	f.Add([]byte(`{"format":2,"unfinished":true,"devices":[{"device":{"id":"cpu"},"size":1,"sector":1,"passes":2,"readings":[{"mhz":1980,"held_back":["heat"],"steal":0.5},{"watts":1e9,"held_back":[]}],"roofline":{}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(data)
		if err != nil {
			require.ErrorIs(t, err, device.ErrInvalid)
			return
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		_, err = Read(again)
		require.NoError(t, err)
		require.NoError(t, r.WriteBenchmarks(io.Discard))
		for _, d := range r.Devices {
			var out bytes.Buffer
			(&Table{W: &out}).Close(d)
		}
		c := Compare(r, r)
		c.Print(io.Discard)
		require.Zero(t, c.Regressions())
	})
}

// A file of many empty cases is small, and must be refused before it needs gigabytes of memory.
func TestWeightOfAReport(t *testing.T) {
	text := []byte(`{"format":2,"devices":[{"cases":[` + strings.Repeat("{},", 1<<16) + `{}]}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := new(Report)
	require.NoError(t, json.Unmarshal(text, r))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.HeapAlloc-before.HeapAlloc, uint64(weight(text)))
	runtime.KeepAlive(r)

	defer budget.SetLimit(budget.Process().InUse()+weight(text)-1, "a test")()
	_, err := Read(text)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	assert.ErrorContains(t, err, "a report")
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r\n.json")
	_, err := Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.NotContains(t, err.Error(), "\n")
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	_, err = Load(path)
	require.ErrorContains(t, err, `r\n.json": report.Read: `)
	require.NoError(t, os.Truncate(path, 10<<30))
	_, err = Load(path)
	require.ErrorContains(t, err, `r\n.json" has 10737418240 bytes; at most 16777216 are read`)
}
