package ptx

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is a kernel with memory of 4 bytes a thread at %rd1, the thread's number in
// %r1, its address in %rd2, and 4 KiB of shared memory.
func program(t *testing.T, body string) *Program {
	t.Helper()
	p, err := Parse(fmt.Appendf(nil, `.version 6.0
.target sm_70
.address_size 64
.shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 k_param_0, .param .align 8 .b8 k_param_1[64])
.maxntid 256, 1, 1
{
	.reg .pred %%p<9>;
	.reg .b32 %%r<19>;
	.reg .b64 %%rd<9>;
	ld.param.u64 %%rd1, [k_param_0];
	mov.u32 %%r1, %%tid.x;
	mul.wide.u32 %%rd2, %%r1, 4;
	mov.u64 %%rd3, tile;
	add.s64 %%rd4, %%rd3, %%rd2;
	add.s64 %%rd2, %%rd1, %%rd2;
	setp.lt.u32 %%p1, %%r1, 7;
%s
	ret;
}
`, body))
	require.NoError(t, err)
	return p
}

// TestFaults: each mistake is found, and located.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"none", "st.shared.u32 [%rd4], %r1; bar.sync 0; ld.shared.u32 %r2, [%rd4]; st.global.u32 [%rd2], %r2;", ""},
		{"out of bounds", "st.global.u32 [%rd2+4], %r1;", "bytes 1024 to 1028 of an allocation of 1024"},
		{"before the start", "ld.global.u32 %r2, [%rd2+-4];", "bytes -4 to 0"},
		{"nowhere", "mov.u64 %rd5, 64; ld.global.u32 %r2, [%rd5];", "no memory"},
		{"misaligned", "st.global.v2.u32 [%rd2], {%r1, %r1};", "misaligned"},
		{"misaligned to 16", "and.b64 %rd5, %rd2, -16; st.global.v4.u32 [%rd5+8], {%r1, %r1, %r1, %r1};", "misaligned"},
		{"beyond shared memory", "ld.shared.u32 %r2, [%rd4+4000];", "beyond shared memory"},
		{"beyond the parameters", "ld.param.u32 %r2, [k_param_1+12];", "beyond the parameters"},
		{"parameters by an index", "mov.b64 %rd5, k_param_1; ld.param.u32 %r2, [%rd5+8]; st.global.u32 [%rd2], %r2;", ""},
		{"written without a barrier", "st.shared.u32 [%rd4], %r1; ld.shared.u32 %r2, [tile+8];", "shared memory that another thread"},
		{"written twice", "st.shared.u32 [tile], %r1;", "writes shared memory that another thread writes"},
		{"read, then written", "st.shared.u32 [%rd4], %r1; bar.sync 0; ld.shared.u32 %r2, [tile]; st.shared.u32 [%rd4], %r2;", "shared memory that another thread"},
		{"one byte of a word", "mul.wide.u32 %rd5, %r1, 3; add.s64 %rd5, %rd3, %rd5; st.shared.u8 [%rd5], %r1; @%p1 st.shared.u8 [%rd5+3], %r1;", "writes shared memory that another thread writes"},
		{"shared memory that lacks", "ld.shared.u32 %r2, [%rd4]; st.global.u32 [%rd2], %r2;", "no value"},
		{"bits that are masked out", "ld.shared.u32 %r2, [%rd4]; or.b32 %r2, %r2, 255; and.b32 %r2, %r2, 255; st.global.u32 [%rd2], %r2;", ""},
		{"bits that are not", "ld.shared.u32 %r2, [%rd4]; shl.b32 %r2, %r2, 31; st.global.u32 [%rd2], %r2;", "no value"},
		{"a register that lacks", "@%p1 mov.u32 %r2, 5; st.global.u32 [%rd2], %r2;", "no value"},
		{"one that does not matter", "@%p1 mov.u32 %r2, 5; selp.b32 %r3, %r2, 4, %p1; st.global.u32 [%rd2], %r3;", ""},
		{"a condition that lacks", "setp.eq.s32 %p2, %r2, 0; @%p2 bra $L; $L: ", "no value"},
		{"half of a condition", "setp.eq.s32 %p2, %r2, 0; mov.pred %p3, 0; and.pred %p2, %p2, %p3; @%p2 bra $L; $L: ", ""},
		{"a barrier for some", "@%p1 bra $L; bar.sync 0; $L: ", "other threads do not reach"},
		{"a barrier in part of a warp", "@%p1 bar.sync 0;", "leaves out a barrier"},
		{"a warp that is done", "setp.lt.u32 %p2, %r1, 32; @%p2 bra $L; bar.sync 0; $L: ", "do not reach"},
		{"no end", "$L: bra.uni $L;", "does not end"},
		{"two write a byte", "and.b64 %rd5, %rd2, -16; st.global.u8 [%rd5], %r1;", "global memory that thread"},
		{"atomic and not", "atom.global.or.b32 %r2, [%rd1], %r1; @%p1 st.global.u8 [%rd1], %r1;", "global memory that thread"},
		{"all atomic", "atom.global.or.b32 %r2, [%rd1], %r1; red.global.and.b32 [%rd1], %r1;", ""},
		{"a shuffle without partners", "@%p1 bra $L; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; $L: ", "do not come"},
		{"a shuffle of all", "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; st.global.u32 [%rd2], %r2;", ""},
	} {
		for seed := range uint64(4) {
			m := NewMemory()
			a := m.Alloc(1024)
			var fault *Fault
			err := program(t, c.body).Run(m, Launch{
				Groups: 1, Threads: 256, Args: [][]byte{Words(a.Base)[0], make([]byte, 12)}, Seed: seed, Diverge: seed%2 == 1, Steps: 1 << 12,
			})
			if c.want == "" {
				assert.NoError(t, err, c.name)
			} else if assert.ErrorAs(t, err, &fault, c.name) {
				assert.Contains(t, fault.What, c.want, c.name)
				assert.Equal(t, "k", fault.Kernel)
			}
		}
	}
}

