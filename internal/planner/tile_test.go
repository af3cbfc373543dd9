package planner_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// runner runs kernels on the host: work-groups in turn, the work-items of one as
// fibers, in one order or the other, so that a barrier that is missing shows.
const runner = `
#include <ucontext.h>
#include <sys/mman.h>
#include <vector>
#include <cstring>
thread_local host_position host_item;
static ucontext_t home, fibers[256];
static bool waits[256], done[256];
static u32 current;
typedef void (*kernel)(u8 *, const u8 *, const void *, i64, i64, u64, u64);
typedef void (*taker)(u8 *, const u8 *, const void *, i64, i64, u64, u64, const u8 *, u32 *);
static struct { kernel fn; u8 *dst; const u8 *src; const void *params; i64 d, s; } call;
static struct { u64 lo, hi; } values;
// numbers says what the next runs have for lo and hi.
extern "C" void numbers(u64 lo, u64 hi) { values = {lo, hi}; }
static struct { const u8 *at; u32 *status; u64 a; } indices; // of a take
// take says what the next runs have for indices; none: they are no takes.
extern "C" void take(const u8 *at, u32 *status, u64 a) { indices = {at, status, a}; }
static void item() {
	if (indices.at) {
		((taker)call.fn)(call.dst, call.src, call.params, call.d, call.s, indices.a, 0, indices.at, indices.status);
	} else {
		call.fn(call.dst, call.src, call.params, call.d, call.s, values.lo, values.hi);
	}
}
extern "C" void host_barrier() {
	if (host_item.local == 0 && current == ~0u) return;
	u32 me = current;
	waits[me] = true;
	swapcontext(&fibers[me], &home);
}
static void fiber() {
	item();
	done[current] = true;
	swapcontext(&fibers[current], &home);
}
static char *stacks;
enum { Stack = 16384 };
// run returns 1 if some work-items of a group wait at a barrier and others end.
extern "C" int run(void *fn, u64 groups, u64 local, u8 *dst, const u8 *src, const void *params, i64 d, i64 s, u64 backwards) {
	call = {(kernel)fn, dst, src, params, d, s};
	if (!stacks) stacks = (char *)mmap(0, 256 * Stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	host_item.groups = (u32)groups;
	for (u32 g = 0; g < groups; g++) {
		host_item.group = g;
		if (local == 1) {
			host_item.local = 0, current = ~0u;
			item();
			continue;
		}
		for (u32 i = 0; i < local; i++) {
			getcontext(&fibers[i]);
			fibers[i].uc_stack = {stacks + i * Stack, 0, Stack};
			makecontext(&fibers[i], fiber, 0);
			done[i] = false;
		}
		for (u32 left = (u32)local; left > 0;) {
			u32 waiting = 0, ended = 0;
			for (u32 j = 0; j < local; j++) {
				current = host_item.local = backwards ? (u32)local - 1 - j : j;
				waits[current] = false;
				swapcontext(&home, &fibers[current]);
				waiting += waits[current], ended += done[current];
			}
			if (waiting && ended) return 1;
			left -= ended;
		}
	}
	return 0;
}
// guarded returns size bytes that end (or begin, if low) where no page is.
extern "C" u8 *guarded(u64 size, u64 low) {
	u64 pages = (size + 4095) / 4096 * 4096;
	u8 *p = (u8 *)mmap(0, pages + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) + 4096;
	mprotect(p, pages, PROT_READ | PROT_WRITE);
	return low ? p : p + pages - size;
}
extern "C" void unguard(u8 *p, u64 size, u64 low) {
	u64 pages = (size + 4095) / 4096 * 4096;
	munmap((low ? p : p + size - pages) - 4096, pages + 8192);
}
`

type host struct {
	lib                   *dl.Library
	run, guarded, unguard uintptr
	take, numbers         uintptr
	entries               map[planner.Spec]uintptr
	forms                 map[string]int
}

