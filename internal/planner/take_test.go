package planner_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// rows is a table's rows as Take sees them: n of a width each, by one index.
func rows(n, width int64) (dst, src, at layout.Layout) {
	shape := []int64{n, width}
	return dense(shape...), strided(shape, []int64{0, 1}, 0), strided(shape, []int64{1, 0}, 0)
}

// TestPlanPicks: single elements whose indices are neighbours go by chunks, where 32 bits reach.
func TestPlanPicks(t *testing.T) {
	for _, c := range []struct {
		n, step, extent, stride int64
		bits                    int
		want                    string
	}{
		{100, 1, 1000, 3, 8, "picks_8_i64"},
		{101, 1, 1000, -3, 16, "picks_16_i64"},
		{100, 1, 1000, 3, 32, "picks_32_i64"},
		{100, 1, 1000, 3, 64, "pick_64_i64"},
		{100, 2, 1000, 3, 8, "pick_8_i64"},
		{63, 1, 1000, 3, 8, "pick_8_i64"},
		{100, 1, 1 << 31, 1, 8, "pick_8_i64"},
		{100, 1, 1 << 20, 1 << 20, 8, "pick_8_i64"},
	} {
		l, err := planner.Plan(taking(dense(c.n), strided([]int64{c.n}, []int64{0}, 0), strided([]int64{c.n}, []int64{c.step}, 0), []layout.Index{{Extent: c.extent, Stride: c.stride}}, c.bits, 64), parallel)
		require.NoError(t, err)
		assert.Equal(t, c.want, l.Spec.String())
	}
}

// TestPlanTake names the kernels: elements that rows have in common are taken together,
// odd rows are joined, and rows of one element are picked.
func TestPlanTake(t *testing.T) {
	for _, c := range []struct {
		n, width       int64
		bits           int
		stride, off    int64
		kernel, serial string
	}{
		{128, 768, 32, 768, 0, "take_128", "take_128"},
		{128, 768, 16, 768, 0, "take_128", "take_128"},
		{128, 768, 16, 768, 2, "join_8", "take_32"},
		{128, 768, 16, 770, 0, "join_8", "take_32"},
		{128, 767, 16, 767, 0, "join_8", "take_16"},
		{128, 15, 16, 15, 0, "take_16", "take_16"},
		{128, 64, 4, 64, 0, "take_128", "take_128"},
		{128, 64, 4, 64, 1, "join_2", "take_4"},
		{128, 10, 4, 10, 0, "take_8", "take_8"},
		{128, 7, 2, 7, 0, "join_2", "take_2"},
		{128, 1, 64, 1, 0, "pick_64", "take_64"},
		{128, 2, 64, 2, 0, "pick_128", "take_128"},
		{0, 5, 8, 5, 0, "", ""},
	} {
		for _, target := range []planner.Target{parallel, cpu} {
			dst, src, at := rows(c.n, c.width)
			src, err := src.Rebase(c.off)
			require.NoError(t, err)
			l, err := planner.Plan(taking(dst, src, at, []layout.Index{{Extent: 1000, Stride: c.stride}}, c.bits, 64), target)
			require.NoError(t, err)
			assert.Equal(t, (c.n*c.width*int64(c.bits)+7)/8, l.Bytes)
			if c.kernel == "" {
				assert.Zero(t, l.Groups)
				continue
			}
			want := c.kernel + "_i64"
			if target.CPU {
				want = c.serial + "_i64_serial"
			}
			assert.Equal(t, want, l.Spec.String())
			assert.Contains(t, planner.Specs(), l.Spec)
			assert.Equal(t, "take", l.Class)
		}
	}
	// What no machine has memory for.
	for bits := 2; bits <= 128; bits *= 2 {
		dst, src, at := rows(1<<30, 1<<30)
		_, err := planner.Plan(taking(dst, src, at, []layout.Index{{Extent: 1 << 20, Stride: 1 << 30}}, bits, 32), parallel)
		if err != nil {
			assert.ErrorIs(t, err, layout.ErrUnsupported)
		}
	}
}

