//go:build unix

package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// lengths are numbers of elements around those of groups, and some more.
func lengths(size int64) []int64 {
	var all []int64
	for n := int64(1); n <= 2*64/size+3; n++ {
		all = append(all, n)
	}
	return append(all, 300, 301)
}

// Elements of all sizes and steps, in rows at the ends of memory on either side; nothing but
// the elements may change.
func TestPick(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Pick == nil {
			t.Skip("no kernel at this level")
		}
		const rows = 2
		room := 301*70*rows + 1000
		first, last := fenced(t, room, false), fenced(t, room, true)
		copy(first, noise(room))
		copy(last, noise(room))
		planned := 0
		for size := int64(1); size <= 20; size++ {
			for step := int64(-40); step <= 70; step++ {
				var p simd.Shuffle
				if !k.PlanPick(&p, size, step) {
					continue
				}
				planned++
				for _, n := range lengths(size) {
					if n < p.Least {
						continue
					}
					by := max(step, -step)
					span := (n-1)*by + size
					dStep := n*size + n%5
					sStep := span + n%7
					low := int64(0) // from the lowest byte to the first element
					if step < 0 {
						low = (n - 1) * by
					}
					for _, src := range [][]byte{first[:sStep+span], last[int64(len(last))-sStep-span:]} {
						guard := 3 + n%64
						got := make([]byte, 2*guard+dStep+n*size)
						for i := range got {
							got[i] = byte(i * 11)
						}
						want := append([]byte{}, got...)
						for r := range int64(rows) {
							for e := range n {
								copy(want[guard+r*dStep+e*size:][:size], src[r*sStep+low+e*step:])
							}
						}
						k.Pick(&got[guard], &src[low], dStep, sStep, n, rows, &p)
						if string(want) != string(got) {
							require.Equal(t, want, got, "%d elements of %d bytes, %d apart", n, size, step)
						}
					}
				}
			}
		}
		require.NotZero(t, planned)
	})
}

// Whole lines of elements of all sizes and steps for which there are kernels, at any place and,
// bypassing the caches, on a line; nothing else may change.
func TestPickLines(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.PickLines == nil {
			t.Skip("no kernel at this level")
		}
		const most, line = 3, 64
		room := most*line*40 + 1000
		first, last := fenced(t, room, false), fenced(t, room, true)
		planned := 0
		for size := int64(1); size <= 16; size++ {
			for step := int64(-40); step <= 40; step++ {
				var p simd.Shuffle
				if !k.PlanPick(&p, size, step) || !p.Lines {
					continue
				}
				planned++
				for lines := int64(0); lines <= most; lines++ {
					n, by := lines*line/size, max(step, -step)
					span := max((n-1)*by+size, 1)
					low := int64(0)
					if step < 0 {
						low = max((n-1)*by, 0)
					}
					for _, src := range [][]byte{first[:span], last[int64(len(last))-span:]} {
						for _, at := range []int{line, line + 1, line + 32} {
							got, want := aligned(int(lines+3)*line), aligned(int(lines+3)*line)
							for e := range n {
								copy(want[at+int(e*size):][:size], src[low+e*step:])
							}
							k.PickLines(&got[at], &src[low], lines, &p, 2<<10, at == line)
							require.Equal(t, want, got, "%d lines of %d bytes, %d apart", lines, size, step)
						}
					}
				}
			}
		}
		require.NotZero(t, planned)
	})
}

func TestSpread(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Spread == nil {
			t.Skip("no kernel at this level")
		}
		const rows = 2
		room := 301*70*rows + 1000
		first, last := fenced(t, room, false), fenced(t, room, true)
		planned := 0
		for size := int64(1); size <= 20; size++ {
			for step := size + 1; step <= 70; step++ {
				var p simd.Shuffle
				if !k.PlanSpread(&p, size, step) {
					continue
				}
				planned++
				for _, n := range lengths(size) {
					if n < p.Least {
						continue
					}
					span := (n-1)*step + size
					dStep, sStep := span+n%7, n*size+n%5
					src := noise(int(sStep + n*size))
					for _, got := range [][]byte{first[:dStep+span], last[int64(len(last))-dStep-span:]} {
						for i := range got {
							got[i] = byte(i * 11)
						}
						want := append([]byte{}, got...)
						for r := range int64(rows) {
							for e := range n {
								copy(want[r*dStep+e*step:][:size], src[r*sStep+e*size:])
							}
						}
						k.Spread(&got[0], &src[0], dStep, sStep, n, rows, &p)
						if string(want) != string(got) {
							require.Equal(t, want, got, "%d elements of %d bytes, %d apart", n, size, step)
						}
					}
				}
			}
		}
		require.NotZero(t, planned)
	})
}