var loadHost = sync.OnceValues(func() (*host, error) {
	dir, err := os.MkdirTemp("", "kernels")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file, so := filepath.Join(dir, "k.cpp"), filepath.Join(dir, "k.so")
	if err := os.WriteFile(file, []byte(planner.Source(planner.Host, planner.Specs()...)+runner), 0o600); err != nil {
		return nil, err
	}
	// Optimisation would cost more time here than it saves in the tests.
	out, err := exec.Command("g++", "-std=c++17", "-Wall", "-Werror", "-Wno-unused-function", "-O0", "-shared", "-fPIC", "-o", so, file).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	h := &host{entries: map[planner.Spec]uintptr{}, forms: map[string]int{}}
	if h.lib, err = dl.Open(so); err != nil {
		return nil, err
	}
	for name, fn := range map[string]*uintptr{"run": &h.run, "guarded": &h.guarded, "unguard": &h.unguard, "take": &h.take, "numbers": &h.numbers} {
		if *fn, err = h.lib.Lookup(name); err != nil {
			return nil, err
		}
	}
	for _, s := range planner.Specs() {
		if h.entries[s], err = h.lib.Lookup(s.String()); err != nil {
			return nil, err
		}
	}
	return h, nil
})

func hostOf(t *testing.T) *host {
	t.Helper()
	if race.Enabled {
		t.Skip("the race detector sees nothing of kernels in C")
	}
	_, err := exec.LookPath("g++")
	devicetest.Require(t, "compilers", err)
	h, err := loadHost()
	require.NoError(t, err)
	return h
}

// unit is what memory is a multiple of, in bits: kernels by chunks rely on that of a
// driver's memory.
func unit(s planner.Spec) int {
	if s.CPUTarget {
		return int(s.DstBits)
	}
	return 128
}

// buffer returns guarded memory for the positions below n, and how to free it.
func (h *host) buffer(n int64, bits int, unit int, low uintptr) (b []byte, free func()) {
	size := (uintptr(n)*uintptr(bits) + 7) / 8
	u := uintptr(16)
	size = (size + u - 1) / u * u
	p := dl.Call(h.guarded, size, low)
	return unsafe.Slice((*byte)(dl.Pointer(p)), size), func() { dl.Call(h.unguard, p, size, low) }
}

// check runs a copy by its plan, and compares the whole of dst's memory with what
// a copy element by element leaves there.
func (h *host) check(t *testing.T, rnd *rand.Rand, dst, src layout.Layout, bits int, target planner.Target) planner.Launch {
	t.Helper()
	l, err := planner.Plan(copying(dst, src, bits), target)
	require.NoError(t, err)
	what := fmt.Sprintf("%v <- %v of %d bits by %v", dst, src, bits, l.Spec)
	if l.Groups == 0 {
		return l
	}
	_, dEnd, _ := dst.Extent()
	_, sEnd, _ := src.Extent()
	low := uintptr(rnd.IntN(2))
	to, free := h.buffer(dEnd+1, bits, unit(l.Spec), low)
	defer free()
	from, free := h.buffer(sEnd+1, bits, unit(l.Spec), low)
	defer free()
	// Of memory too large to go through, only the elements are looked at.
	sparse := len(to) > 1<<28 || len(from) > 1<<28
	var want []byte
	if sparse {
		walk(dst, src, func(_, s int64) { from[s*int64(bits)/8] = byte(rnd.Uint32()) })
	} else {
		for _, b := range [][]byte{to, from} {
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
		}
		want = bytes.Clone(to)
		walk(dst, src, func(d, s int64) { move(want, from, d, s, bits) })
	}
	if w := l.Spec; rnd.IntN(4) == 0 { // any launch may be wide
		if w.Wide = true; h.entries[w] != 0 {
			l.Spec = w
		}
	}
	d, s := l.Base(planner.Dst, dst.Offset()), l.Base(planner.Src, src.Offset())
	params := append(make([]byte, 0, len(l.Params)+16), l.Params...)
	groups := l.Groups
	if groups > 3 && rnd.IntN(2) == 0 { // several blocks each
		groups = (groups + 2) / 3
	}
	require.EqualValues(t, l.Spec.CPUTarget, l.Local == 1)
	r := dl.Call(h.run, h.entries[l.Spec], uintptr(groups), uintptr(l.Local), uintptr(unsafe.Pointer(&to[0])), uintptr(unsafe.Pointer(&from[0])),
		uintptr(unsafe.Pointer(&params[0])), uintptr(d), uintptr(s), uintptr(rnd.IntN(2)))
	require.Zero(t, r, "%s: not all work-items come to a barrier", what)
	if sparse {
		walk(dst, src, func(d, s int64) {
			d, s = d*int64(bits)/8, s*int64(bits)/8
			require.Equal(t, from[s], to[d], "%s: byte %d", what, d)
		})
	} else if !bytes.Equal(want, to) {
		n := 0
		for i := range want {
			if want[i] != to[i] {
				if n < 10 {
					t.Logf("byte %d of %d: %02x, want %02x", i, len(want), to[i], want[i])
				}
				n++
			}
		}
		t.Fatalf("%s: %d of %d bytes differ", what, n, len(want))
	}
	h.forms[l.Spec.String()]++
	return l
}

