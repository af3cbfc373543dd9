package devicetest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// mapTypes has a type of each width for either side of a map.
var (
	mapTypes = []layout.DType{layout.Int2, layout.Uint4, layout.Int8}
	mapsTo   = []layout.DType{layout.Uint2, layout.Int4, layout.Uint8, layout.Float16, layout.Float32}
)

// maps looks elements of all widths up in tables of all widths, and runs random maps.
func (r runner) maps(t *testing.T) {
	shared := r.rig(t)
	seed := uint64(0)
	n, lanes, limits := 4000, 4, oracle.Limits{Ops: []oracle.Op{oracle.OpMap}}
	counts := []int64{0, 1, 7, 8, 9, 64, 257, 3001}
	if r.few() {
		n, counts = 300, []int64{0, 1, 9, 64, 257}
	}
	if r.Small {
		n, lanes, counts, limits.MaxBytes = 40, 1, []int64{1, 9, 130}, 1<<10
	}
	for _, from := range mapTypes {
		for _, to := range mapsTo {
			for _, count := range counts {
				seed++
				dense := oracle.Case{
					Op: oracle.OpMap, SrcType: from, DstType: to, Dst: dense(int64(seed%5), count), Src: dense(int64(seed%3), count), Table: int64(seed % 7),
				}
				rows := dense
				rows.Dst, rows.Src = strided([]int64{3, count}, []int64{count + 1, 1}, 2), strided([]int64{3, count}, []int64{0, 1}, 1)
				turned := dense
				turned.Dst, turned.Src = strided([]int64{5, count}, []int64{count, 1}, 0), strided([]int64{5, count}, []int64{1, 5}, 0)
				cases := []oracle.Case{dense, rows, turned}
				if from.Bits() == to.Bits() && !r.Lone {
					place := dense
					place.Src, place.Shared = place.Dst, true
					cases = append(cases, place)
				}
				for _, c := range cases {
					shared.check(c, seed)
				}
			}
		}
	}
	// Many elements, so that devices share the work.
	if !r.Small {
		for _, from := range mapTypes {
			for _, to := range mapsTo {
				shared.check(oracle.Case{Op: oracle.OpMap, SrcType: from, DstType: to, Dst: dense(1, 300001), Src: dense(1, 300001)}, 1)
			}
		}
	}
	r.randomCases(t, shared, limits, n, lanes)
}

// randomCases runs random cases within limits on the given number of queues.
func (r runner) randomCases(t *testing.T, shared rig, limits oracle.Limits, n, lanes int) {
	for lane := range lanes {
		rig := shared.fork(t)
		for i := lane; i < n; i += lanes {
			seed := r.seed + uint64(i)
			if c := oracle.Random(rand.New(rand.NewPCG(seed, 2)), limits); !r.Lone || !c.Shared && !c.SharedB {
				rig.check(c, seed)
			}
		}
	}
}

