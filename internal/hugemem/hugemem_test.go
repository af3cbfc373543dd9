package hugemem

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMap(t *testing.T) {
	for _, size := range []int64{1, Page - 1, Page, Page + 1, 5*Page + 4096} {
		b, err := Map(size)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		require.NoError(t, err)
		require.Len(t, b.Bytes, int(size))
		assert.Zero(t, uintptr(unsafe.Pointer(&b.Bytes[0]))%Page)
		assert.Zero(t, b.Bytes[0]|b.Bytes[size-1])
		b.Bytes[0], b.Bytes[size-1] = 1, 1
		require.NoError(t, b.Free())
	}
	require.NoError(t, Block{}.Free())
	_, err := Map(1 << 60)
	require.Error(t, err)
}