// walk calls f with the positions of each element.
func walk(dst, src layout.Layout, f func(d, s int64)) {
	var axis func(i int, d, s int64)
	axis = func(i int, d, s int64) {
		if i == dst.Rank() {
			f(d, s)
			return
		}
		for k := range dst.Dim(i) {
			axis(i+1, d+k*dst.Stride(i), s+k*src.Stride(i))
		}
	}
	axis(0, dst.Offset(), src.Offset())
}

// move copies one element.
func move(to, from []byte, d, s int64, bits int) {
	if bits >= 8 {
		n := int64(bits / 8)
		copy(to[d*n:(d+1)*n], from[s*n:])
		return
	}
	per := int64(8 / bits)
	mask := byte(1<<bits - 1)
	v := from[s/per] >> (s % per * int64(bits)) & mask
	at := d % per * int64(bits)
	to[d/per] = to[d/per]&^(mask<<at) | v<<at
}

// side returns a layout in which the axes lie in the given order, innermost last,
// now and then with gaps, and backwards where that may be.
func side(rnd *rand.Rand, dims []int64, order []int, gaps, backwards, repeats bool) layout.Layout {
	strides := make([]int64, len(dims))
	offset := rnd.Int64N(40)
	if rnd.IntN(3) == 0 {
		offset = 0
	}
	size := int64(1)
	for j := len(order) - 1; j >= 0; j-- {
		i := order[j]
		if gaps && rnd.IntN(3) == 0 {
			size += rnd.Int64N(size + 2)
			if rnd.IntN(2) == 0 {
				size++
			}
		}
		if repeats && rnd.IntN(4) == 0 {
			continue
		}
		strides[i] = size
		if backwards && rnd.IntN(4) == 0 {
			strides[i] = -size
			offset += (dims[i] - 1) * size
		}
		size *= dims[i]
	}
	l, err := layout.Strided(dims, strides, offset)
	if err != nil {
		panic(err)
	}
	return l
}

var (
	parallel = planner.Target{}
	cpu      = planner.Target{CPU: true}
)

// sweep is how many rounds of random cases a test goes through, of the given number
// and seed: at length, many more with a new one.
func sweep(t *testing.T, rounds int, seed uint64) (int, *rand.Rand) {
	if soak.Enabled() {
		rounds, seed = 30*rounds, rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return rounds, rand.New(rand.NewPCG(seed, seed+1))
}

// TestTransposes goes through extents about the sizes of tiles.
func TestTransposes(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 10, 1)
	extents := []int64{24, 31, 32, 33, 48, 63, 64, 65, 66, 95, 127, 128, 129, 130, 200, 255, 256, 257, 259, 300, 513}
	for _, bits := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
		for range rounds {
			dims := []int64{extents[rnd.IntN(len(extents))], extents[rnd.IntN(len(extents))]}
			dOrder, sOrder := []int{0, 1}, []int{1, 0}
			if rnd.IntN(2) == 0 { // a batch
				dims = append(dims, 1+rnd.Int64N(3))
				at := rnd.IntN(2)
				dOrder, sOrder = [][]int{{2, 0, 1}, {0, 2, 1}}[at], [][]int{{2, 1, 0}, {1, 2, 0}}[rnd.IntN(2)]
			}
			gaps := rnd.IntN(2) == 0
			dst := side(rnd, dims, dOrder, gaps, false, false)
			src := side(rnd, dims, sOrder, gaps, rnd.IntN(4) == 0, false)
			h.check(t, rnd, dst, src, bits, parallel)
			if bits < 8 {
				h.check(t, rnd, dst, src, bits, cpu)
			}
		}
	}
	t.Log(h.forms)
}

