package cuda

import (
	_ "embed" // for the kernels
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// microPTX is micro/micro.h, compiled by scripts/ptx.sh.
//
//go:embed micro/micro.ptx
var microPTX []byte

// calibration holds the measurements for the GPU model (see docs/gpu-model.md), and more. Rates
// are bytes per second, read and written.
type calibration struct {
	Copy         float64 `json:"copy"` // the fastest of Copies
	Read         float64 `json:"read"`
	Write        float64 `json:"write"`
	Instructions float64 `json:"instructions"` // of a warp, per cycle and multiprocessor
	Latency      float64 `json:"latency"`      // cycles of a load from memory
	Launch       float64 `json:"launch"`       // seconds of a launch queued after others

	Copies  map[string]float64 `json:"copies"`  // by the number of vectors of 16 bytes per thread
	Driver  float64            `json:"driver"`  // a copy by the driver
	Sectors float64            `json:"sectors"` // written bytes, where 4 of each 32 are
}

// measure returns the file for results; "": this is only a test.
func measure() string { return os.Getenv("RESTRIDE_MEASURE") }

func save(t *testing.T, result any) {
	text, err := json.MarshalIndent(result, "", "\t")
	require.NoError(t, err)
	t.Logf("%s", text)
	if measure() != "" {
		require.NoError(t, os.WriteFile(measure(), append(text, '\n'), 0o644))
	}
}

// micro runs the kernels of micro.h.
type micro struct {
	t        *testing.T
	d        *driver
	s        *stream
	f        *frame
	module   cuModule
	found    map[string]cuFunction
	dst, src cuDevicePtr
	rounds   int
}

func (m *micro) must(err error) {
	if err != nil { // testify's check costs as much as a launch
		m.t.Helper()
		require.NoError(m.t, err)
	}
}

// function looks a kernel up, once: the driver's lookup costs more than a launch.
func (m *micro) function(name string) cuFunction {
	fn, ok := m.found[name]
	if !ok {
		var err error
		fn, err = m.d.api.lookup(m.module, "micro_"+name)
		m.must(err)
		m.found[name] = fn
	}
	return fn
}

func (m *micro) launch(name string, groups uint32, lo, hi uint64) {
	fn := m.function(name)
	values := [7]uint64{uint64(m.dst), uint64(m.src), 0, 0, 0, lo, hi}
	var params [7]unsafe.Pointer
	for i := range values {
		params[i] = unsafe.Pointer(&values[i])
	}
	m.must(m.d.api.launch(m.f, fn, groups, 256, m.s.handle, params[:]))
}

// time returns the median duration of some work, by the device's clock.
func (m *micro) time(work func()) time.Duration {
	var all []float64
	from, err := m.d.api.newEvent()
	m.must(err)
	to, err := m.d.api.newEvent()
	m.must(err)
	for range m.rounds {
		m.must(m.d.api.record(m.f, from, m.s.handle))
		work()
		m.must(m.d.api.record(m.f, to, m.s.handle))
		m.must(m.d.api.await(m.f, to))
		ms, err := m.d.api.elapsed(from, to)
		m.must(err)
		all = append(all, float64(ms))
	}
	m.must(m.d.api.destroyEvent(from))
	m.must(m.d.api.destroyEvent(to))
	slices.Sort(all)
	return time.Duration(all[len(all)/2] * 1e6)
}

func (m *micro) words(at cuDevicePtr, n int) []uint32 {
	w := make([]uint32, n)
	m.must(m.d.api.download(m.f, unsafe.Pointer(&w[0]), at, int64(4*n), m.s.handle))
	m.must(m.d.api.synchronize(m.f, m.s.handle))
	return w
}

func (m *micro) put(at cuDevicePtr, w []uint32) {
	m.must(m.d.api.upload(m.f, at, unsafe.Pointer(&w[0]), int64(4*len(w)), m.s.handle))
	m.must(m.d.api.synchronize(m.f, m.s.handle))
}

// TestMicro measures the constants of the GPU model, if RESTRIDE_MEASURE names a file for them,
// and otherwise only checks the kernels' results.
func TestMicro(t *testing.T) {
	dev := openTest(t)
	bytes, steps, rounds := int64(1<<20), uint64(100), 3
	if measure() != "" && !strings.Contains(dev.Info().Name, "simulator") {
		bytes, steps, rounds = 512<<20, 1<<14, 15
	}
	m := &micro{t: t, d: dev.driver, found: map[string]cuFunction{}, rounds: rounds}
	made, err := m.d.NewStream()
	require.NoError(t, err)
	m.s = made.(*stream)
	result := calibration{Copies: map[string]float64{}}
	require.NoError(t, m.d.with(func(f *frame) error {
		m.f = f
		m.module, err = m.d.api.load(append(slices.Clone(microPTX), 0))
		m.must(err)
		m.dst, err = m.d.api.alloc(bytes)
		m.must(err)
		m.src, err = m.d.api.alloc(bytes)
		m.must(err)
		m.run(&result, bytes, steps, 1e6*float64(dev.Info().MHz))
		m.must(m.d.api.free(m.dst))
		m.must(m.d.api.free(m.src))
		return m.d.api.unload(m.module)
	}))
	require.NoError(t, m.s.Close())
	save(t, map[string]calibration{dev.Info().Name: result})
}

func (m *micro) run(result *calibration, bytes int64, steps uint64, clock float64) {
	t, vectors := m.t, uint32(bytes/16)
	rate := func(moved int64, d time.Duration) float64 { return float64(moved) / max(d.Seconds(), 1e-9) }
	pattern := make([]uint32, bytes/4)
	for i := range pattern {
		pattern[i] = uint32(i)*2654435761 + 1
	}
	m.put(m.src, pattern)
	last := int(bytes/4) - 1
	for _, n := range []uint32{1, 2, 4, 8} {
		m.put(m.dst+cuDevicePtr(4*last), []uint32{0})
		name := "copy_" + string(rune('0'+n))
		result.Copies[name[5:]] = rate(2*bytes, m.time(func() { m.launch(name, vectors/256/n, 0, 0) }))
		assert.Equal(t, pattern[last], m.words(m.dst+cuDevicePtr(4*last), 1)[0], name)
	}
	for _, r := range result.Copies {
		result.Copy = max(result.Copy, r)
	}
	result.Driver = rate(2*bytes, m.time(func() { m.must(m.d.api.copyWithin(m.f, m.dst, m.src, bytes, m.s.handle)) }))

	result.Read = rate(bytes, m.time(func() { m.launch("read", vectors/256/8, 0, 0) }))
	result.Write = rate(bytes, m.time(func() { m.launch("write", vectors/256/8, 7, 0) }))
	assert.Equal(t, []uint32{7, 7}, m.words(m.dst+cuDevicePtr(4*(last-1)), 2))
	result.Sectors = rate(bytes/8, m.time(func() { m.launch("sectors", uint32(bytes/32/256/8), 9, 0) }))
	assert.Equal(t, []uint32{9, 7}, m.words(m.dst+cuDevicePtr(bytes-32), 2))

	// Enough blocks to fill every multiprocessor many times.
	blocks := uint32(bytes / 4 / 256 / 16)
	took := m.time(func() { m.launch("operations", blocks, 1, steps) })
	processors := float64(max(m.d.Properties().Target.Multiprocessors, 1))
	result.Instructions = float64(blocks) * 8 * float64(steps) * 64 / (max(took.Seconds(), 1e-9) * clock * processors)

	m.chase(result, bytes, steps, clock)

	const launches = 100
	m.function("nothing") // loaded outside the timed part
	took = m.time(func() {
		for range launches {
			m.launch("nothing", 1, 0, 0)
		}
	})
	result.Launch = took.Seconds() / launches
}

// chase measures the latency of loads. A round begins where the previous one ended: a repeated
// walk would be served by a cache.
func (m *micro) chase(result *calibration, bytes int64, steps uint64, clock float64) {
	walk := randomWalk(int(bytes / 4))
	m.put(m.src, walk)
	m.launch("write", uint32(bytes/16/256/8), 0, 0) // also evicts the upload's last lines from the cache
	at := starts(walk, int(steps), m.rounds)
	round := 0
	took := m.time(func() {
		m.launch("chase", 1, uint64(at[round]), steps)
		round++
	})
	result.Latency = took.Seconds() * clock / float64(steps)
	assert.Equal(m.t, at[m.rounds], m.words(m.dst, 1)[0])
}

const lineWords = 64 // of 4 bytes, between the places of a walk

// randomWalk is a walk over all lines of n words: each line's first word is the index of the
// next. The order is unpredictable: a linear congruential generator, with full period if the
// number of lines is a power of two.
func randomWalk(words int) []uint32 {
	walk := make([]uint32, words)
	lines := uint32(words / lineWords)
	for i := range lines {
		walk[i*lineWords] = (i*1664525 + 1013904223) % lines * lineWords
	}
	return walk
}

// starts returns the start of each round of a walk, and the end of the last one.
func starts(walk []uint32, steps, rounds int) []uint32 {
	at := make([]uint32, 1, rounds+1)
	for range rounds {
		next := at[len(at)-1]
		for range steps {
			next = walk[next]
		}
		at = append(at, next)
	}
	return at
}

// Rounds of a chase must not visit a line twice, or they measure the cache's latency.
func TestChaseGoesOn(t *testing.T) {
	const steps, rounds = 100, 15
	walk := randomWalk(1 << 18)
	visited := map[uint32]bool{}
	for _, at := range starts(walk, steps, rounds)[:rounds] {
		for range steps {
			require.False(t, visited[at], "word %d is visited twice", at)
			visited[at] = true
			at = walk[at]
		}
	}
	assert.Len(t, visited, steps*rounds)
}