// TestSharedMemoryIsABlocks: a block does not see another's shared memory.
func TestSharedMemoryIsABlocks(t *testing.T) {
	m := NewMemory()
	a := m.Alloc(4096)
	p := program(t, `mov.u32 %r2, %ctaid.x; setp.eq.s32 %p2, %r2, 0; @%p2 st.shared.u32 [%rd4], %r1; bar.sync 0;
	ld.shared.u32 %r3, [%rd4]; mul.wide.u32 %rd5, %r2, 1024; add.s64 %rd2, %rd2, %rd5; st.global.u32 [%rd2], %r3;`)
	run := func(groups uint32) error {
		return p.Run(m, Launch{Groups: groups, Threads: 256, Args: [][]byte{Words(a.Base)[0], nil}})
	}
	require.NoError(t, run(1))
	require.Error(t, run(2))
	require.NoError(t, run(1))
	m.Free(a)
	require.Error(t, run(1))
}

// TestWarpsMeet: threads on different paths meet again, in any order, and the sum of a loop of
// different lengths is right.
func TestWarpsMeet(t *testing.T) {
	p := program(t, `mov.u32 %r2, 0; mov.u32 %r3, 0; and.b32 %r4, %r1, 15;
$L: setp.ge.u32 %p2, %r2, %r4; @%p2 bra $M; add.s32 %r3, %r3, %r2; add.s32 %r2, %r2, 1; bra.uni $L;
$M: bar.sync 0; atom.global.add.u32 %r5, [%rd1+1024], %r3; st.global.u32 [%rd2], %r3;`)
	for seed := range uint64(20) {
		m := NewMemory()
		a := m.Alloc(1040)
		a.Write(1024, make([]byte, 16))
		require.NoError(t, p.Run(m, Launch{Groups: 1, Threads: 256, Args: [][]byte{Words(a.Base)[0], nil}, Seed: seed, Diverge: true}))
		total, b := uint64(0), make([]byte, 4)
		for i := range int64(256) {
			a.Read(b, 4*i)
			n := uint64(i % 16)
			require.Equal(t, n*(n-1)/2*min(n, 1), get(b, 4))
			total += get(b, 4)
		}
		a.Read(b, 1024)
		require.Equal(t, total, get(b, 4))
	}
}

// TestRefused: a launch that does not fit is an error, but not a fault.
func TestRefused(t *testing.T) {
	p, m := program(t, ""), NewMemory()
	var fault *Fault
	for _, l := range []Launch{
		{Groups: 1, Threads: 256, Args: Words(1)},
		{Groups: 1, Threads: 512, Args: Words(1, 2)},
		{Groups: 1, Threads: 32, Args: [][]byte{make([]byte, 9), nil}},
	} {
		err := p.Run(m, l)
		require.Error(t, err)
		assert.False(t, errors.As(err, &fault))
	}
	assert.Equal(t, []Param{{0, 8}, {8, 64}}, p.Params)
}
