package tensor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// requirePieces holds what comes by pieces of so many bytes, or strings, against an
// array.
func requirePieces(t *testing.T, want array, x *tensor.Tensor, most int64, says string) {
	t.Helper()
	if x.DType() == layout.String {
		var got []string
		for s, err := range tensor.Strings(x, most) {
			require.NoError(t, err, says)
			got = append(got, s)
		}
		require.Equal(t, append([]string{}, want.Elems...), append([]string{}, got...), says)
		return
	}
	packed, err := x.Bytes()
	require.NoError(t, err, says)
	var got bytes.Buffer
	n, err := tensor.WriteTo(x, &got, most)
	require.NoError(t, err, says)
	require.Equal(t, int64(len(packed)), n, says)
	require.True(t, bytes.Equal(packed, got.Bytes()), "%s: %x by pieces of %d; want %x", says, got.Bytes(), most, packed)
}

// TestPieces: views of every width and rank that start and end within a byte and
// walk either way, by pieces of every size.
func TestPieces(t *testing.T) {
	for name, open := range streams {
		for _, of := range layout.DTypes() {
			if name == "fake" && of == layout.String {
				continue
			}
			t.Run(name+"/"+of.String(), func(t *testing.T) {
				s := open(t)
				rng := rand.New(rand.NewPCG(1, uint64(of)))
				for rank := range 6 {
					for try := range 6 {
						dims := make([]int64, rank)
						for i := range dims {
							dims[i] = 1 + rng.Int64N(5)
						}
						x, a := fill(t, s, of, uint64(try), dims...)
						says := fmt.Sprint("rank ", rank, " try ", try)
						for axis := range rank {
							start, end, step := rng.Int64N(dims[axis]), rng.Int64N(6)-1, int64(1+try%2)
							if rng.IntN(2) == 0 {
								start, end, step = -1, -10, -step
							}
							x, a = keep(t)(x.Slice(axis, start, end, step)), sliced(a, axis, start, end, step)
						}
						perm := rng.Perm(rank)
						if rank > 0 && try > 0 {
							x, a = keep(t)(x.Transpose(perm...)), transposed(a, perm)
						}
						for most := int64(1); most < 20; most += 1 + most/4 {
							requirePieces(t, a, x, most, fmt.Sprint(says, x.Layout(), " by ", most))
						}
					}
				}
			})
		}
	}
}

// limited fails after so many bytes.
type limited struct{ left int }

var errFull = errors.New("full")

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	if l.left -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}

// lazy takes less than it is given, and does not say so.
type lazy struct{}

func (lazy) Write(p []byte) (int, error) { return len(p) / 2, nil }

// TestWriteToTakesLittleMemory: a broadcast of 2^40 elements is written until the
// writer has enough, and a large tensor that must be put in order first with
// little on the host and the device.
func TestWriteToTakesLittleMemory(t *testing.T) {
	s := openCPU(t)
	nibble := keep(t)(tensor.FromBytes(s, layout.Int4, []byte{7}, 1))
	square := keep(t)(tensor.New(s, layout.Float32, 1<<12, 1<<12))
	peak, base := int64(0), s.Device().Stats().Live
	measure := func(w io.Writer, x *tensor.Tensor) (n int64, err error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err = x.WriteTo(watch{w, func() { peak = max(peak, s.Device().Stats().Live-base) }})
		runtime.ReadMemStats(&after)
		// A piece, and what copies need: that is some 100 KB each, again and again where
		// sync.Pool forgets it, as it does at random under the race detector.
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "bytes on the host")
		return n, err
	}
	n, err := measure(&limited{100 << 20}, keep(t)(nibble.Expand(1<<20, 1<<20)))
	require.Equal(t, errFull, err)
	require.Equal(t, int64(100<<20), n)

	n, err = measure(io.Discard, keep(t)(square.Transpose()))
	require.NoError(t, err)
	require.Equal(t, int64(64<<20), n)
	require.Positive(t, peak)
	require.Less(t, peak, int64(16<<20), "bytes on the device")
}

// watch calls look with each piece.
type watch struct {
	io.Writer
	look func()
}

func (w watch) Write(p []byte) (int, error) { w.look(); return w.Writer.Write(p) }

// TestPiecesAreOneTransfer, whatever copies they take.
func TestPiecesAreOneTransfer(t *testing.T) {
	s := openFake(t)
	x := keep(t)(tensor.FromSlice(s, []bool{true, false, true, true, true, false}, 2, 3))
	y := keep(t)(x.Transpose())
	to := trace(t, s)
	_, err := tensor.WriteTo(y, io.Discard, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"WriteTo bool [3,2]:{1,3}+0 -> [3,2]:{2,1}+0: transfer of 6 bytes"}, to.take())

	s.ForbidCopies(true)
	_, err = y.WriteTo(io.Discard)
	require.ErrorIs(t, err, tensor.ErrCopy)
	_, err = x.WriteTo(io.Discard)
	require.NoError(t, err)
}

// TestWriteToMakesBools of bytes that are no bools.
func TestWriteToMakesBools(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.FromBytes(s, layout.Bool, []byte{0, 2, 255}, 3))
	var got bytes.Buffer
	_, err := x.WriteTo(&got)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 1}, got.Bytes())
}

// TestPiecesRefuse: what Read refuses, and what ends a walk before its end.
func TestPiecesRefuse(t *testing.T) {
	s := openCPU(t)
	words := keep(t)(tensor.FromSlice(s, []string{"a", "b", "c", "d"}, 2, 2))
	numbers := keep(t)(tensor.FromSlice(s, []int16{1, 2, 3, 4}, 2, 2))
	_, err := words.WriteTo(io.Discard)
	require.ErrorIs(t, err, device.ErrInvalid)
	require.EqualError(t, err, "WriteTo of string[2,2]: strings have no bytes of fixed width: Strings reads them")
	for _, err := range numbers.Strings() {
		require.EqualError(t, err, "Strings of int16[2,2]: the elements are not strings")
	}
	_, err = numbers.WriteTo(lazy{})
	require.Equal(t, io.ErrShortWrite, err)

	for s := range words.Strings() {
		require.Equal(t, "a", s)
		break
	}
	gone, err := numbers.Alias()
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	_, err = gone.WriteTo(io.Discard)
	require.ErrorIs(t, err, tensor.ErrReleased)
}
