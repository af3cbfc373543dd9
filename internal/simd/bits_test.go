package simd_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// bitsAt returns w bits at a position in bits.
func bitsAt(b []byte, at, w int) byte {
	v := byte(0)
	for i := range w {
		p := at + i
		v |= b[p/8] >> (p % 8) & 1 << i
	}
	return v
}

// room returns noise in which n bytes from start on are for a kernel: at a multiple of 64 if it
// bypasses the caches, otherwise anywhere, with a line before them.
func room(n, at int, past bool) (b []byte, start int) {
	b = noise(n + 256)
	if past {
		at = int(-uintptr(unsafe.Pointer(&b[0])) % 64)
	}
	return b, 64 + at
}

// lineCases calls a kernel in every form: with numbers of lines, shifts, and places. reads is
// the number of bytes of the source that it may read, and want the expected result, byte by
// byte.
func lineCases(t *testing.T, reads func(bytes, shift int) int, run func(dst, src *byte, lines, shift int64, past bool), want func(src []byte, shift, n, i int) byte) {
	for lines := range 5 {
		n := lines * 64
		for shift := range 8 {
			for _, atEnd := range []bool{false, true} {
				src := fenced(t, max(reads(n, shift), 1), atEnd)
				for at := range 9 {
					past := at == 8
					got, start := room(n, 7*at, past)
					expect := append([]byte{}, got...)
					for i := range n {
						expect[start+i] = want(src, shift, n, i)
					}
					run(&got[start], &src[0], int64(lines), int64(shift), past)
					require.Equal(t, expect, got, "%d lines from bit %d to byte %d, past the caches: %v", lines, shift, start, past)
				}
			}
		}
	}
}

func touched(bits, shift int) int { return (bits + shift + 7) / 8 }

func TestShift(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.ShiftBits == nil {
			t.Skip("no kernel at this level")
		}
		lineCases(t, func(n, shift int) int { return touched(n*8, shift) }, k.ShiftBits,
			func(src []byte, shift, _, i int) byte { return bitsAt(src, shift+i*8, 8) })
	})
}

func TestReverse(t *testing.T) {
	tables := noise(32)
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.ReverseBits == nil {
			t.Skip("no kernel at this level")
		}
		lineCases(t, func(n, shift int) int { return touched(n*8, shift) },
			func(dst, src *byte, lines, shift int64, past bool) {
				k.ReverseBits(dst, src, lines, shift, &tables[0], past)
			},
			func(src []byte, shift, n, i int) byte {
				x := bitsAt(src, shift+(n-1-i)*8, 8)
				return tables[x&15] | tables[16+x>>4]
			})
	})
}

func TestUnpack(t *testing.T) {
	table := noise(16)
	each(t, func(t *testing.T, k *simd.Kernels) {
		for w, kernel := range map[int]func(dst, src *byte, lines, shift int64, table *byte, past bool){4: k.UnpackNibbles, 2: k.UnpackCrumbs} {
			if kernel == nil {
				t.Skip("no kernel at this level")
			}
			lineCases(t, func(n, shift int) int { return touched(n*w, shift) },
				func(dst, src *byte, lines, shift int64, past bool) { kernel(dst, src, lines, shift, &table[0], past) },
				func(src []byte, shift, _, i int) byte { return table[bitsAt(src, shift+i*w, w)] })
		}
	})
}

func TestPack(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		for w, kernel := range map[int]func(dst, src *byte, lines int64, past bool){4: k.PackNibbles, 2: k.PackCrumbs} {
			if kernel == nil {
				t.Skip("no kernel at this level")
			}
			lineCases(t, func(n, _ int) int { return n * 8 / w },
				func(dst, src *byte, lines, _ int64, past bool) { kernel(dst, src, lines, past) },
				func(src []byte, _, _, i int) byte {
					v := byte(0)
					for e := range 8 / w {
						v |= src[i*8/w+e] & (1<<w - 1) << (e * w)
					}
					return v
				})
		}
	})
}

func TestExtract(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		for bytes, kernel := range map[int]func(dst, src *byte, n, at, step, mask int64){1: k.ExtractBits8, 2: k.ExtractBits16, 4: k.ExtractBits32} {
			if kernel == nil {
				t.Skip("no kernel at this level")
			}
			// Each mask has as many bits as a word, apart by one, by two and not at all.
			for _, mask := range []uint64{1<<(8*bytes) - 1, 0x5555555555555555 & (1<<(16*bytes) - 1)} {
				for _, step := range []int{0, 5, 8, 24, 57, 300} {
					for n := 1; n < 10; n++ {
						for at := range 17 {
							src, got := fenced(t, (at+(n-1)*step)/8+8, true), noise(n*bytes+20)
							want := append([]byte{}, got...)
							for i := range n {
								to := 8 * (10 + i*bytes)
								for bit := range 64 {
									from := at + i*step
									if mask>>bit&1 == 0 {
										continue
									}
									v := byte(0) // the word was shifted: it ends with its bytes
									if from%8+bit < 64 {
										v = bitsAt(src, from+bit, 1)
									}
									want[to/8] = want[to/8]&^(1<<(to%8)) | v<<(to%8)
									to++
								}
							}
							kernel(&got[10], &src[0], int64(n), int64(at), int64(step), int64(mask))
							require.Equal(t, want, got, "%d words, %d bytes each, from bit %d by %d", n, bytes, at, step)
						}
					}
				}
			}
		}
	})
}
