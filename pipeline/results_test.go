package pipeline_test

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// mixed is a pipeline whose batches have random elements and varying shapes, and whose results
// are of every kind: a copy, a view of an input, one that starts within a byte, and one on the
// host.
type mixed struct {
	t       *testing.T
	batches int
	fed     int
	sunk    int
	up      int64
	down    int64
}

// rows is the number of rows of a batch, of 6 x 20 floats each.
func (m *mixed) rows(number int) int64 { return int64(number*7%16 + 1) }

const nibbles = 37

func (m *mixed) inputs() []pipeline.Input {
	return []pipeline.Input{
		{Type: layout.Float32, Dims: []int64{16, 6, 20}},
		{Type: layout.Int4, Dims: []int64{nibbles}},
	}
}

func (m *mixed) source(_ context.Context, in []*pipeline.Array) error {
	if m.fed == m.batches {
		return io.EOF
	}
	require.Equal(m.t, []int64{16, 6, 20}, in[0].Dims(), "arrays come with their largest extents")
	require.NoError(m.t, in[0].Resize(m.rows(m.fed), 6, 20))
	require.Len(m.t, in[0].Bytes(), int(m.rows(m.fed)*480))
	for i, a := range in {
		random(a.Bytes(), 2*m.fed+i)
		m.up += int64(len(a.Bytes()))
	}
	m.fed++
	return nil
}

func (m *mixed) work(_ context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	turned, err := in[0].Transpose(2, 0, 1)
	if err != nil {
		return nil, err
	}
	defer turned.Release()
	once, err := turned.Clone()
	if err != nil {
		return nil, err
	}
	odd, err := in[1].Slice(0, 3, nibbles, 1)
	if err != nil {
		return []*tensor.Tensor{once}, err
	}
	dims, err := tensor.FromHost(in[0].Shape())
	if err != nil {
		return []*tensor.Tensor{once, odd}, err
	}
	strided, err := once.Transpose(1, 0, 2)
	return []*tensor.Tensor{once, in[0], odd, dims, strided, once}, err
}

func (m *mixed) sink(_ context.Context, out []*pipeline.Array) error {
	rows := m.rows(m.sunk)
	want := make([]byte, rows*480)
	random(want, 2*m.sunk)
	require.Len(m.t, out, 6)
	require.Equal(m.t, want, out[1].Bytes(), "batch %d: the view", m.sunk)
	require.Equal(m.t, []int64{rows, 6, 20}, out[1].Dims())

	// x[n][c][w] is at [w][n][c] of the first, [n][w][c] of the one that is strided.
	require.Equal(m.t, []int64{20, rows, 6}, out[0].Dims())
	require.Equal(m.t, []int64{rows, 20, 6}, out[4].Dims())
	once, strided := out[0].Bytes(), out[4].Bytes()
	for n := range rows {
		for c := range int64(6) {
			for w := range int64(20) {
				x := want[((n*6+c)*20+w)*4:][:4]
				require.Equal(m.t, x, once[((w*rows+n)*6+c)*4:][:4], "batch %d: %d %d %d", m.sunk, n, c, w)
				require.Equal(m.t, x, strided[((n*20+w)*6+c)*4:][:4], "batch %d: %d %d %d", m.sunk, n, c, w)
			}
		}
	}
	require.Equal(m.t, once, out[5].Bytes(), "a tensor may come twice")

	packed := make([]byte, (nibbles+1)/2)
	random(packed, 2*m.sunk+1)
	at := func(b []byte, i int) byte { return b[i/2] >> (i % 2 * 4) & 15 }
	require.Equal(m.t, layout.Int4, out[2].Type())
	require.Equal(m.t, []int64{nibbles - 3}, out[2].Dims())
	for i := range nibbles - 3 {
		require.Equal(m.t, at(packed, i+3), at(out[2].Bytes(), i), "batch %d: nibble %d", m.sunk, i)
	}
	dims, err := pipeline.Elements[int64](out[3])
	require.NoError(m.t, err)
	require.Equal(m.t, []int64{rows, 6, 20}, dims)
	for i, a := range out {
		if i != 3 {
			m.down += int64(len(a.Bytes()))
		}
	}
	m.sunk++
	return nil
}

func (m *mixed) run(s *tensor.Stream, depth int) pipeline.Stats {
	stats, err := pipeline.Run(deadline(m.t), s, pipeline.Stages{
		Inputs: m.inputs(), Depth: depth, Source: m.source, Work: m.work, Sink: m.sink,
	})
	require.NoError(m.t, err)
	require.Equal(m.t, m.batches, m.sunk)
	assert.EqualValues(m.t, m.batches, stats.Batches)
	assert.Equal(m.t, m.up, stats.Uploaded)
	assert.Equal(m.t, m.down, stats.Downloaded)
	return stats
}

