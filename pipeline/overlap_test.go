package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// watched is a device that reports the uploads of its new queues. It has the optional abilities
// that a pipeline uses.
type watched struct {
	device.Device
	device.HostAllocator
	uploads chan device.Event
}

func (w watched) NewQueue() (device.Queue, error) {
	q, err := w.Device.NewQueue()
	if err != nil {
		return nil, err
	}
	return watchedQueue{q, q.(device.AsyncQueue), w.uploads}, nil
}

type watchedQueue struct {
	device.Queue
	device.AsyncQueue
	uploads chan device.Event
}

func (q watchedQueue) WriteAsync(dst device.Buffer, off int64, src []byte) (device.Event, error) {
	e, err := q.AsyncQueue.WriteAsync(dst, off, src)
	if err == nil {
		q.uploads <- e
	}
	return e, err
}

// While a batch is processed, the next is uploaded completely, and the previous one is
// downloaded and reaches Sink. Otherwise the test would wait forever.
func TestOverlap(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		const batches = 6
		if _, ok := s.Queue().(device.AsyncQueue); !ok {
			t.Skip("there are no events of uploads: TestStagesOverlap shows it")
		}
		w := watched{s.Device(), s.Device().(device.HostAllocator), make(chan device.Event, batches)}
		on := tensor.Adopt(w, s.Queue())
		ctx := deadline(t)
		sunk := make(chan int, batches)
		number, out := 0, 0
		_, err := pipeline.Run(ctx, on, pipeline.Stages{
			Inputs: ints, Depth: 2, Source: counted(batches),
			Work: func(ctx context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
				// Work now on the stream belongs to this batch: its last event is recorded when
				// this returns.
				results, err := turned(ctx, in)
				if err != nil {
					return nil, err
				}
				if number == 0 {
					<-w.uploads // of this one
				} else {
					select {
					case n := <-sunk:
						assert.Equal(t, number-1, n)
					case <-ctx.Done():
						return results, ctx.Err()
					}
				}
				if number < batches-1 {
					select {
					case e := <-w.uploads:
						assert.NoError(t, e.Wait())
					case <-ctx.Done():
						return results, ctx.Err()
					}
				}
				number++
				return results, nil
			},
			Sink: func(context.Context, []*pipeline.Array) error {
				sunk <- out
				out++
				return nil
			},
		})
		require.NoError(t, err)
		require.Equal(t, batches, out)
	})
}

// While a batch is processed, Source and the next upload are called, and so are the previous
// one's download and Sink: also on devices that transfer in the call.
func TestStagesOverlap(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		fed, sunk := make(chan struct{}, 5), make(chan struct{}, 5)
		source, number := counted(3), 0
		arrived := func(ctx context.Context, from chan struct{}) error {
			select {
			case <-from:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		_, err := pipeline.Run(deadline(t), s, pipeline.Stages{
			Inputs: ints, Depth: 3,
			Source: func(ctx context.Context, in []*pipeline.Array) error {
				fed <- struct{}{}
				return source(ctx, in)
			},
			Work: func(ctx context.Context, in []*tensor.Tensor) (out []*tensor.Tensor, err error) {
				switch number++; number {
				case 1:
					for range 3 { // Source's third call comes after the second upload
						err = errors.Join(err, arrived(ctx, fed))
					}
				case 2:
					err = arrived(ctx, sunk)
				}
				if err != nil {
					return nil, err
				}
				return turned(ctx, in)
			},
			Sink: func(context.Context, []*pipeline.Array) error {
				sunk <- struct{}{}
				return nil
			},
		})
		require.NoError(t, err)
	})
}

// With a depth of 1 nothing overlaps.
func TestDepthOne(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		var mu sync.Mutex
		var got, want []string
		calls := map[string]int{}
		note := func(stage string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(stage, " ", calls[stage]))
			calls[stage]++
		}
		source := counted(3)
		_, err := pipeline.Run(deadline(t), s, pipeline.Stages{
			Inputs: ints, Depth: 1,
			Source: func(ctx context.Context, in []*pipeline.Array) error {
				note("source")
				return source(ctx, in)
			},
			Work: func(ctx context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
				note("work")
				return turned(ctx, in)
			},
			Sink: func(context.Context, []*pipeline.Array) error {
				note("sink")
				return nil
			},
		})
		require.NoError(t, err)
		for i := range 3 {
			want = append(want, fmt.Sprint("source ", i), fmt.Sprint("work ", i), fmt.Sprint("sink ", i))
		}
		require.Equal(t, append(want, "source 3"), got)
	})
}

// A slow Sink holds Source back: no more than Depth batches are in progress.
func TestBackPressure(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		for depth := 1; depth <= 4; depth++ {
			var sunk atomic.Int64
			full := make(chan struct{}, 100)
			fed := int64(0)
			source := counted(20)
			ctx := deadline(t)
			_, err := pipeline.Run(ctx, s, pipeline.Stages{
				Inputs: ints, Depth: depth, Work: turned,
				Source: func(ctx context.Context, in []*pipeline.Array) error {
					assert.Less(t, fed-sunk.Load(), int64(depth))
					fed++
					if fed <= int64(depth) {
						full <- struct{}{}
					}
					return source(ctx, in)
				},
				Sink: func(context.Context, []*pipeline.Array) error {
					if sunk.Load() == 0 {
						for range depth { // Source continues until then
							select {
							case <-full:
							case <-ctx.Done():
								return ctx.Err()
							}
						}
					}
					sunk.Add(1)
					return nil
				},
			})
			require.NoError(t, err)
			require.EqualValues(t, 20, sunk.Load())
		}
	})
}
