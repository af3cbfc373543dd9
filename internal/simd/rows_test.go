package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// copies holds a kernel that copies rows against a loop: all sizes about those of
// vectors, at all alignments, with guard bytes between the rows and around them.
func copies(t *testing.T, kernel func(dst, src *byte, dStep, sStep, size, rows int64)) {
	if kernel == nil {
		t.Skip("no kernel at this level")
	}
	var sizes []int
	for n := 1; n <= 140; n++ {
		sizes = append(sizes, n)
	}
	sizes = append(sizes, 191, 192, 193, 255, 256, 257, 319, 320, 321, 511, 512, 513, 700, 1000)
	for _, size := range sizes {
		rows := 3
		room := 70 + rows*(size+80)
		src, old := noise(room), noise(room + 1)[1:]
		got, want := make([]byte, room), make([]byte, room)
		for at := range 65 {
			from, dStep, sStep := at*7%67, size+at*5%71, size+at*3%70
			copy(got, old)
			copy(want, old)
			for i := range rows {
				copy(want[at+i*dStep:][:size], src[from+i*sStep:])
			}
			kernel(&got[at], &src[from], int64(dStep), int64(sStep), int64(size), int64(rows))
			require.Equal(t, want, got, "%d bytes from %d to %d, steps %d and %d", size, from, at, sStep, dStep)
		}
	}
	// Nothing but the row is read.
	for _, size := range sizes {
		for _, atEnd := range []bool{false, true} {
			src, got := fenced(t, size, atEnd), make([]byte, size)
			kernel(&got[0], &src[0], 0, 0, int64(size), 1)
			require.Equal(t, src, got, "%d bytes", size)
		}
	}
	// Backwards, and one row again and again.
	src := noise(1000)
	got, want := make([]byte, 1000), make([]byte, 1000)
	for i := range 9 {
		copy(want[900-100*i:][:100], src[300:])
	}
	kernel(&got[900], &src[300], -100, 0, 100, 9)
	require.Equal(t, want, got)
	kernel(&got[5], &src[0], 1, 1, 1, 0)
	require.Equal(t, want, got, "no rows")
}

func TestMove(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) { copies(t, k.Move) })
}

func TestStream(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) { copies(t, k.Stream) })
}
