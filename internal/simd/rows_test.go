package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// copies compares a kernel that copies rows with a loop: all sizes around the vectors', at all
// alignments, with guard bytes between the rows and around them.
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
	// Backwards, and one row repeatedly.
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

// Rows of all sizes around the lines', with inaccessible memory before and behind them, from
// any byte of the first one on, to lines; nothing else may change.
func TestJoin(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Join == nil {
			t.Skip("no kernel at this level")
		}
		const rows, line = 5, 64
		room := rows * 320
		first, last := fenced(t, room, false), fenced(t, room, true)
		copy(first, noise(room))
		copy(last, noise(room))
		for size := line; size <= 260; size++ {
			for _, gap := range []int{0, 1, 32, -2 * size} {
				step, low := size+gap, 0
				if step < 0 {
					low = (rows - 1) * -step
				}
				span := (rows-1)*max(step, -step) + size
				for _, src := range [][]byte{first[:span], last[room-span:]} {
					var run []byte
					for r := range rows {
						run = append(run, src[low+r*step:][:size]...)
					}
					for _, skip := range []int{0, size % line, line - 1} {
						lines := (len(run) - skip) / line
						got, want := aligned((lines+2)*line), aligned((lines+2)*line)
						copy(want[line:], run[skip:][:lines*line])
						k.Join(&got[line], &src[low], int64(step), int64(size), int64(skip), int64(lines), 100)
						require.Equal(t, want, got, "rows of %d bytes, %d apart, from byte %d", size, step, skip)
					}
				}
			}
		}
		k.Join(&first[0], &last[0], 64, 64, 0, 0, 0)
	})
}

func TestStream(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) { copies(t, k.Stream) })
}