// Batches arrive correctly, in order, at any depth.
func TestResults(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		_, pins := s.Device().(device.HostAllocator)
		pins = pins && !strings.Contains(os.Getenv("RESTRIDE_SIM_FAIL"), "cuMemHostAlloc")
		for _, depth := range []int{0, 1, 3, 5} {
			if testing.Short() && depth != 0 && depth != 3 {
				continue
			}
			before := s.Device().Stats()
			m := &mixed{t: t, batches: 50}
			stats := m.run(s, depth)
			t.Log(depth, stats)
			after := s.Device().Stats()
			if !s.IsHost() {
				assert.Equal(t, stats.Uploaded, after.HostToDevice-before.HostToDevice)
				assert.Equal(t, stats.Downloaded, after.DeviceToHost-before.DeviceToHost)
			} else {
				assert.Equal(t, before.HostToDevice, after.HostToDevice, "nothing has to move")
			}
			assert.Zero(t, after.Buffers)
			assert.Equal(t, pins, stats.Pinned)
			assert.Positive(t, stats.Wall)
			if stats.Timed {
				assert.Positive(t, stats.Work)
				assert.Positive(t, stats.Overlap())
			}
		}
	})
}

// Two pipelines may share a stream.
func TestSharedStream(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				m := &mixed{t: t, batches: 20}
				stats, err := pipeline.Run(deadline(t), s, pipeline.Stages{
					Inputs: ints, Source: counted(20), Work: turned,
					Sink: func(_ context.Context, out []*pipeline.Array) error {
						x, err := pipeline.Elements[int32](out[0])
						assert.NoError(t, err)
						for _, v := range x {
							assert.EqualValues(t, m.sunk, v)
						}
						m.sunk++
						return nil
					},
				})
				assert.NoError(t, err)
				assert.EqualValues(t, 20, stats.Batches)
			})
		}
		both.Wait()
	})
}

// A pipeline may have no batches, no inputs, no results and no elements.
func TestNothing(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		stats, err := pipeline.Run(deadline(t), s, pipeline.Stages{Source: counted(0), Work: turned, Sink: ignore})
		require.NoError(t, err)
		assert.Zero(t, stats.Batches)
		assert.False(t, stats.Timed)
		assert.Zero(t, stats.Overlap())

		left := 3
		_, err = pipeline.Run(deadline(t), s, pipeline.Stages{
			Source: func(_ context.Context, in []*pipeline.Array) error {
				assert.Empty(t, in)
				if left--; left < 0 {
					return io.EOF
				}
				return nil
			},
			Work: func(context.Context, []*tensor.Tensor) ([]*tensor.Tensor, error) { return nil, nil },
			Sink: func(_ context.Context, out []*pipeline.Array) error { assert.Empty(t, out); return nil },
		})
		require.NoError(t, err)
		assert.Equal(t, -1, left)

		stats, err = pipeline.Run(deadline(t), s, pipeline.Stages{
			Inputs: []pipeline.Input{{Type: layout.Float32, Dims: []int64{3, 0}}}, Source: counted(2), Work: turned,
			Sink: func(_ context.Context, out []*pipeline.Array) error {
				assert.Equal(t, []int64{0, 3}, out[0].Dims())
				x, err := pipeline.Elements[float32](out[0])
				assert.Empty(t, x)
				return err
			},
		})
		require.NoError(t, err)
		assert.EqualValues(t, 2, stats.Batches)
	})
}

// The number of results and their sizes may vary from batch to batch.
func TestResultsVary(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		number, sunk := 0, 0
		_, err := pipeline.Run(deadline(t), s, pipeline.Stages{
			Inputs: ints, Source: counted(12),
			Work: func(_ context.Context, in []*tensor.Tensor) (out []*tensor.Tensor, err error) {
				for i := range number % 4 {
					x, err := in[0].Slice(0, 0, int64((number+i)%4), 1)
					if err != nil {
						return out, err
					}
					out = append(out, x)
				}
				number++
				return out, nil
			},
			Sink: func(_ context.Context, out []*pipeline.Array) error {
				require.Len(t, out, sunk%4)
				for i, a := range out {
					require.Equal(t, []int64{int64((sunk + i) % 4), 8}, a.Dims())
					x, err := pipeline.Elements[int32](a)
					require.NoError(t, err)
					require.Len(t, x, (sunk+i)%4*8)
					for _, v := range x {
						require.EqualValues(t, sunk, v)
					}
				}
				sunk++
				return nil
			},
		})
		require.NoError(t, err)
		require.Equal(t, 12, sunk)
	})
}