// TestColumns has what decides whether columns go row by row: their number and width, and how far indices
// reach.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		rows, columns, extent int64
		bits                  int
		byColumns             bool
	}{
		{100, 4096, 8192, 32, true},
		{100, 1024, 8192, 8, true},
		{100, 1023, 8192, 8, false},
		{1, 4096, 8192, 32, false}, // a row
		{100, 4096, 8192, 128, false},
		{100, 4096, 1<<29 - 4096, 32, true},
		{100, 4096, 1 << 29, 32, false}, // beyond 32 bits
	} {
		shape := []int64{c.rows, c.columns}
		for _, puts := range []bool{false, true} {
			l, err := planner.Plan(taking(dense(shape...), strided(shape, []int64{c.extent, 0}, 0), strided(shape, []int64{0, 1}, 0), []layout.Index{{Extent: c.extent, Stride: 1}}, c.bits, 64), parallel)
			if puts {
				l, err = planner.Plan(putting(strided(shape, []int64{c.extent, 0}, 0), dense(shape...), strided(shape, []int64{0, 1}, 0), []layout.Index{{Extent: c.extent, Stride: 1}}, typeOf(c.bits), device.ReduceSet, 64), parallel)
			}
			require.NoError(t, err)
			rows := binary.LittleEndian.Uint32(l.Params[4*19:]) // of a block, one after the other
			assert.Equal(t, c.byColumns, rows > 0, "%v, puts: %v: %v", c, puts, l.Spec)
		}
	}
}

// TestPlanPut names the kernels: rows of many elements go together, others one by one.
func TestPlanPut(t *testing.T) {
	for _, c := range []struct {
		n, width       int64
		bits           int
		stride, off    int64
		kernel, serial string
	}{
		{128, 768, 16, 768, 0, "put_128", "put_128"},
		{128, 768, 16, 768, 2, "put_32", "put_32"},
		{128, 767, 16, 767, 0, "put_16", "put_16"},
		{128, 64, 4, 64, 0, "put_128", "put_128"},
		{128, 64, 4, 64, 1, "place_4", "place_4"},
		{128, 1, 64, 1, 0, "place_64", "put_64"},
		{128, 2, 64, 2, 0, "place_128", "put_128"},
		{0, 5, 8, 5, 0, "", ""},
	} {
		for _, target := range []planner.Target{parallel, cpu} {
			src, dst, at := rows(c.n, c.width)
			dst, err := dst.Rebase(c.off)
			require.NoError(t, err)
			l, err := planner.Plan(putting(dst, src, at, []layout.Index{{Extent: 1000, Stride: c.stride}}, typeOf(c.bits), device.ReduceSet, 64), target)
			require.NoError(t, err)
			assert.Equal(t, (c.n*c.width*int64(c.bits)+7)/8, l.Bytes)
			if c.kernel == "" {
				assert.Zero(t, l.Groups)
				continue
			}
			want := c.kernel + "_i64"
			if target.CPU {
				want = c.serial + "_i64_serial"
			}
			assert.Equal(t, want, l.Spec.String())
			assert.Contains(t, planner.Specs(), l.Spec)
			assert.Equal(t, "put", l.Class)
		}
	}
}

