// Package devicetest is the suite that every device must pass. A device's own
// test is one call:
//
//	func TestDevice(t *testing.T) {
//		devicetest.Run(t, func(t *testing.T) device.Device {
//			dev, err := device.Open("cpu")
//			...
//			return dev
//		})
//	}
//
// Results are compared, bit for bit, with those of package oracle. A failure
// names its case and seed; the environment repeats it:
//
//	RESTRIDE_CASE=copy/int4/3x5/dst=5,1@1/src=-1,3@14   only this case
//	RESTRIDE_SEED=17                                    data, and random cases from here on
//	RESTRIDE_SUITE=small                                like Suite.Small
//	RESTRIDE_PART=2/5                                   the second of every five tests of the suite
//	RESTRIDE_SOAK=1                                     sweeps in full, more random cases
package devicetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// Suite says how much of the suite to run. Sweeps are sampled unless RESTRIDE_SOAK is set: in
// full they last ten times as long.
type Suite struct {
	// Small uses small shapes, few cases and one queue where that suffices: for simulators and
	// checkers that are a thousand times slower.
	Small bool
	// Once limits puts to those that set an element once: for checkers of races, which report
	// two elements that go to one place, where either may be last. Puts that reduce have no
	// races.
	Once bool
	// Lone is Once, one goroutine at a time, and random cases with two buffers: for checkers
	// that support no more. (In one buffer, a kernel may read elements of a word while it sets
	// others by atomic operations; Oclgrind reports that as a race.)
	Lone bool
}

// Run runs the whole suite. It closes every device that open returns; devices open at the same
// time must belong to one backend and be independent.
func Run(t *testing.T, open func(*testing.T) device.Device) {
	Suite{}.Run(t, open)
}

// Run runs this much of the suite: see the function Run.
func (s Suite) Run(t *testing.T, open func(*testing.T) device.Device) {
	s.Small = s.Small || os.Getenv("RESTRIDE_SUITE") == "small"
	s.Once = s.Once || s.Lone
	r := runner{Suite: s, open: open, seed: seed(t)}
	if name := os.Getenv("RESTRIDE_CASE"); name != "" {
		t.Run("Case", func(t *testing.T) { r.oneCase(t, name) })
		return
	}
	values := r // the race detector finds no more in longer sweeps of values
	values.Small = r.Small || race.Enabled
	part, parts := part(t)
	for i, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Info", r.one(info)},
		{"Transfers", r.one(transfers)},
		{"Alloc", r.one(alloc)},
		{"Empty", r.one(empty)},
		{"Fill", values.fill},
		{"Convert", values.convert},
		{"Runs", values.runs},
		{"Edges", values.edges},
		{"Fields", values.fields},
		{"Sweep", r.sweep},
		{"Random", r.random},
		{"Take", values.take},
		{"TakeRules", r.two(takeRules)},
		{"TakeOrder", r.takeOrder},
		{"Map", values.maps},
		{"MapRules", r.two(mapRules)},
		{"Where", values.where},
		{"WhereRules", r.two(whereRules)},
		{"Put", values.put},
		{"PutRules", r.one(putRules)},
		{"PutOrder", r.putOrder},
		{"Scaling", values.scaling},
		{"ScalingRules", r.two(scalingRules)},
		{"Strings", r.one(holdsStrings)},
		{"Rules", r.two(rules)},
		{"Stats", r.one(stats)},
		{"Trim", r.one(trim)},
		{"Free", r.free},
		{"CloseQueue", r.closeQueue},
		{"CloseDevice", r.closeDevice},
		{"Order", r.order},
		{"Late", r.late},
		{"Replay", r.replay},
		{"Parallel", r.parallel},
	} {
		if i%parts != part || s.Lone && test.name == "Parallel" {
			continue
		}
		t.Run(test.name, test.run)
	}
}

// runner is a suite as it runs.
type runner struct {
	Suite
	open func(*testing.T) device.Device
	seed uint64
}

// part reads RESTRIDE_PART: which part of the suite to run, from 0 on, of how many.
func part(t *testing.T) (part, parts int) {
	word := os.Getenv("RESTRIDE_PART")
	if word == "" {
		return 0, 1
	}
	if _, err := fmt.Sscanf(word+";", "%d/%d;", &part, &parts); err != nil || part < 1 || part > parts {
		t.Fatalf("RESTRIDE_PART is %q; a part and the number of parts are wanted, as 2/5", word)
	}
	return part - 1, parts
}

func seed(t *testing.T) uint64 {
	word := os.Getenv("RESTRIDE_SEED")
	if word == "" {
		return uint64(time.Now().UnixNano()) % 1e9
	}
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		t.Fatalf("RESTRIDE_SEED: %v", err)
	}
	return n
}

