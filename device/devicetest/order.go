package devicetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// order checks that queues keep the order of their calls and events.
func (r runner) order(t *testing.T) {
	size, rounds := int64(64<<10), 60
	if r.Small {
		size, rounds = 256, 6
	}
	t.Run("OneQueue", func(t *testing.T) { oneQueue(r.rig(t), size, rounds) })
	t.Run("PingPong", func(t *testing.T) { pingPong(r.rig(t), size, rounds) })
	t.Run("FanOut", func(t *testing.T) { fanOut(r.rig(t), size, rounds/3+1) })
	t.Run("Events", func(t *testing.T) { events(r.rig(t), size) })
}

// column and row are two views of size bytes whose copy is a transpose.
func column(b device.Buffer, size int64) device.Operand {
	return operand(b, layout.Uint8, strided([]int64{16, size / 16}, []int64{1, 16}, 0))
}

func row(b device.Buffer, size int64) device.Operand {
	return operand(b, layout.Uint8, dense(0, 16, size/16))
}

func transposed(data []byte) []byte {
	out := make([]byte, len(data))
	n := len(data) / 16
	for i := range data {
		out[i] = data[i%n*16+i/n]
	}
	return out
}

// oneQueue writes, copies and overwrites without ever waiting.
func oneQueue(r rig, size int64, rounds int) {
	a, b := r.buffer(make([]byte, size)), r.buffer(make([]byte, size))
	want := make([]byte, size)
	host := make([]byte, size)
	for i := range rounds {
		copy(host, noise(size, uint64(i)))
		r.ok(r.q.Write(a, 0, host))
		copy(want, transposed(host))
		clear(host)                                   // Write has copied it
		r.ok(r.q.Copy(row(b, size), column(a, size))) // b: transposed
		r.ok(r.q.Fill(row(a, size), []byte{byte(i)}))
		r.ok(r.q.Copy(operand(a, layout.Uint8, dense(0, size/2)), operand(b, layout.Uint8, dense(size/2, size/2))))
	}
	copyOfA := append(append([]byte(nil), want[size/2:]...), bytes.Repeat([]byte{byte(rounds - 1)}, int(size/2))...)
	if !bytes.Equal(r.bytes(b), want) || !bytes.Equal(r.bytes(a), copyOfA) {
		r.Error("the queue's work was not done in order")
	}
	r.ok(a.Free())
	r.ok(b.Free())
}

func (r rig) record() device.Event {
	r.Helper()
	event, err := r.q.Record()
	r.ok(err)
	return event
}

// pingPong has one queue produce what the other consumes, in the same buffer.
func pingPong(r rig, size int64, rounds int) {
	other := r.fork(r.T)
	shared := r.buffer(make([]byte, size))
	all := r.buffer(make([]byte, size*int64(rounds)))
	var consumed device.Event
	for i := range rounds {
		if consumed != nil {
			r.ok(r.q.WaitFor(consumed))
		}
		r.ok(r.q.Write(shared, 0, noise(size, uint64(i))))
		r.ok(other.q.WaitFor(r.record()))
		to := row(all, size)
		to.Layout = dense(int64(i)*size, 16, size/16)
		r.ok(other.q.Copy(to, column(shared, size)))
		consumed = other.record()
	}
	r.ok(r.q.WaitFor(consumed))
	got := r.bytes(all)
	for i := range rounds {
		if part := got[int64(i)*size : int64(i+1)*size]; !bytes.Equal(part, transposed(noise(size, uint64(i)))) {
			r.Fatalf("round %d: a queue did not wait for the other's event", i)
		}
	}
	r.ok(shared.Free())
	r.ok(all.Free())
}