// TestPermutations goes through anything.
func TestPermutations(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 300, 3)
	for range rounds {
		rank := 2 + rnd.IntN(5)
		dims := make([]int64, rank)
		limit := int64(1) << (8 + rnd.IntN(9))
		count := int64(1)
		for i := range dims {
			most := max(1, limit/count)
			dims[i] = 1 + rnd.Int64N(min(most, []int64{3, 8, 20, 70, 300}[rnd.IntN(5)]))
			count *= dims[i]
		}
		dst := side(rnd, dims, rnd.Perm(rank), rnd.IntN(3) == 0, rnd.IntN(3) == 0, false)
		src := side(rnd, dims, rnd.Perm(rank), rnd.IntN(3) == 0, rnd.IntN(3) == 0, rnd.IntN(3) == 0)
		bits := 1 << rnd.IntN(8)
		h.check(t, rnd, dst, src, bits, parallel)
		if bits < 8 {
			h.check(t, rnd, dst, src, bits, cpu)
		}
	}
	t.Log(h.forms)
}

// TestPixels moves channels between planes and pixels, of images that are crops, and
// mirrored, and mirrors pixels.
func TestPixels(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 6, 13)
	for _, bits := range []int{8, 16, 32} {
		for range rounds {
			dims := []int64{1 + rnd.Int64N(3), 2 + rnd.Int64N(6), 1 + rnd.Int64N(70), 2 + rnd.Int64N(90)} // images, channels, rows, columns
			planes := side(rnd, dims, []int{0, 1, 2, 3}, rnd.IntN(2) == 0, rnd.IntN(3) == 0, false)
			pixels := side(rnd, dims, []int{0, 2, 3, 1}, rnd.IntN(2) == 0, rnd.IntN(3) == 0, false)
			mirrored := side(rnd, dims, []int{0, 2, 3, 1}, rnd.IntN(2) == 0, rnd.IntN(2) == 0, false)
			h.check(t, rnd, planes, pixels, bits, parallel)
			h.check(t, rnd, pixels, planes, bits, parallel)
			h.check(t, rnd, pixels, mirrored, bits, parallel)
		}
	}
	t.Log(h.forms)
}

// TestSpread repeats more elements, and more often, than a block does.
func TestSpread(t *testing.T) {
	dims := []int64{5, 9, 3000}
	l := hostOf(t).check(t, rand.New(rand.NewPCG(9, 10)), dense(dims...), strided(dims, []int64{3000, 0, 1}, 0), 32, parallel)
	require.Equal(t, "spread_128", l.Spec.String()[:10])
	require.EqualValues(t, 5*2, l.Groups)
}

// TestFarApart has steps of more than 32 bits.
func TestFarApart(t *testing.T) {
	h := hostOf(t)
	rnd := rand.New(rand.NewPCG(5, 6))
	far := int64(1) << 31
	for _, c := range []struct {
		form     planner.Form
		bits     int
		dims     []int64
		dst, src []int64
	}{
		{planner.Tile, 32, []int64{30, 40}, []int64{40, 1}, []int64{1, far/4 + 3}},
		{planner.Tile, 32, []int64{30, 40}, []int64{far/4 + 3, 1}, []int64{1, 50}},
		{planner.Transpose, 8, []int64{50, 300}, []int64{301, 1}, []int64{1, far + 1}},
		{planner.Batch, 8, []int64{50, 300}, []int64{300, 1}, []int64{1, far + 1}},
		{planner.Transpose, 8, []int64{50, 300}, []int64{far + 1, 1}, []int64{1, 50}},
		{planner.Shuffle, 8, []int64{50, 10, 7}, []int64{70, 7, 1}, []int64{1, far - 1, 60}},
		{planner.Shuffle, 8, []int64{50, 10, 7}, []int64{far, 7, 1}, []int64{1, 50, 500}},
		{planner.Spread, 32, []int64{9, 7, 2301}, []int64{far / 4, 2301, 1}, []int64{2301, 0, 1}},
		{planner.Run, 32, []int64{9, 7, 43}, []int64{43, far / 4, 1}, []int64{far / 4, 0, 1}},
	} {
		dst, err := layout.Strided(c.dims, c.dst, 3)
		require.NoError(t, err)
		src, err := layout.Strided(c.dims, c.src, 5)
		require.NoError(t, err)
		l := h.check(t, rnd, dst, src, c.bits, parallel)
		require.Equal(t, c.form, l.Spec.Form)
	}
}