// TestTakeFarApart has positions of more than 32 bits on all sides, in memory that
// is there where it is used only.
func TestTakeFarApart(t *testing.T) {
	h := hostOf(t)
	rnd := rand.New(rand.NewPCG(7, 7))
	far := int64(1) << 31
	for _, bits := range []int{2, 4, 8, 16, 32, 64, 128} {
		per := max(1, 32/int64(bits)) // so that memory stays within 2^37 bytes
		for _, target := range []planner.Target{parallel, cpu} {
			for _, atBits := range []int{32, 64} {
				shape := []int64{3, 5, 4}
				unit := far * per / 16 * 16
				dst := strided(shape, []int64{unit + 16, 4, 1}, 3)
				src := strided(shape, []int64{0, unit/2 + 6, 1}, 1)
				at := strided(shape, []int64{1, far/4 + 1, 0}, 2)
				by := []layout.Index{{Extent: 7, Stride: unit/4 + 5}, {Offset: far / 8, Extent: 2, Stride: 1}}
				l, err := planner.Plan(taking(dst, src, at, by, bits, atBits), target)
				require.NoError(t, err)
				what := fmt.Sprint(l.Spec)

				_, dEnd, _ := dst.Extent()
				_, sEnd, _ := indexing.Reach(&src, by)
				_, aEnd, _ := at.Extent()
				to, free := h.buffer(dEnd+1, bits, bits, 0)
				from, free2 := h.buffer(sEnd+1, bits, bits, 0)
				indices, free3 := h.buffer(aEnd+far/8+1, atBits, atBits, 0)
				type one struct{ d, s int64 }
				var wanted []one
				wrong := 0
				number := 0
				walk(dst, src, func(d, s int64) {
					i := []int64{int64(number) / 20, int64(number) / 4 % 5, int64(number) % 4}
					number++
					a := at.At(i...)
					ok := true
					for _, x := range by {
						index := (a+x.Offset)%(2*x.Extent) - x.Extent
						if i[0] == 1 && i[1] == 2 && x.Offset == 0 {
							index, ok = x.Extent, false
						}
						if atBits == 32 {
							binary.LittleEndian.PutUint32(indices[4*(a+x.Offset):], uint32(index))
						} else {
							binary.LittleEndian.PutUint64(indices[8*(a+x.Offset):], uint64(index))
						}
						if index < 0 {
							index += x.Extent
						}
						s += index * x.Stride
					}
					if ok {
						if bits >= 8 {
							from[s*int64(bits)/8] = byte(rnd.Uint32())
						} else {
							from[s*int64(bits)/8] |= byte(rnd.Uint32()) & (1<<bits - 1) << (s * int64(bits) % 8)
						}
						wanted = append(wanted, one{d, s})
					} else {
						wrong++
					}
				})
				// What is behind a row of dst stays.
				ones, beyond := bytes.Repeat([]byte{0xff}, 16), []int64{dst.At(0, 4, 3) + 1, dst.At(1, 4, 3) + 1}
				for _, e := range beyond {
					move(to, ones, e, 0, bits)
				}
				d, s := l.Base(planner.Dst, dst.Offset()), l.Base(planner.Src, src.Offset())
				status := make([]uint32, 8)
				dl.Call(h.take, uintptr(unsafe.Pointer(&indices[0])), uintptr(unsafe.Pointer(&status[0])), uintptr(l.Base(planner.At, at.Offset())))
				r := dl.Call(h.run, h.entries[l.Spec], uintptr(l.Groups), uintptr(l.Local), uintptr(unsafe.Pointer(&to[0])), uintptr(unsafe.Pointer(&from[0])),
					uintptr(unsafe.Pointer(&l.Params[0])), uintptr(d), uintptr(s), 0)
				dl.Call(h.take, 0, 0, 0)
				require.Zero(t, r)
				require.Equal(t, 4, wrong)
				require.Equal(t, []uint32{1, 7, 0, 7, 0}, status[:5], what)
				got, want := make([]byte, 16), make([]byte, 16)
				for _, e := range beyond {
					move(got, to, 0, e, bits)
					move(want, ones, 0, 0, bits)
					require.Equal(t, want, got, "%s: behind a row", what)
				}
				for _, e := range wanted {
					move(got, to, 0, e.d, bits)
					move(want, from, 0, e.s, bits)
					require.Equal(t, want, got, "%s: %d from %d", what, e.d, e.s)
				}
				free()
				free2()
				free3()
			}
		}
	}
}

// TestTakesAreCached: takes that are alike are planned once, with others in one
// cache.
func TestTakesAreCached(t *testing.T) {
	uploads, drops := 0, 0
	c := planner.NewCache(parallel, 3, func([]byte) (int, error) { uploads++; return uploads, nil }, func(int) { drops++ })
	dst, src, at := rows(8, 4)
	take := func(extent int64, l layout.Layout) *planner.Entry[int] {
		e, err := c.Get(taking(l, src, at, []layout.Index{{Extent: extent, Stride: 4}}, 8, 64))
		require.NoError(t, err)
		return e
	}
	moved, err := dst.Rebase(128)
	require.NoError(t, err)
	first := take(10, dst)
	assert.Same(t, first, take(10, moved))
	assert.NotSame(t, first, take(11, dst))
	_, err = c.Get(copying(dst, dst, 8))
	require.NoError(t, err)
	assert.Equal(t, 3, uploads)
	by := []layout.Index{{Extent: 10, Stride: 4}}
	again := taking(dst, src, at, by, 8, 64)
	assert.Zero(t, testing.AllocsPerRun(50, func() { _, _ = c.Get(again) }))
	take(12, dst)
	assert.Equal(t, 3, drops, "it was full")
	many := make([]layout.Index, 9)
	for i := range many {
		many[i] = layout.Index{Extent: 1}
	}
	for range 2 { // of any number of indices
		_, err = c.Get(taking(dst, src, at, many, 8, 64))
		require.NoError(t, err)
	}
	assert.Equal(t, 5, uploads)
	c.Clear()
	assert.Equal(t, uploads, drops)
}
