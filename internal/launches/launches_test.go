package launches

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
)

// TestBytes: bytes read besides dst's, and the reach of indices.
func TestBytes(t *testing.T) {
	for name, want := range map[string]struct{ fetched, written, reach int64 }{
		"copy/uint8/64x64/dst=64,1@0/src=1,64@0":                                              {4096, 4096, 0},
		"copy/float/4096/dst=2@0/src=1@0":                                                     {1 << 14, 1 << 15, 0},
		"fill/float/64x60/dst=64,1@0":                                                         {0, 64 * 256, 0},
		"take/float/1024x64/dst=64,1@0/src=0,1@0/at=1,0@0/int64/by=0:4096:64/wrong=0":         {1<<18 + 1<<13, 1 << 18, 1 << 20},
		"put/float/1024x64/dst=0,1@0/src=64,1@0/at=1,0@0/int64/by=0:4096:64/wrong=0/set/once": {1<<18 + 1<<13, 1 << 18, 1 << 20},
		"dequantize/int8-float/64x1024/dst=1024,1@0/src=1024,1@0/scale=float:1,0@0":           {1<<16 + 256, 1 << 18, 0},
	} {
		o, err := oracle.ParseCase(name)
		require.NoError(t, err)
		l, err := Of(o, planner.Target{Multiprocessors: 132, Capability: 90})
		require.NoError(t, err)
		assert.Equal(t, want.fetched, l.Fetched, name)
		assert.Equal(t, want.written, l.Written, name)
		assert.Equal(t, want.reach, l.Reach, name)
		assert.GreaterOrEqual(t, l.Read, l.Fetched, name)
	}
}
