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

func TestMoveSets(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.MoveSets == nil {
			t.Skip("no kernel at this level")
		}
		// A set is a row, or rows are.
		copies(t, func(dst, src *byte, dStep, sStep, size, rows int64) {
			k.MoveSets(dst, src, 1<<40, 1<<40, size, 1, dStep, sStep, rows)
		})
		copies(t, func(dst, src *byte, dStep, sStep, size, rows int64) {
			k.MoveSets(dst, src, dStep, sStep, size, rows, 1<<40, 1<<40, 1)
		})
		for size := 1; size < 300; size += 7 {
			src, got := noise(12*size), make([]byte, 12*size)
			want := make([]byte, 12*size)
			for set := range 3 {
				for row := range 4 {
					copy(want[(3*row+set)*size:][:size], src[(4*set+3-row)*size:])
				}
			}
			n := int64(size)
			k.MoveSets(&got[0], &src[3*size], 3*n, -n, n, 4, n, 4*n, 3)
			require.Equal(t, want, got, "%d bytes", size)
		}
		k.MoveSets(nil, nil, 1, 1, 1, 2, 1, 1, 0)
		k.MoveSets(nil, nil, 1, 1, 1, 0, 1, 1, 2)
	})
}

func TestStream(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) { copies(t, k.Stream) })
}
