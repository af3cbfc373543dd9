package planner_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// FuzzPlan plans copies between any two layouts of one shape: a plan never
// fails but for size, and asks for kernels that are there only.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{2, 0, 0, 16, 0, 16, 0, 1, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0})
	f.Add([]byte{5, 1, 3, 3, 0, 250, 255, 8, 0})
	f.Add([]byte{1, 7, 7, 255, 255, 255, 127, 2})
	f.Add([]byte("202\x00\x00\x000000000002\x00\x00\x00 ")) // 3<<64 bits
	all := map[planner.Spec]bool{}
	for _, s := range planner.Specs() {
		all[s] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func(bytes int) int64 {
			var word [8]byte
			n := copy(word[:bytes], data)
			data = data[n:]
			v := int64(binary.LittleEndian.Uint64(word[:]))
			if bytes < 8 && v >= 1<<(8*bytes-1) {
				v -= 1 << (8 * bytes)
			}
			return v
		}
		rank := int(next(1)&15) % 11
		bits := 1 << (uint64(next(1)) % 8)
		dims, dStrides, sStrides := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		for i := range rank {
			size := 1 << (uint64(next(1)) % 4)
			dims[i], dStrides[i], sStrides[i] = max(0, next(min(size, 4))), next(size), next(size)
		}
		dst, err := layout.Strided(dims, dStrides, next(4)&0xffffff)
		if err != nil || dst.SelfOverlaps() {
			if dst, err = layout.Contiguous(dims...); err != nil {
				return
			}
		}
		src, err := layout.Strided(dims, sStrides, next(4)&0xffffff)
		if err != nil {
			return
		}
		for _, target := range []planner.Target{{}, {CPU: true}} {
			l, err := planner.Plan(copying(dst, src, bits), target)
			if err != nil {
				require.ErrorIs(t, err, layout.ErrUnsupported)
				continue
			}
			require.Equal(t, dst.Count() == 0, l.Groups == 0)
			if l.Groups == 0 {
				continue
			}
			require.True(t, all[l.Spec], "%v", l.Spec)
			d, s := l.Base(planner.Dst, dst.Offset()), l.Base(planner.Src, src.Offset())
			require.False(t, d < 0 || s < 0, "bases %d, %d", d, s)
			if l.Spec.Form == planner.Element && dst.Count() < 1<<12 {
				n, per := int64(0), int64(l.Spec.DstBits)/int64(bits)
				r := read(l.Params)
				for b := range r.blocks {
					r.elements(b, func(int64, int64) { n++ })
				}
				assert.Equal(t, dst.Count(), n*per)
			}
			fill, err := planner.Plan(filling(dst, bits), target)
			if err == nil {
				require.True(t, all[fill.Spec], "%v", fill.Spec)
			}
		}
	})
}
