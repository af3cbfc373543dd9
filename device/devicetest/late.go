package devicetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// late checks that a late error (an index out of range) is an error of every read of bytes that
// depend on it, and of no other.
func (r runner) late(t *testing.T) {
	rounds := 400
	if r.Small {
		rounds = 40
	}
	t.Run("Random", func(t *testing.T) {
		one := r.rig(t)
		other := one
		if !r.Lone {
			other = one.fork(t)
		}
		newLateModel(one, other, r.seed).run(rounds)
	})
	if r.Lone {
		return
	}
	t.Run("Goroutines", func(t *testing.T) {
		one := r.rig(t)
		second := []rig{one, one.fork(t)}
		var all sync.WaitGroup
		for i := range 4 {
			m := newLateModel(one, second[i/2], r.seed+uint64(i))
			all.Go(func() { m.run(rounds / 2) })
		}
		all.Wait()
		for _, x := range second {
			_ = x.q.Wait() // an error that no read has returned
		}
	})
}

// lateSize is the size of a buffer of lateModel, in bytes.
const lateSize = 96

// lateModel does random work on some buffers, and models their bytes, and which of them depend
// on an index out of range.
type lateModel struct {
	rig
	seed    uint64
	rng     *rand.Rand
	queues  []device.Queue
	buffers []device.Buffer
	right   [][]byte
	bad     [][]bool
	indices map[bool]device.Buffer // by whether they are in range
	zeros   device.Buffer
	failed  bool
}

func newLateModel(a, b rig, seed uint64) *lateModel {
	m := &lateModel{
		rig: a, seed: seed, rng: rand.New(rand.NewPCG(seed, 5)), queues: []device.Queue{a.q, b.q},
		indices: map[bool]device.Buffer{true: a.buffer([]byte{3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}), false: a.buffer([]byte{3, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0})},
		zeros:   a.buffer(make([]byte, lateSize)),
	}
	for i := range uint64(5) {
		data := noise(lateSize, seed+i)
		m.buffers = append(m.buffers, a.buffer(data))
		m.right = append(m.right, data)
		m.bad = append(m.bad, make([]bool, lateSize))
	}
	m.follow(0)
	return m
}

// follow orders the other queue's work after queue i's.
func (m *lateModel) follow(i int) {
	if m.queues[0] == m.queues[1] {
		return
	}
	e, err := m.queues[i].Record()
	if err == nil {
		err = m.queues[1-i].WaitFor(e)
	}
	m.must(err)
}

// must ends the test on an error. Any goroutine may call it.
func (m *lateModel) must(err error) {
	if err != nil {
		m.failed = true
		m.Errorf("RESTRIDE_SEED=%d: %v", m.seed, err)
	}
}

func (m *lateModel) run(rounds int) {
	for range rounds {
		i := m.rng.IntN(2)
		m.step(m.queues[i])
		m.follow(i)
		if m.rng.IntN(3) == 0 {
			m.read(m.queues[m.rng.IntN(2)])
		}
		if m.failed {
			return
		}
	}
	for _, q := range m.queues {
		_ = q.Wait() // an error that no read has returned
	}
	for b := range m.buffers {
		m.readOf(m.queues[0], b, 0, lateSize)
		m.must(m.buffers[b].Free())
	}
}

// span returns a random range of bytes of a buffer, of a multiple of 12.
func (m *lateModel) span() (b int, lo, n int64) {
	n = 12 * (1 + m.rng.Int64N(3))
	return m.rng.IntN(len(m.buffers)), m.rng.Int64N(lateSize - n + 1), n
}