// mapRules makes maps that a device must refuse immediately.
func mapRules(rig, other rig) {
	data := noise(2048, 1)
	a, b, table := rig.buffer(data), rig.buffer(data), rig.buffer(data)
	foreign := other.buffer(noise(256, 2))
	of := func(b device.Buffer, t layout.DType, off int64, dims ...int64) device.Operand {
		return operand(b, t, dense(off, dims...))
	}
	to, from, entries := of(a, layout.Int8, 0, 9), of(b, layout.Uint8, 0, 9), of(table, layout.Int8, 3, 256)
	rig.refusesAll([]call{
		{"shapes", func() error { return rig.q.Map(to, of(b, layout.Uint8, 0, 8), entries) }},
		{"16 bits as numbers", func() error { return rig.q.Map(to, of(b, layout.Int16, 0, 9), of(table, layout.Int8, 0, 2048)) }},
		{"to 64 bits", func() error { return rig.q.Map(of(a, layout.Int64, 0, 9), from, of(table, layout.Int64, 0, 256)) }},
		{"a table of other widths", func() error { return rig.q.Map(to, from, of(table, layout.Int16, 0, 256)) }},
		{"a short table", func() error { return rig.q.Map(to, from, of(table, layout.Int8, 0, 255)) }},
		{"a table of two axes", func() error { return rig.q.Map(to, from, of(table, layout.Int8, 0, 16, 16)) }},
		{"a table with gaps", func() error {
			return rig.q.Map(to, from, operand(table, layout.Int8, strided([]int64{256}, []int64{2}, 0)))
		}},
		{"a table beyond its buffer", func() error { return rig.q.Map(to, from, of(table, layout.Int8, 1793, 256)) }},
		{"src beyond its buffer", func() error { return rig.q.Map(to, of(b, layout.Uint8, 2040, 9), entries) }},
		{"dst repeats an element", func() error {
			return rig.q.Map(operand(a, layout.Int8, strided([]int64{9}, []int64{0}, 0)), from, entries)
		}},
		{"dst in the table", func() error { return rig.q.Map(of(table, layout.Int8, 258, 9), from, entries) }},
		{"dst one behind src", func() error { return rig.q.Map(of(b, layout.Int8, 1, 9), from, entries) }},
		{"dst between elements of src", func() error {
			src := operand(b, layout.Uint8, strided([]int64{9}, []int64{2}, 0))
			return rig.q.Map(operand(b, layout.Int8, strided([]int64{9}, []int64{2}, 1)), src, entries)
		}},
		{"src in place by another width", func() error { return rig.q.Map(of(b, layout.Int16, 0, 9), from, of(table, layout.Int16, 0, 256)) }},
		{"no table", func() error { return rig.q.Map(to, from, of(nil, layout.Int8, 0, 256)) }},
		{"a table of another device", func() error { return rig.q.Map(to, from, of(foreign, layout.Int8, 0, 256)) }},
	}, a, b, table)

	before := rig.dev.Stats()
	rig.ok(rig.q.Map(of(a, layout.Int8, 0, 0), of(b, layout.Uint8, 0, 0), entries))
	if after := rig.dev.Stats(); after.Launches != before.Launches {
		rig.Error("an empty map was launched")
	}
	rig.ok(rig.q.Map(of(b, layout.Float16, 0, 4), of(b, layout.Uint4, 16, 4), of(b, layout.Int16, 5, 16))) // one behind the other
	if after := rig.dev.Stats(); after.Launches != before.Launches+1 || after.DeviceToDevice != before.DeviceToDevice+8 {
		rig.Errorf("a map of 8 bytes took the stats from %+v to %+v", before, after)
	}
	rig.ok(errors.Join(a.Free(), b.Free(), table.Free(), foreign.Free()))
	rig.is(rig.q.Map(to, from, entries), device.ErrClosed, "freed buffers")
}

// refusesAll makes calls that a device must refuse immediately with ErrInvalid, and checks that
// the buffers, which hold the same bytes, do not change.
func (r rig) refusesAll(calls []call, buffers ...device.Buffer) {
	r.Helper()
	r.changesNothing(func() {
		for _, c := range calls {
			r.is(c.do(), device.ErrInvalid, "%s", c.name)
		}
	}, buffers...)
}

// changesNothing makes calls that a device must refuse, and checks that neither its counts nor
// the buffers, which hold the same bytes, change.
func (r rig) changesNothing(refused func(), buffers ...device.Buffer) {
	r.Helper()
	data := r.bytes(buffers[0])
	before := r.dev.Stats()
	refused()
	if after := r.dev.Stats(); after != before {
		r.Errorf("refused, but the stats went from %+v to %+v", before, after)
	}
	r.ok(r.q.Wait())
	for _, b := range buffers {
		if !bytes.Equal(r.bytes(b), data) {
			r.Error("a refused call changed a buffer")
		}
	}
}
