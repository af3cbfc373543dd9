package simd_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// linesRule is the expected result of a Cast for an element, by its place: elements of the
// given number of bytes become others, by a table.
type linesRule struct {
	from, to int
	table    *byte
	rule     func(x uint64, at int) uint64
}

// testLines compares a level's kernels of a family with their rules, from either end of guarded
// memory, to addresses of all kinds, through the caches and bypassing them.
func testLines(t *testing.T, family reflect.Value, rules map[string]linesRule, counts []int) {
	require.Equal(t, len(rules), family.NumField(), "a kernel without a test")
	for name, c := range rules {
		kernel := family.FieldByName(name).Interface().(simd.Cast)
		if kernel == nil {
			continue
		}
		for _, lines := range counts {
			n := lines * 64 / c.to
			for at := range 8 {
				for _, atEnd := range []bool{false, true} {
					past := at == 0
					src := fenced(t, max(n*c.from, 1), atEnd)
					c.fill(name, src)
					got, start := room(lines*64, 7*at, past)
					want := append([]byte{}, got...)
					for i := range n {
						var x, y [8]byte
						copy(x[:], src[i*c.from:][:c.from])
						binary.LittleEndian.PutUint64(y[:], c.rule(binary.LittleEndian.Uint64(x[:]), i))
						copy(want[start+i*c.to:], y[:c.to])
					}
					kernel(&got[start], &src[0], int64(lines), c.table, past)
					require.Equal(t, want, got, "%s: %d lines to byte %d, past the caches: %v", name, lines, start, past)
				}
			}
		}
	}
}

// fill turns src's noise into elements that the named kernel accepts: floats, some of which are
// ties, and codes below 16.
func (c linesRule) fill(name string, src []byte) {
	switch {
	case c.from == 4:
		n := len(src) / 4
		copy(src, floats(4*n))
		for i := 3; i+1 < n; i += 5 {
			binary.LittleEndian.PutUint32(src[4*i:], math.Float32bits(float32(i-n/2)/2))
		}
	case strings.HasPrefix(name, "LookUp") && !strings.Contains(name, "Packed"):
		for i := range src {
			src[i] &= 15
		}
	}
}
