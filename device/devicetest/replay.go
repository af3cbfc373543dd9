package devicetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// replay tests captures (device.Recorder), where the device has them.
func (r runner) replay(t *testing.T) {
	rig := r.rig(t)
	recorder, ok := device.As[device.Recorder](rig.q)
	if !ok {
		t.Skip("the device captures nothing")
	}
	empty, err := recorder.Capture(func() error { return nil })
	if errors.Is(err, device.ErrUnsupported) {
		t.Skip(err)
	}
	rig.ok(err)
	rig.ok(errors.Join(empty.Run(), empty.Close()))
	rounds := 12
	if r.Small {
		rounds = 2
	}
	for i := range rounds {
		newReplayModel(rig, recorder, r.seed+uint64(i)).check()
	}
	rig.replayKeeps(recorder)
	rig.replayRefuses(recorder)
}

// replayModel is random work on some buffers, done by calls on one set of them and by a replay on
// another.
type replayModel struct {
	rig
	seed     uint64
	rng      *rand.Rand
	recorder device.Recorder
	calls    []func(b []device.Buffer) error
}

// replaySize is the size of a buffer of replayModel, in bytes: more than small calls have.
const replaySize = 3 << 10

func newReplayModel(r rig, recorder device.Recorder, seed uint64) *replayModel {
	m := &replayModel{rig: r, seed: seed, rng: rand.New(rand.NewPCG(seed, 6)), recorder: recorder}
	for range 12 {
		m.calls = append(m.calls, m.call())
	}
	return m
}

// call returns a random call on three buffers, of which it writes one.
func (m *replayModel) call() func(b []device.Buffer) error {
	p := m.rng.Perm(3)
	at, n := m.rng.Int64N(100), 4*(1+m.rng.Int64N(64))
	matrix := func(b device.Buffer, down, right int64) device.Operand {
		return operand(b, layout.Uint16, strided([]int64{n / 4, 4}, []int64{down, right}, at))
	}
	run := func(b device.Buffer, t layout.DType, off, n int64) device.Operand {
		return operand(b, t, dense(off, n))
	}
	q, by := m.q, layout.Index{Extent: 200, Stride: 1, OutOfRange: layout.OutOfRangeClamp}
	table := func(b device.Buffer) device.Operand {
		return operand(b, layout.Uint16, strided([]int64{n}, []int64{0}, 3))
	}
	switch m.rng.IntN(8) {
	case 0:
		return func(b []device.Buffer) error { return q.Copy(matrix(b[p[0]], 4, 1), matrix(b[p[1]], 1, n/4)) }
	case 1:
		return func(b []device.Buffer) error {
			return q.Copy(run(b[p[0]], layout.Uint8, at, n), run(b[p[1]], layout.Uint8, 7, n))
		}
	case 2:
		return func(b []device.Buffer) error { return q.Fill(run(b[p[0]], layout.Uint4, at, n), []byte{byte(n / 4)}) }
	case 3:
		return func(b []device.Buffer) error {
			return q.Convert(run(b[p[0]], layout.Int32, at, n), run(b[p[1]], layout.Int4, at, n), device.Rounding{})
		}
	case 4:
		return func(b []device.Buffer) error {
			return q.Take(run(b[p[0]], layout.Uint16, at, n), table(b[p[1]]), run(b[p[2]], layout.Int32, 0, n), by)
		}
	case 5:
		return func(b []device.Buffer) error {
			return q.Put(table(b[p[0]]), run(b[p[1]], layout.Uint16, at, n), run(b[p[2]], layout.Int32, 0, n), device.ReduceAdd, by)
		}
	case 6:
		return func(b []device.Buffer) error {
			return q.Map(run(b[p[0]], layout.Uint8, at, n), run(b[p[1]], layout.Uint4, at, n), run(b[p[2]], layout.Uint8, 9, 16))
		}
	}
	return func(b []device.Buffer) error {
		return q.Where(matrix(b[p[0]], 4, 1), operand(b[p[1]], layout.Bool, dense(0, n/4, 4)), matrix(b[p[2]], 1, n/4), matrix(b[p[0]], 4, 1))
	}
}

// all does the calls.
func (m *replayModel) all(b []device.Buffer) (err error) {
	for _, call := range m.calls {
		err = errors.Join(err, call(b))
	}
	return err
}

func (m *replayModel) check() {
	m.Helper()
	var called, replayed []device.Buffer
	for range 3 {
		called, replayed = append(called, m.buffer(make([]byte, replaySize))), append(replayed, m.buffer(make([]byte, replaySize)))
	}
	before := m.dev.Stats()
	replay, err := m.recorder.Capture(func() error { return m.all(replayed) })
	if err != nil {
		m.Fatalf("RESTRIDE_SEED=%d: Capture: %v", m.seed, err)
	}
	if after := m.dev.Stats(); after.Launches != before.Launches || after.DeviceToDevice != before.DeviceToDevice {
		m.Errorf("a capture took the stats from %+v to %+v", before, after)
	}
	for round := range 3 {
		for i := range called {
			data := noise(replaySize, m.seed+uint64(10*round+i))
			m.ok(errors.Join(m.q.Write(called[i], 0, data), m.q.Write(replayed[i], 0, data)))
		}
		before := m.dev.Stats()
		m.ok(m.all(called))
		between := m.dev.Stats()
		m.ok(replay.Run())
		if n := m.dev.Stats().Launches - between.Launches; n != between.Launches-before.Launches {
			m.Errorf("a replay of %d launches counts %d", between.Launches-before.Launches, n)
		}
		for i := range called {
			if !bytes.Equal(m.bytes(called[i]), m.bytes(replayed[i])) {
				m.Fatalf("RESTRIDE_SEED=%d: run %d of a replay is not what its calls do", m.seed, round)
			}
		}
	}
	m.ok(replay.Close())
	for i := range called {
		m.ok(errors.Join(called[i].Free(), replayed[i].Free()))
	}
}

