package quant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHopperValues compares with the definition in two steps: where the byte of a pair of k
// goes, and which bits of four such bytes a word has.
func TestHopperValues(t *testing.T) {
	const experts, n, k = 2, 32, 128
	ext := extents{axisE: experts, axisN: n, axisK: k}
	a := hopperValues()
	dims, err := a.dims(ext)
	require.NoError(t, err)
	require.Equal(t, []int64{experts, n / 4, 2 * k}, dims)
	var places []place
	for _, s := range a.slots {
		places = append(places, s.place("x", ext))
	}
	// Bits of the lower half of a word, by value and bit.
	bitsOf := [4][4]int64{{6, 7, 8, 15}, {3, 4, 5, 12}, {0, 1, 2, 9}, {13, 10, 11, 14}}
	each(ext, func(index map[byte]int64) {
		row, col := index[axisN], index[axisK]/2
		at := index[axisE]
		for _, d := range [][2]int64{{row / 16, n / 16}, {row / 2 % 4, 4}, {col / 32, k / 64}, {row % 2, 2}, {col % 4, 4}, {col / 8 % 4, 4}} {
			at = at*d[1] + d[0]
		}
		value := col/4%2*2 + row/8%2
		for bit := range int64(4) {
			want := 32*at + 16*(index[axisK]%2) + bitsOf[value][bit]
			found := 0
			for _, p := range places {
				if bit < p.lo || bit >= p.lo+p.bits {
					continue
				}
				if got, ok := p.bitAt(index, bit); ok {
					require.Equal(t, want, got, "%v, bit %d", index, bit)
					found++
				}
			}
			require.Equal(t, 1, found, "%v, bit %d", index, bit)
		}
	})
}
