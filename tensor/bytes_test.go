package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestFromHostBytes: a tensor of any type over the caller's memory, which is not copied.
func TestFromHostBytes(t *testing.T) {
	data := []byte{0x10, 0x32, 0x54, 0x76}
	x := keep(t)(tensor.FromHostBytes(layout.Uint4, data, 2, 4))
	data[3] = 0xff
	requireIs(t, array{Dims: []int64{2, 4}, Elems: []string{"\x00", "\x01", "\x02", "\x03", "\x04", "\x05", "\x0f", "\x0f"}}, x)
	requireIs(t, contents(t, x), keep(t)(x.To(openFake(t))))
	require.False(t, x.Unshared())
	for _, c := range []struct {
		of   layout.DType
		dims []int64
		says string
	}{
		{layout.Uint4, []int64{9}, "FromHostBytes of uint4: 4 bytes are given; [9] takes 5"},
		{layout.String, []int64{4}, "no fixed width"},
		{layout.Int32, []int64{math.MaxInt64, 2}, "overflows"},
		{99, []int64{4}, "no element type"},
	} {
		_, err := tensor.FromHostBytes(c.of, data, c.dims...)
		require.ErrorContains(t, err, c.says)
	}
}

// failing fails behind some bytes.
type failing struct {
	data []byte
	err  error
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, f.data[min(off, int64(len(f.data))):])
	if n < len(p) && off < 5<<20-1 {
		return n, f.err
	}
	return len(p), nil
}

// TestFromReaderAt: what WriteTo writes is read again, from anywhere in a file.
func TestFromReaderAt(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for of, dims := range map[layout.DType][]int64{layout.Uint2: {3, 5}, layout.Float16: {1500, 2000}, layout.Int8: {0, 3}} {
				x, a := fill(t, s, of, 1, dims...)
				file := bytes.NewBufferString("header")
				_, err := x.WriteTo(file)
				require.NoError(t, err)
				y := keep(t)(tensor.FromReaderAt(s, of, bytes.NewReader(file.Bytes()), 6, dims...))
				if x.Count() < 100 {
					requireIs(t, a, y)
				} else {
					got, err := y.Bytes()
					require.NoError(t, err)
					require.True(t, bytes.Equal(file.Bytes()[6:], got))
				}
			}
			before := s.Device().Stats()
			short := strings.NewReader("seven..")
			for says, err := range map[string]error{
				"FromReaderAt of int32: 8 bytes from byte 0 on: unexpected EOF": fromReader(s, layout.Int32, short, 0, 2),
				"4 bytes from byte 4 on: unexpected EOF":                        fromReader(s, layout.Int32, short, 4, 1),
				"1073741824 bytes from byte 0 on: unexpected EOF":               fromReader(s, layout.Int8, short, 0, 1<<30),
				"4 bytes from byte -1 on":                                       fromReader(s, layout.Int32, short, -1, 1),
				"4 bytes from byte 9223372036854775807 on":                      fromReader(s, layout.Int32, short, math.MaxInt64, 1),
				"the reader is nil":                                             fromReader(s, layout.Int32, nil, 0, 1),
				"no fixed width":                                                fromReader(s, layout.String, short, 0, 1),
			} {
				require.Error(t, err, says)
				require.ErrorContains(t, err, says)
			}
			require.ErrorIs(t, fromReader(s, layout.Int32, short, 0, 2), io.ErrUnexpectedEOF)
			require.Equal(t, before, s.Device().Stats())
			broken := errors.New("broken")
			require.ErrorIs(t, fromReader(s, layout.Int8, failing{make([]byte, 100), broken}, 0, 5<<20), broken)
			require.ErrorIs(t, fromReader(nil, layout.Int8, short, 0, 1), device.ErrInvalid)
		})
	}
}

func fromReader(s *tensor.Stream, of layout.DType, r io.ReaderAt, off int64, dims ...int64) error {
	_, err := tensor.FromReaderAt(s, of, r, off, dims...)
	return err
}

// Types of the program's own, and int, go in and out as what they are made of.
func TestNamedTypes(t *testing.T) {
	type celsius float32
	type name string
	s := openCPU(t)
	x := keep(t)(tensor.FromSlice(s, []celsius{1, 2}))
	require.Equal(t, layout.Float32, x.DType())
	got, err := tensor.Values[celsius](x)
	require.NoError(t, err)
	require.Equal(t, []celsius{1, 2}, got)
	room := make([]celsius, 2)
	require.NoError(t, x.ReadInto(room))
	require.Equal(t, got, room)
	names, err := tensor.Values[name](keep(t)(tensor.FromSlice(s, []name{"a", "b"}, 2)))
	require.NoError(t, err)
	require.Equal(t, []name{"a", "b"}, names)
	more := make([]name, 1)
	require.NoError(t, keep(t)(tensor.FromHost([]name{"c"})).ReadInto(more))
	require.Equal(t, []name{"c"}, more)
	n := keep(t)(tensor.FromSlice(s, []int{-1, 1 << 40}))
	require.Equal(t, layout.Int64, n.DType())
	ints, err := tensor.Values[int](n)
	require.NoError(t, err)
	require.Equal(t, []int{-1, 1 << 40}, ints)
	require.NoError(t, n.ReadInto(ints))
	dims := []int32{2, 1}
	require.Equal(t, "[2,1]", keep(t)(n.Reshape(layout.ShapeOf(dims...)...)).Shape().String())
	require.Equal(t, []int{2, 1}, layout.Ints(dims...))

	for of, c := range map[layout.DType]struct {
		into any
		want string
	}{
		layout.Float32: {make([]float64, 2), "cannot read into a []float64: want []float32 or []byte"},
		layout.Float16: {make([]uint16, 2), "cannot read into a []uint16: want []byte"},
		layout.Bool:    {2, "cannot read into a int: want []bool or []byte"},
		layout.String:  {make([]byte, 2), "cannot read into a []uint8: want []string"},
		layout.Uint8:   {nil, "cannot read into a <nil>: want []byte"},
	} {
		err := keep(t)(tensor.New(s, of, 2)).ReadInto(c.into)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.want)
	}
	_, err = tensor.Values[int32](x)
	require.ErrorContains(t, err, "the elements are not of type int32: want []float32 or []byte")
}

func TestWaitContext(t *testing.T) {
	enough := errors.New("enough")
	for _, open := range streams {
		s := open(t)
		x, _ := fill(t, s, layout.Int8, 1, 100)
		for _, wait := range []func(context.Context) error{s.WaitContext, x.WaitContext} {
			require.NoError(t, wait(t.Context()))
			require.NoError(t, wait(context.Background()))
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(enough)
			require.ErrorIs(t, wait(ctx), enough)
			var none context.Context
			require.ErrorIs(t, wait(none), device.ErrInvalid)
		}
	}
}

// An event that has the error of the work is told it once.
type failedEvent struct {
	device.Event
	err error
}

func (e *failedEvent) Wait() error {
	err := e.err
	e.err = nil
	return err
}

type failedQueue struct {
	device.Queue
	err error
}

func (q failedQueue) Record() (device.Event, error) {
	e, err := q.Queue.Record()
	return &failedEvent{e, q.err}, err
}

// WaitContext lost an error that the queue's event had returned: a fault of the device.
func TestBugWaitContextReturnsTheEventsError(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	q, err := dev.NewQueue()
	require.NoError(t, err)
	fault := errors.New("a fault")
	s := tensor.Adopt(dev, failedQueue{q, fault})
	require.ErrorIs(t, s.WaitContext(t.Context()), fault)
}
