package ptx

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSample counts a block whose work is known.
func TestSample(t *testing.T) {
	p := program(t, `ld.global.u32 %r2, [%rd2]; st.shared.u32 [%rd4], %r2; bar.sync 0;
	shl.b32 %r3, %r1, 7; and.b32 %r3, %r3, 4095; cvt.u64.u32 %rd5, %r3; add.s64 %rd5, %rd3, %rd5;
	ld.shared.u32 %r4, [%rd5]; st.global.u32 [%rd2], %r2;`)
	c, err := p.Sample(Launch{Groups: 3, Threads: 256, Args: [][]byte{Words(SampleSrc)[0], nil}}, 1, 0)
	require.NoError(t, err)
	assert.EqualValues(t, 8+8+8+8*32, c.Passes) // one each, except where all lanes access one bank
	assert.EqualValues(t, 16, c.Requests)
	assert.EqualValues(t, 32, c.Reads)
	assert.EqualValues(t, 32, c.Writes)
	assert.Len(t, c.Read, 32)
	assert.Len(t, c.Written, 32)
	for _, s := range c.Written {
		assert.Equal(t, Write{Bytes: 1<<32 - 1, first: s.first}, s)
	}
	assert.Len(t, c.Executed, len(p.Lines()))
	assert.EqualValues(t, 8, c.Executed[0])
	assert.Greater(t, c.Cycles, 700.)
	assert.Less(t, c.Cycles, 1000.)
	assert.EqualValues(t, Waiting, c.Cycles-c.Cached)
}

// TestBugBanksOfIdleLanes: idle lanes count in the split of a warp into parts.
func TestBugBanksOfIdleLanes(t *testing.T) {
	p := program(t, `and.b32 %r2, %r1, 7; setp.eq.u32 %p2, %r2, 7; shl.b32 %r3, %r1, 4; cvt.u64.u32 %rd5, %r3; add.s64 %rd5, %rd3, %rd5;
	@!%p2 st.shared.v4.u32 [%rd5], {%r1, %r1, %r1, %r1};`)
	c, err := p.Sample(Launch{Groups: 3, Threads: 256, Args: [][]byte{Words(SampleSrc)[0], nil}}, 1, 0)
	require.NoError(t, err)
	assert.EqualValues(t, 8*4, c.Passes)
}

// TestSampleWrites: the parts of sectors that a block writes, and whether they come late.
func TestSampleWrites(t *testing.T) {
	args := [][]byte{Words(SampleDst)[0], nil}
	p := program(t, `setp.lt.u32 %p2, %r1, 9; @%p2 st.global.u32 [%rd2], %r1;`)
	b, err := p.Sample(Launch{Groups: 3, Threads: 32, Args: args}, 1, 0)
	require.NoError(t, err)
	first := uint64(SampleDst / Sector)
	require.Len(t, b.Written, 2)
	assert.Equal(t, Write{Bytes: 1<<32 - 1, first: b.Written[first].first}, b.Written[first])
	assert.EqualValues(t, 15, b.Written[first+1].Bytes)
	assert.EqualValues(t, 1, b.Requests)
	assert.EqualValues(t, 2, b.Writes)

	// One half, and the other one after a wait for memory.
	p = program(t, `shl.b64 %rd2, %rd2, 1; add.s64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r1;
	ld.global.u32 %r2, [%rd1+4096]; add.s32 %r2, %r2, 1; st.global.u32 [%rd2+4], %r2;`)
	b, err = p.Sample(Launch{Groups: 3, Threads: 32, Args: args}, 1, 0)
	require.NoError(t, err)
	require.Len(t, b.Written, 8)
	for _, s := range b.Written {
		assert.True(t, s.Late)
		assert.EqualValues(t, 1<<32-1, s.Bytes)
	}
	assert.EqualValues(t, 1+2+2, b.Requests)

	p = program(t, `atom.global.add.u32 %r5, [%rd2], %r1;`)
	b, err = p.Sample(Launch{Groups: 3, Threads: 32, Args: args}, 1, 0)
	require.NoError(t, err)
	assert.Empty(t, b.Written)
	assert.EqualValues(t, 1, b.Requests)
	assert.EqualValues(t, 4, b.Writes)
}

// TestSampleLoads: loads are issued as early as possible, and recently read sectors are in the
// first-level cache.
func TestSampleLoads(t *testing.T) {
	load := `ld.global.u32 %r2, [%rd2+OFFSET]; add.s32 %r3, %r3, %r2; `
	at := func(offset int) string { return strings.ReplaceAll(load, "OFFSET", strconv.Itoa(offset)) }
	sample := func(body string) *Block {
		b, err := program(t, body).Sample(Launch{Groups: 3, Threads: 32, Args: [][]byte{Words(SampleSrc)[0], nil}}, 1, 0)
		require.NoError(t, err)
		return b
	}
	b := sample(`mov.u32 %r3, 0; ` + at(0) + at(4096) + at(8192) + at(0))
	assert.EqualValues(t, 12, b.Reads)
	assert.EqualValues(t, 3, b.Requests)
	assert.Less(t, b.Cycles, 1000.)
	assert.EqualValues(t, Waiting, b.Cycles-b.Cached)
	b = sample(`mov.u32 %r3, 0; ` + at(0) + `bra.uni $L; $L: ` + at(4096)) // not before a branch
	assert.EqualValues(t, 2*Waiting, b.Cycles-b.Cached)

	more := ""
	for i := range nearby / 4 {
		more += at(4096 * (i + 1))
	}
	b = sample(`mov.u32 %r3, 0; ` + at(0) + more + at(0)) // and sectors read long ago are not
	assert.EqualValues(t, nearby+8, b.Reads)
	assert.EqualValues(t, nearby+4, len(b.Read))
}