// few reports whether to sample sweeps. The race detector finds no more in full ones.
func (r runner) few() bool { return r.Small || race.Enabled || !soak.Enabled() }

// rig is a device with a queue, for one test.
type rig struct {
	*testing.T
	dev   device.Device
	q     device.Queue
	wrong *int // cases that failed
}

// rig opens a device and a queue, which the end of the test closes.
func (r runner) rig(t *testing.T) rig {
	t.Helper()
	dev := r.open(t)
	t.Cleanup(func() {
		if err := dev.Close(); err != nil && !errors.Is(err, device.ErrClosed) {
			t.Errorf("closing the device: %v", err)
		}
	})
	return rig{T: t, dev: dev}.fork(t)
}

// one returns a test that runs on one device.
func (r runner) one(test func(rig)) func(*testing.T) {
	return func(t *testing.T) { test(r.rig(t)) }
}

// two returns a test that runs on a device, beside another one.
func (r runner) two(test func(rig, other rig)) func(*testing.T) {
	return func(t *testing.T) { test(r.rig(t), r.rig(t)) }
}

// fork returns a rig with its own queue on the same device.
func (r rig) fork(t *testing.T) rig {
	t.Helper()
	q, err := r.dev.NewQueue()
	if err != nil {
		t.Fatalf("NewQueue: %v", err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil && !errors.Is(err, device.ErrClosed) {
			t.Errorf("closing the queue: %v", err)
		}
	})
	return rig{t, r.dev, q, new(int)}
}

func (r rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// is fails the test unless err is of the given kind.
func (r rig) is(err, kind error, format string, args ...any) {
	r.Helper()
	if !errors.Is(err, kind) {
		r.Errorf(format+": got error %v, want one that is %q", append(args, err, kind)...)
	}
}

// buffer returns a buffer that holds data.
func (r rig) buffer(data []byte) device.Buffer {
	r.Helper()
	b, err := r.dev.Alloc(int64(len(data)))
	r.ok(err)
	if b.Size() != int64(len(data)) {
		r.Fatalf("Alloc(%d) gave a buffer of size %d", len(data), b.Size())
	}
	r.ok(r.q.Write(b, 0, data))
	return b
}

// bytes returns the whole content of a buffer.
func (r rig) bytes(b device.Buffer) []byte {
	r.Helper()
	data := noise(b.Size(), 99)
	r.ok(r.q.Read(data, b, 0))
	return data
}

// left returns the whole content of a buffer after work on it that failed.
func (r rig) left(b device.Buffer) []byte {
	r.Helper()
	data := noise(b.Size(), 99)
	if err := r.q.Read(data, b, 0); err != nil {
		r.is(err, device.ErrInvalid, "an index out of range")
	}
	return data
}

// parse returns the case of a name.
func (r rig) parse(name string) oracle.Case {
	r.Helper()
	c, err := oracle.ParseCase(name)
	r.ok(err)
	return c
}

// check runs a case; at the third that fails, the test ends.
func (r rig) check(c oracle.Case, seed uint64) {
	r.Helper()
	r.report(c, seed, oracle.CheckOn(r.dev, r.q, c, seed))
}

// report counts the result of a case.
func (r rig) report(c fmt.Stringer, seed uint64, err error) {
	r.Helper()
	if err == nil || skipped(err) {
		return
	}
	r.Errorf("RESTRIDE_SEED=%d RESTRIDE_CASE=%v\n%v", seed, c, err)
	if *r.wrong++; *r.wrong == 3 {
		r.FailNow()
	}
}

func noise(n int64, seed uint64) []byte {
	return oracle.RandomBytes(rand.New(rand.NewPCG(seed, 0)), n)
}

// strided returns a layout that is known to be valid.
func strided(dims, strides []int64, offset int64) layout.Layout {
	l, err := layout.Strided(dims, strides, offset)
	if err != nil {
		panic(err)
	}
	return l
}

// dense returns a row-major layout.
func dense(offset int64, dims ...int64) layout.Layout {
	l, err := layout.Contiguous(dims...)
	if err == nil {
		l, err = l.Rebase(offset)
	}
	if err != nil {
		panic(err)
	}
	return l
}

// widths has a type for each element width; Bit, the first, can only be copied and filled.
var widths = []layout.DType{layout.Bit, layout.Uint2, layout.Uint4, layout.Uint8, layout.Float16, layout.Float32, layout.Int64, layout.Complex128}

// perByte returns how many elements share a byte.
func perByte(t layout.DType) int64 { return int64(max(8/t.Bits(), 1)) }

func skipped(err error) bool { return errors.Is(err, oracle.ErrSkipped) }

// wider maps ErrInvalid to ErrOutOfMemory, where a device may return either.
func wider(err error) error {
	if errors.Is(err, device.ErrInvalid) {
		return device.ErrOutOfMemory
	}
	return err
}