// replayKeeps checks that replays keep their buffers, with work too large for one goroutine, and
// that closing the queue or the device ends them.
func (r rig) replayKeeps(recorder device.Recorder) {
	const size = 1 << 20
	a, b := r.buffer(noise(size, 1)), r.buffer(make([]byte, size))
	var between device.Buffer
	replay, err := recorder.Capture(func() (err error) {
		if between, err = r.dev.Alloc(size); err != nil {
			return err
		}
		return errors.Join(r.q.Copy(row(between, size), row(a, size)), r.q.Copy(row(b, size), column(between, size)), between.Free())
	})
	r.ok(err)
	r.ok(a.Free())
	other := r.buffer(make([]byte, size)) // not the memory of the others
	for range 2 {
		r.ok(r.q.Fill(row(b, size), []byte{0}))
		r.ok(replay.Run())
		if !bytes.Equal(r.bytes(b), transposed(noise(size, 1))) {
			r.Error("a replay on freed buffers is wrong")
		}
	}
	if !bytes.Equal(r.bytes(other), make([]byte, size)) {
		r.Error("a replay wrote to another buffer")
	}
	live := r.dev.Stats().Buffers
	r.ok(replay.Close())
	r.is(replay.Close(), device.ErrClosed, "a replay closed twice")
	r.is(replay.Run(), device.ErrClosed, "a closed replay")
	r.ok(errors.Join(other.Free(), b.Free()))
	if now := r.dev.Stats().Buffers; now >= live {
		r.Errorf("%d buffers with a replay, %d after", live, now)
	}

	own := r.fork(r.T)
	theirs, _ := device.As[device.Recorder](own.q)
	c := r.buffer(make([]byte, 64))
	left, err := theirs.Capture(func() error { return own.q.Fill(row(c, 64), []byte{3}) })
	r.ok(err)
	r.ok(errors.Join(left.Run(), own.q.Close()))
	r.is(left.Run(), device.ErrClosed, "the replay of a closed queue")
	r.is(left.Close(), device.ErrClosed, "the replay of a closed queue")
	r.ok(c.Free())
}

// replayRefuses checks what a capture refuses, and that the queue works afterwards.
func (r rig) replayRefuses(recorder device.Recorder) {
	b, freed := r.buffer(make([]byte, 64)), r.buffer(make([]byte, 64))
	r.ok(freed.Free())
	e, err := r.q.Record()
	r.ok(err)
	fill := func(b device.Buffer) error { return r.q.Fill(row(b, 64), []byte{9}) }
	kept, err := recorder.Capture(func() error { return fill(b) })
	r.ok(err)
	own := errors.New("no more")
	for name, c := range map[string]struct {
		f    func() error
		kind error
	}{
		"Write":     {func() error { return r.q.Write(b, 0, make([]byte, 4)) }, device.ErrInvalid},
		"Read":      {func() error { return r.q.Read(make([]byte, 4), b, 0) }, device.ErrInvalid},
		"Wait":      {r.q.Wait, device.ErrInvalid},
		"WaitFor":   {func() error { return r.q.WaitFor(e) }, device.ErrInvalid},
		"Record":    {func() error { _, err := r.q.Record(); return err }, device.ErrInvalid},
		"Capture":   {func() error { _, err := recorder.Capture(func() error { return nil }); return err }, device.ErrInvalid},
		"Run":       {kept.Run, device.ErrInvalid},
		"Close":     {kept.Close, device.ErrInvalid},
		"freed":     {func() error { return fill(freed) }, device.ErrClosed},
		"a rule":    {func() error { return r.q.Fill(row(b, 64), nil) }, device.ErrInvalid},
		"own error": {func() error { return errors.Join(fill(b), own) }, own},
	} {
		replay, err := recorder.Capture(c.f)
		r.is(err, c.kind, "%s in a capture", name)
		if replay != nil {
			r.Errorf("%s in a capture gave a replay", name)
		}
	}
	_, err = recorder.Capture(nil)
	r.is(err, device.ErrInvalid, "a capture of nothing")
	func() {
		defer func() {
			if fmt.Sprint(recover()) != "oh" {
				r.Error("a panic in a capture did not come through")
			}
		}()
		_, _ = recorder.Capture(func() error { panic("oh") })
	}()
	if !bytes.Equal(r.bytes(b), make([]byte, 64)) {
		r.Error("a capture that failed has done something")
	}
	r.ok(kept.Run())
	if !bytes.Equal(r.bytes(b), bytes.Repeat([]byte{9}, 64)) {
		r.Error("a replay is wrong after captures that failed")
	}
	inner := r.fork(r.T)
	theirs, _ := device.As[device.Recorder](inner.q)
	_, err = theirs.Capture(inner.q.Close)
	r.is(err, device.ErrClosed, "the queue closed in a capture")
	r.ok(errors.Join(kept.Close(), b.Free()))
}
