package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/layout"
)

// slowed is a backend whose device is the cpu's, but that copies of float16 are done
// so many times more.
type slowed struct {
	on     atomic.Bool
	times  atomic.Int64
	copies atomic.Int64
	hook   func(copies int64) // called by each copy, if there is one
}

var slow slowed

func init() { device.Register(&slow) }

func (s *slowed) Name() string                 { return "slowed" }
func (s *slowed) List() ([]device.Info, error) { return nil, nil }

func (s *slowed) Open(int) (device.Device, error) {
	if !s.on.Load() {
		return nil, device.ErrNoDevice
	}
	dev, err := cpu.Open()
	return slowedDevice{dev}, err
}

type slowedDevice struct{ device.Device }

func (d slowedDevice) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return slowedQueue{q}, err
}

type slowedQueue struct{ device.Queue }

func (q slowedQueue) Copy(dst, src device.Operand) error {
	if n := slow.copies.Add(1); slow.hook != nil {
		slow.hook(n)
	}
	if dst.Type == layout.Float16 {
		for range slow.times.Load() {
			if err := q.Queue.Copy(dst, src); err != nil {
				return err
			}
		}
	}
	return q.Queue.Copy(dst, src)
}

func enable(t *testing.T) {
	slow.on.Store(true)
	slow.times.Store(0)
	slow.copies.Store(0)
	t.Cleanup(func() { slow.on.Store(false); slow.hook = nil })
}

// A kernel that has become slower is named, and fails the command; a second run
// without it does not, and files are compared without measuring. Of the three tries
// see TestCompareSlowedKernel of package bench.
func TestBenchCompare(t *testing.T) {
	enable(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name+".json") }
	run := func(name string, more ...string) (string, error) {
		return restride(append([]string{"bench", "--device", "slowed", "--size", "256K", "--time", "12ms", "--filter", "^c-heads/(16|32)$", "--json", path(name)}, more...)...)
	}
	for try := 0; ; try++ {
		slow.times.Store(0)
		_, err := run("old")
		require.NoError(t, err)
		same, sameErr := run("same", "--compare", path("old"))
		slow.times.Store(12)
		worse, worseErr := run("worse", "--compare", path("same"))
		if try < 2 && (sameErr != nil || worseErr == nil) {
			continue
		}
		require.NoError(t, sameErr, same)
		assert.Contains(t, same, "beside "+path("old"))
		assert.Contains(t, same, "0 slower, 0 lost")
		require.ErrorIs(t, worseErr, errCounted, worse)
		assert.Contains(t, worse, "\n  cpu at 256 KiB: c-heads/16: slower: 0.")
		break
	}
	slow.on.Store(false) // nothing is measured any more
	out, err := restride("bench", "--from", path("worse"), "--compare", path("same"))
	require.ErrorIs(t, err, errCounted)
	assert.True(t, strings.HasPrefix(out, "cpu at 256 KiB: memcpy, the yardstick"), out)
	assert.Contains(t, out, "c-heads/16: slower")
	_, err = restride("bench", "--from", path("same"), "--compare", path("same"))
	require.NoError(t, err)
}