// step does something, and the same to the model.
func (m *lateModel) step(q device.Queue) {
	b, lo, n := m.span()
	c, from, _ := m.span()
	if c == b || from+n > lateSize {
		c, from = (b+1)%len(m.buffers), lo
	}
	dst, src := operand(m.buffers[b], layout.Uint8, dense(lo, n)), operand(m.buffers[c], layout.Uint8, dense(from, n))
	to, bad := m.right[b][lo:lo+n], slices.Contains(m.bad[c][from:from+n], true)
	switch m.rng.IntN(7) {
	case 0:
		data := noise(n, m.rng.Uint64())
		m.must(q.Write(m.buffers[b], lo, data))
		copy(to, data)
		bad = false
	case 1:
		m.must(q.Fill(dst, []byte{byte(n)}))
		copy(to, bytes.Repeat([]byte{byte(n)}, int(n)))
		bad = false
	case 2:
		m.must(q.Copy(dst, src))
		copy(to, m.right[c][from:from+n])
	case 3:
		other := operand(m.zeros, layout.Uint8, dense(0, n))
		cond := operand(m.zeros, layout.Bool, dense(0, n))
		m.must(q.Where(dst, cond, other, src))
		copy(to, m.right[c][from:from+n])
	default:
		m.take(q, b, c, lo, from)
		return
	}
	m.mark(b, lo, n, bad)
}

// take puts or takes three bytes, in or out of range.
func (m *lateModel) take(q device.Queue, b, c int, lo, from int64) {
	good, put := m.rng.IntN(2) == 0, m.rng.IntN(2) == 0
	from = min(from, lateSize-8)
	at := operand(m.indices[good], layout.Int32, dense(0, 3))
	one, table := operand(m.buffers[b], layout.Uint8, dense(lo, 3)), operand(m.buffers[c], layout.Uint8, strided([]int64{3}, []int64{0}, from))
	by := layout.Index{Extent: 8, Stride: 1}
	var err error
	places, bad := [3]int64{3, 7, 0}, !good
	if put {
		// What of the table is not put stays as it was, and as right.
		err = q.Put(table, one, at, device.ReduceSet, by)
		for i, p := range places {
			m.right[c][from+p] = m.right[b][lo+int64(i)]
		}
		if bad = bad || slices.Contains(m.bad[b][lo:lo+3], true); bad {
			m.mark(c, from, 8, true)
		}
	} else {
		err = q.Take(one, table, at, by)
		for i, p := range places {
			m.right[b][lo+int64(i)] = m.right[c][from+p]
		}
		m.mark(b, lo, 3, bad || slices.Contains(m.bad[c][from:from+8], true))
	}
	if err != nil && !good && errors.Is(err, device.ErrInvalid) {
		// The call has returned the error. The content is undefined: write it again.
		for i := range m.buffers {
			if i == b && !put || i == c && put {
				m.right[i] = noise(lateSize, m.rng.Uint64())
				m.must(q.Write(m.buffers[i], 0, m.right[i]))
				m.mark(i, 0, lateSize, false)
			}
		}
		return
	}
	m.must(err)
}

func (m *lateModel) mark(b int, lo, n int64, bad bool) {
	for i := lo; i < lo+n; i++ {
		m.bad[b][i] = bad
	}
}

func (m *lateModel) read(q device.Queue) {
	b, lo, n := m.span()
	m.readOf(q, b, lo, n)
}

// readOf reads, twice, by one of the possible calls.
func (m *lateModel) readOf(q device.Queue, b int, lo, n int64) {
	bad := slices.Contains(m.bad[b][lo:lo+n], true)
	for range 2 {
		got := make([]byte, n)
		way, err := "Read", error(nil)
		async, canAsync := device.As[device.AsyncQueue](q)
		checker, canCheck := device.As[device.Checker](q)
		switch {
		case canAsync && m.rng.IntN(3) == 0:
			way = "ReadAsync"
			var e device.Event
			if e, err = async.ReadAsync(got, m.buffers[b], lo); err == nil {
				err = e.Wait()
			}
		case canCheck && m.rng.IntN(3) == 0:
			way = "CheckBuffer"
			err = checker.CheckBuffer(m.buffers[b], lo, n)
			copy(got, m.right[b][lo:])
		default:
			err = q.Read(got, m.buffers[b], lo)
		}
		switch {
		case bad && !errors.Is(err, device.ErrInvalid):
			m.must(fmt.Errorf("%s of what an index out of range has spoilt: error %v", way, err))
		case !bad && err != nil:
			m.must(fmt.Errorf("%s of what is right: %w", way, err))
		case !bad && !bytes.Equal(got, m.right[b][lo:lo+n]):
			m.must(fmt.Errorf("%s gives other bytes", way))
		}
	}
}
