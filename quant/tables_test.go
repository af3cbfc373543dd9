package quant

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestAdded: to every element of a field a number is added, as far as its bits go.
func TestAdded(t *testing.T) {
	for _, c := range []struct {
		by    int64
		f     field
		width int64
	}{{1, field{4, 0, 4}, 8}, {-1, field{4, 0, 4}, 8}, {1, field{2, 0, 2}, 8}, {8, field{4, 0, 4}, 4}, {128, field{8, 0, 8}, 8}, {-128, field{8, 4, 4}, 8}, {16, field{5, 4, 1}, 8}} {
		table, err := added(c.by, c.f, c.width)
		require.NoError(t, err)
		require.Len(t, table, 1<<c.width)
		for v := range int64(1) << c.width {
			for at := int64(0); at < c.width; at += c.f.bits {
				part := (v >> at) & (1<<c.f.bits - 1)
				sum := (part<<c.f.lo + c.by) >> c.f.lo & (1<<c.f.bits - 1)
				assert.Equal(t, sum, int64(table[v])>>at&(1<<c.f.bits-1), "%+v: %d", c, v)
			}
		}
	}
	for _, f := range []field{{4, 0, 4}, {8, 0, 4}, {5, 0, 4}} { // nothing, or of a part without the highest bit
		table, err := added(1<<(f.all-1)*min(1, f.all-f.bits)*1, f, 8)
		require.NoError(t, err)
		assert.Nil(t, table)
	}
	for _, c := range []struct {
		by    int64
		f     field
		width int64
	}{{1, field{8, 0, 4}, 8}, {8, field{4, 2, 2}, 1}} {
		_, err := added(c.by, c.f, c.width)
		require.ErrorIs(t, err, layout.ErrUnsupported)
	}
}

// TestTrits: TQ1_0 keeps five numbers below 3 in a byte, as the first digits of a fraction
// of 256.
func TestTrits(t *testing.T) {
	w, data := randomBlocks(t, "TQ1_0", 2, 512)
	want := make([]byte, 2*512)
	for i := range want {
		block, k := data["w.weight"][54*(i/256):], i%256
		at, digit := k%32, k/32
		switch {
		case k >= 240:
			at, digit = 48+(k-240)%4, (k-240)/4
		case k >= 160:
			at, digit = 32+(k-160)%16, (k-160)/16
		}
		fraction := block[at]
		for range digit {
			fraction *= 3
		}
		want[i] = byte(int(fraction) * 3 / 256)
	}
	p, err := w.plan(&Weight{Name: "w", Format: plain, Params: w.Params}, plainArrays(w))
	require.NoError(t, err)
	got := converted(t, tensor.Host(), p, data)["w"+plainArrays(w)[0].suffix]
	for i, x := range want {
		require.Equal(t, x, got[i/4]>>(2*(i%4))&3, i)
	}
}