// What was measured is printed again, and written for benchstat.
func TestBenchFrom(t *testing.T) {
	dir := t.TempDir()
	path, lines := filepath.Join(dir, "report.json"), filepath.Join(dir, "lines.txt")
	measured, err := restride("bench", "--device", "cpu", "--size", "4K,1M", "--time", "1us", "--filter", "^pack/4$", "--json", path)
	require.NoError(t, err)
	assert.Contains(t, measured, "size 4 KiB: the same buffers each time, which caches hold")
	assert.Contains(t, measured, "size 1 MiB: buffers take turns")
	assert.Equal(t, 2, strings.Count(measured, "\npack/4 "))
	assert.NotContains(t, measured, "\x1b", "no progress where nobody looks")
	again, err := restride("bench", "--from", path, "--benchstat", lines)
	require.NoError(t, err)
	assert.Equal(t, measured, again)
	text, err := os.ReadFile(lines)
	require.NoError(t, err)
	for _, size := range []string{"4KiB", "1MiB"} {
		assert.Equal(t, bench.Passes, strings.Count(string(text), "BenchmarkCases/case=pack/width=4/device=cpu/size="+size))
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"format":2,"devices":[`), 0o600))
	for word, args := range map[string][]string{
		"--from: open":       {"--from", filepath.Join(dir, "none")},
		"cut off":            {"--from", path},
		"--compare: open":    {"--compare", filepath.Join(dir, "none")},
		"--compare: " + path: {"--compare", path},
		"--benchstat: open ": {"--device", "cpu", "--filter", "pack/4", "--size", "1K", "--time", "1us", "--benchstat", filepath.Join(dir, "no", "lines")},
	} {
		_, err := restride(append([]string{"bench"}, args...)...)
		assert.ErrorContains(t, err, word)
	}
}

// A run that is interrupted leaves what it measured, marked as such.
func TestBenchInterrupted(t *testing.T) {
	enable(t)
	path := filepath.Join(t.TempDir(), "report.json")
	ctx, cancel := context.WithCancel(context.Background())
	var then []byte
	slow.hook = func(int64) {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(`"verified"`)) {
			then = text // what a run that is killed here leaves
			cancel()
		}
	}
	root := newRoot()
	var printed bytes.Buffer
	root.SetOut(&printed)
	root.SetArgs([]string{"bench", "--device", "slowed", "--size", "4K", "--time", "1us", "--filter", "^c-heads/", "--json", path, "--html", path + ".html"})
	err := root.ExecuteContext(ctx)
	require.EqualError(t, err, "interrupted; what was measured until then is above, and in "+path+", and in "+path+".html")
	assert.Contains(t, printed.String(), "\nc-heads/8 ")
	assert.Contains(t, printed.String(), ": 1 cases measured")
	html, err := os.ReadFile(path + ".html")
	require.NoError(t, err)
	assert.Contains(t, string(html), `<th scope="row">c-heads/8</th>`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, text := range [][]byte{then, text} {
		r, err := report.Read(text)
		require.NoError(t, err)
		assert.True(t, r.Unfinished)
		require.Len(t, r.Devices, 1)
		require.NotEmpty(t, r.Devices[0].Cases)
		assert.Len(t, r.Devices[0].Cases[0].Time.Passes, 1)
	}
	out, err := restride("bench", "--from", path)
	require.NoError(t, err)
	assert.Contains(t, out, "\nc-heads/8 ")
	assert.Contains(t, out, "interrupted")
}

// The line says how much is done and how long the rest takes, and goes away.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	p := &progress{w: &out, what: "cpu", start: start, now: func() time.Time { return start.Add(20 * time.Second) }}
	p.show(.25)
	assert.Equal(t, "cpu [#######.......................]  25%, 1m0s left", out.String())
	p.clear()
	assert.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"))
	for _, part := range []float64{0, 1} {
		out.Reset()
		p.show(part)
		assert.Empty(t, out.String())
	}
	p = newProgress(&out, "cpu") // no terminal
	p.show(.5)
	p.clear()
	assert.Empty(t, out.String())
	assert.False(t, isTerminal(&checkedWriter{w: &out}))
}

func TestUnicodeLocale(t *testing.T) {
	for want, set := range map[bool][][3]string{
		true:  {{"", "", "C.UTF-8"}, {"de_DE.utf8", "C", "C"}, {"", "en_US.UTF-8", ""}},
		false: {{"", "", ""}, {"C", "en_US.UTF-8", "en_US.UTF-8"}, {"", "", "de_DE.ISO-8859-1"}},
	} {
		for _, s := range set {
			t.Setenv("LC_ALL", s[0])
			t.Setenv("LC_CTYPE", s[1])
			t.Setenv("LANG", s[2])
			assert.Equal(t, want, unicodeLocale(), s)
		}
	}
}