// fanOut has many queues consume what one produces.
func fanOut(r rig, size int64, rounds int) {
	const consumers = 4
	source := r.buffer(make([]byte, size))
	var queues [consumers]rig
	var sinks [consumers]device.Buffer
	for k := range queues {
		queues[k] = r.fork(r.T)
		sinks[k] = r.buffer(make([]byte, size))
	}
	r.ok(r.q.Wait())
	for i := range rounds {
		data := noise(size, uint64(i))
		r.ok(r.q.Write(source, 0, data))
		produced := r.record()
		for k, c := range queues {
			c.ok(c.q.WaitFor(produced))
			c.ok(c.q.Copy(row(sinks[k], size), column(source, size)))
			r.ok(r.q.WaitFor(c.record()))
		}
		for k, c := range queues {
			if !bytes.Equal(c.bytes(sinks[k]), transposed(data)) {
				r.Fatalf("round %d: queue %d copied before the event", i, k)
			}
		}
	}
	r.ok(r.q.Wait())
	r.ok(source.Free())
	for _, b := range sinks {
		r.ok(b.Free())
	}
}

func events(r rig, size int64) {
	idle := r.record()
	r.ok(idle.Wait())
	if !idle.Done() {
		r.Error("an event that was waited for is not done")
	}
	r.ok(r.q.WaitFor(idle)) // of its own queue, and reached
	a, b := r.buffer(noise(size, 1)), r.buffer(noise(size, 2))
	other := r.fork(r.T)
	for _, reach := range []func(device.Event){
		func(event device.Event) {
			for !event.Done() {
				runtime.Gosched()
			}
		},
		func(event device.Event) {
			r.ok(event.Wait())
			if !event.Done() {
				r.Error("an event that was waited for is not done")
			}
		},
	} {
		for i := range 32 { // work to wait for
			r.ok(r.q.Fill(row(b, size), []byte{byte(i)}))
		}
		r.ok(r.q.Copy(row(b, size), column(a, size)))
		event := r.record()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if err := event.Wait(); err != nil {
					r.Error(err)
				}
			})
		}
		reach(event)
		// This queue need not wait for any event: the work is done.
		if !bytes.Equal(other.bytes(b), transposed(noise(size, 1))) {
			r.Error("an event was done before the work it marks")
		}
		group.Wait()
	}
	r.ok(r.q.Wait())
	r.ok(r.q.Wait())
	r.ok(a.Free())
	r.ok(b.Free())
}

// parallel uses a device from many goroutines, each with its queue, and then
// one queue from many goroutines.
func (r runner) parallel(t *testing.T) {
	shared := r.rig(t)
	workers, n := 8, 60
	if r.Small {
		workers, n = 3, 4
	}
	for _, own := range []bool{true, false} {
		t.Run(map[bool]string{true: "QueueEach", false: "OneQueue"}[own], func(t *testing.T) {
			var group sync.WaitGroup
			for w := range workers {
				rig := shared
				rig.T = t
				if own {
					rig = shared.fork(t)
				}
				group.Go(func() {
					for i := range n {
						seed := r.seed + uint64(w*n+i)
						c := oracle.Random(rand.New(rand.NewPCG(seed, 3)), oracle.Limits{MaxBytes: 4 << 10, Ops: []oracle.Op{oracle.OpCopy, oracle.OpFill, oracle.OpConvert}}) // a take may leave its error to another
						if err := oracle.CheckOn(rig.dev, rig.q, c, seed); err != nil && !skipped(err) {
							t.Errorf("worker %d: %v", w, err)
							return
						}
						rig.dev.Stats()
						rig.dev.Info()
					}
				})
			}
			group.Wait()
		})
	}
	t.Run("Alloc", func(t *testing.T) { allocating(shared, workers, n) })
}

// allocating checks that no block is in use twice.
func allocating(r rig, workers, n int) {
	var group sync.WaitGroup
	for w := range workers {
		own := r.fork(r.T)
		group.Go(func() {
			for i := range n {
				if err := private(own, byte(w), 100+int64(i%3)); err != nil {
					r.Errorf("worker %d: %v", w, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func private(r rig, mark byte, size int64) error {
	b, err := r.dev.Alloc(size)
	if err != nil {
		return err
	}
	if err := r.q.Fill(operand(b, layout.Uint8, dense(0, size)), []byte{mark}); err != nil {
		return err
	}
	got := make([]byte, size)
	if err := r.q.Read(got, b, 0); err != nil {
		return err
	}
	if !bytes.Equal(got, bytes.Repeat([]byte{mark}, int(size))) {
		return fmt.Errorf("another wrote into a buffer that is mine")
	}
	return b.Free()
}
