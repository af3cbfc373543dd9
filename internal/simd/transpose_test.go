package simd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// Rows lie anywhere, in any order, and bytes beyond the columns do not change.
func TestTranspose(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Level == simd.None {
			t.Skip("no kernels at this level")
		}
		for log, kernels := range k.Transpose {
			size := 1 << log
			least := 16 / size
			for _, f := range []struct {
				name      string
				transpose simd.TransposeFunc
				width     int
				align     int
				lo, hi    int
			}{
				{"wide", kernels.Wide, int(kernels.Width), 1, least, 5*least + 2},
				{"stream", worker(kernels.Stream), 64, 64, least, 9*least + 2},
				{"staged", worker(kernels.Staged), 64, 64, 4 * least, 9*least + 2},
				{"placed", placer(kernels.Placed), 64, 64, least, 9*least + 2},
				{"placed-staged", placer(kernels.PlacedStaged), 64, 64, 4 * least, 9*least + 2},
				{"narrow", kernels.Narrow, 16, 1, least, 5*least + 2},
				{"few", worker(kernels.Few), 64, 64, 1, least},
			} {
				t.Run(fmt.Sprintf("%d-%s", 8*size, f.name), func(t *testing.T) {
					if f.transpose == nil {
						t.Skip("no kernel at this level")
					}
					row := func(i, _ int) int { return i }
					if strings.HasPrefix(f.name, "placed") {
						row = swapped
					}
					testTranspose(t, f.transpose, size, f.width, f.align, f.lo, f.hi, row)
				})
			}
		}
	})
}

// worker passes a buffer to a kernel.
func worker(stream simd.StreamFunc) simd.TransposeFunc {
	if stream == nil {
		return nil
	}
	work := aligned(simd.StreamWork)
	return func(dst *byte, stride int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64) {
		stream(dst, stride, src, rows, m, n, fetch, fetched, &work[0])
	}
}

// placer passes a kernel a buffer, and a table of rows in which neighbours are exchanged.
func placer(placed simd.PlacedFunc) simd.TransposeFunc {
	if placed == nil {
		return nil
	}
	work := aligned(simd.StreamWork)
	return func(dst *byte, stride int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64) {
		tab := make([]int64, n)
		for i := range tab {
			tab[i] = int64(swapped(i, int(n))) * stride
		}
		placed(dst, &tab[0], src, rows, m, n, fetch, fetched, &work[0])
	}
}

// swapped returns the neighbour of one of n rows.
func swapped(i, n int) int {
	if i^1 < n {
		return i ^ 1
	}
	return i
}

func testTranspose(t *testing.T, transpose simd.TransposeFunc, size, width, align, lo, hi int, row func(i, n int) int) {
	block := width / size
	const room = 64 << 10
	first, last := fenced(t, room, false), fenced(t, room, true)
	for n := lo; n < hi; n++ {
		for _, m := range []int{block, 2 * block} {
			for at := range 3 {
				stride := m*size + 3
				at += 64
				if align > 1 {
					stride, at = (m*size+2*align-1)&^(align-1), 64
				}
				bytes := (m-1)*(n*size+5) + 4 + max(n*size, 16)
				src := first[:bytes]
				if n%2 == 0 {
					src = last[room-bytes:]
				}
				tab := make([]int64, m)
				for k := range tab {
					tab[k] = int64((k*7%m)*(n*size+5) + k%5)
				}
				got, want := aligned(64+at+n*stride), aligned(64+at+n*stride)
				for i := range n {
					for k := range m {
						copy(want[at+row(i, n)*stride+k*size:][:size], src[int(tab[k])+i*size:])
					}
				}
				transpose(&got[at], int64(stride), &src[0], &tab[0], int64(m), int64(n), &src[0], &tab[0])
				require.Equal(t, want, got, "%d rows of %d", m, n)
			}
		}
	}
}

func TestScatterRows(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.ScatterRows == nil {
			t.Skip("no kernel at this level")
		}
		for run := 1; run < 300; run++ {
			for at := range 64 {
				tab := []int64{int64(at), int64(at + 3*run + 13), int64(at + run + 5)}
				src := noise(3 * (run + 1))
				got, want := aligned(4*run+200), aligned(4*run+200)
				for i, to := range tab {
					copy(want[64+to:][:run], src[i*(run+1):])
				}
				k.ScatterRows(&got[64], &tab[0], &src[0], int64(run+1), int64(run), 3)
				require.Equal(t, want, got, "rows of %d at %d", run, at)
			}
		}
	})
}

func TestSplit(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Split2 == nil {
			t.Skip("no kernel at this level")
		}
		for width, split := range map[int]func(*byte, int64, *byte, int64, int64, int64){2: k.Split2, 4: k.Split4} {
			per := 8 / width
			for n := 1; n < 4; n++ {
				for run := 64; run < 300; run += 64 {
					stride, step := run/per+5, run+3
					src := noise(n * step)
					got, want := noise(n*per*stride+9), noise(n*per*stride+9)
					for i := range n * per {
						for b := range run / per {
							v := byte(0)
							for e := range per {
								v |= src[i/per*step+b*per+e] >> (i % per * width) & (1<<width - 1) << (e * width)
							}
							want[3+i*stride+b] = v
						}
					}
					split(&got[3], int64(stride), &src[0], int64(step), int64(run), int64(n))
					require.Equal(t, want, got, "%d bits, %d rows of %d", width, n, run)
				}
			}
		}
	})
}

func TestPermute3(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Permute3 == nil {
			t.Skip("no kernel at this level")
		}
		w := int(k.Permute3Width)
		for log := range k.Merge3 {
			size := 1 << log
			for n := 1; n < 5; n++ {
				for at := range 3 {
					permute := k.Permute3
					if at == 0 && k.Permute3Stream != nil {
						permute = k.Permute3Stream
					}
					pixels := n * w / size
					plane := n*w + w // bytes from one plane to the next
					src := noise(3 * plane)
					got, want := aligned(64+at+3*n*w+9), aligned(64+at+3*n*w+9)
					for i := range pixels {
						for c := range 3 {
							copy(want[64+at+(3*i+c)*size:][:size], src[at+c*plane+i*size:])
						}
					}
					permute(&got[64+at], int64(w), int64(3*w), &src[at], int64(plane), int64(w), k.Merge3[log], int64(n))
					require.Equal(t, want, got, "%d of %d bytes", pixels, size)

					out, same := aligned(128+3*plane+9), aligned(128+3*plane+9)
					for c := range 3 {
						copy(same[64+at+c*plane:][:n*w], src[at+c*plane:])
					}
					permute(&out[64+at], int64(plane), int64(w), &got[64+at], int64(w), int64(3*w), k.Split3[log], int64(n))
					require.Equal(t, same, out, "%d of %d bytes, apart", pixels, size)
					if k.Split3Lines != nil && n*w%64 == 0 {
						out, same := aligned(128+3*plane+96), aligned(128+3*plane+96)
						for c := range 3 {
							copy(same[64+c*(plane+48):][:n*w], src[at+c*plane:])
						}
						k.Split3Lines(&out[64], int64(plane+48), &got[64+at], k.Split3[log], int64(n*w/64))
						require.Equal(t, same, out, "%d of %d bytes, apart, by lines", pixels, size)
					}
				}
			}
		}
	})
}
