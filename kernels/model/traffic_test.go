package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/ptx"
)

const whole = 1<<32 - 1

// block has sectors by their numbers in src and dst.
func block(read []uint64, written map[uint64]ptx.Write) *ptx.Block {
	b := &ptx.Block{Read: map[uint64]struct{}{}, Written: map[uint64]ptx.Write{}}
	for _, s := range read {
		b.Read[ptx.SampleSrc/ptx.Sector+s] = struct{}{}
	}
	for s, w := range written {
		b.Written[ptx.SampleDst/ptx.Sector+s] = w
	}
	return b
}

func seen(t *testing.T, name string) *observer {
	c, err := oracle.ParseCase(name)
	require.NoError(t, err)
	o, err := observe(c)
	require.NoError(t, err)
	return o
}

// TestHalves: memory is read by 64 bytes, and neighbours find the other half in the cache.
func TestHalves(t *testing.T) {
	o := seen(t, "copy/uint8/1024/dst=1@0/src=1@0")
	assert.Equal(t, &traffic{distinct: 3, halves: 1}, o.traffic(block([]uint64{0, 1, 2}, nil), 4))
	assert.Equal(t, &traffic{distinct: 2, halves: 2}, o.traffic(block([]uint64{3, 4}, nil), 5))
	assert.EqualValues(t, 2, o.near)
	assert.Equal(t, &traffic{distinct: 1, halves: 1}, o.traffic(block([]uint64{5}, nil), 9))
	assert.EqualValues(t, 2, o.near) // it is not contiguous with the other one

	o = seen(t, "take/uint8/8x32/dst=32,1@0/src=0,1@0/at=1,0@0/int64/by=0:99:32/wrong=0")
	assert.Equal(t, &traffic{distinct: 3, lines: 2}, o.traffic(block([]uint64{0, 2, 5}, nil), 0))
	o = seen(t, "put/uint8/8x32/dst=0,1@0/src=32,1@0/at=1,0@0/int64/by=0:99:32/wrong=0/set/once")
	assert.Equal(t, &traffic{distinct: 1, lines: 2}, o.traffic(block([]uint64{0}, map[uint64]ptx.Write{3: {Bytes: whole}, 4: {Bytes: whole}}), 0))
	// Other rows of dst are others' bytes.
	assert.Equal(t, &traffic{lines: 1, broken: shared}, o.traffic(block(nil, map[uint64]ptx.Write{3: {Bytes: 1}}), 0))
}

// TestWritten: parts of sectors are merged with memory, or with other blocks' writes.
func TestWritten(t *testing.T) {
	o := seen(t, "copy/uint8/64x48/dst=64,1@0/src=48,1@0") // gaps of 16 bytes
	for _, c := range []struct {
		written map[uint64]ptx.Write
		want    traffic
	}{
		{map[uint64]ptx.Write{0: {Bytes: whole}, 1: {Bytes: 0xffff}}, traffic{merged: 1, broken: 1}},
		{map[uint64]ptx.Write{1: {Bytes: 0xffff}, 3: {Bytes: 0xffff}}, traffic{merged: 2}},
		{map[uint64]ptx.Write{0: {Bytes: 0xffff}, 1: {Bytes: 0xff}}, traffic{broken: 2 * shared}},
		{map[uint64]ptx.Write{0: {Bytes: whole, Late: true}, 2: {Bytes: whole}}, traffic{broken: 1}},
	} {
		assert.Equal(t, &c.want, o.traffic(block(nil, c.written), 0))
	}
	o = seen(t, "copy/uint4/64x24/dst=32,1@0/src=24,1@0") // elements of half a byte: gaps of 4 bytes
	assert.Equal(t, &traffic{merged: 1}, o.traffic(block(nil, map[uint64]ptx.Write{0: {Bytes: 0x0fff0fff}}), 0))
	assert.Equal(t, &traffic{broken: shared}, o.traffic(block(nil, map[uint64]ptx.Write{0: {Bytes: 0x0fff}}), 0))
}
