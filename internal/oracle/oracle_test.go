package oracle

import (
	"bytes"
	"slices"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func strided(t *testing.T, dims, strides []int64, offset int64) layout.Layout {
	t.Helper()
	l, err := layout.Strided(dims, strides, offset)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The expected bytes below are written by hand.

func TestCopyNibbles(t *testing.T) {
	// Source elements 1,2,3,4,5,6 as 2x3, from position 1; transposed.
	src := []byte{0x1f, 0x32, 0x54, 0xf6}
	dst := []byte{0xee, 0xee, 0xee, 0xee}
	Copy(dst, strided(t, []int64{3, 2}, []int64{2, 1}, 1), src, strided(t, []int64{3, 2}, []int64{1, 3}, 1), 4)
	if want := []byte{0x1e, 0x24, 0x35, 0xe6}; !bytes.Equal(dst, want) {
		t.Errorf("got %x, want %x", dst, want)
	}
}

func TestCopyCrumbs(t *testing.T) {
	// Elements 0,1,2,3 (bits low first) reversed, to every second position.
	src := []byte{0b11_10_01_00}
	dst := []byte{0xff, 0xff}
	Copy(dst, strided(t, []int64{4}, []int64{2}, 1), src, strided(t, []int64{4}, []int64{-1}, 3), 2)
	if want := []byte{0b10_11_11_11, 0b00_11_01_11}; !bytes.Equal(dst, want) {
		t.Errorf("got %08b, want %08b", dst, want)
	}
}

func TestCopyWords(t *testing.T) {
	src := []byte{1, 2, 3, 4, 5, 6}
	dst := []byte{9, 9, 9, 9, 9, 9, 9, 9}
	Copy(dst, strided(t, []int64{2, 2}, []int64{2, 1}, 0), src, strided(t, []int64{2, 2}, []int64{0, -1}, 2), 16)
	if want := []byte{5, 6, 3, 4, 5, 6, 3, 4}; !bytes.Equal(dst, want) {
		t.Errorf("got %x, want %x", dst, want)
	}
}

func TestScalarAndEmpty(t *testing.T) {
	dst := []byte{0}
	var scalar layout.Layout
	Copy(dst, scalar, []byte{7}, scalar, 8)
	empty := strided(t, []int64{3, 0, 2}, []int64{1, 1, 1}, 0)
	Copy(dst, empty, nil, empty, 8)
	if dst[0] != 7 {
		t.Errorf("got %d, want 7", dst[0])
	}
}

func TestFillKeepsNeighbours(t *testing.T) {
	dst := []byte{0x00, 0xff}
	Fill(dst, strided(t, []int64{2}, []int64{1}, 1), []byte{0xa5}, 4)
	if want := []byte{0x50, 0xf5}; !bytes.Equal(dst, want) {
		t.Errorf("got %x, want %x", dst, want)
	}
	wide := make([]byte, 8)
	Fill(wide, strided(t, []int64{1}, []int64{1}, 1), []byte{1, 2, 3, 4}, 32)
	if want := []byte{0, 0, 0, 0, 1, 2, 3, 4}; !bytes.Equal(wide, want) {
		t.Errorf("got %x, want %x", wide, want)
	}
}

func TestConvert(t *testing.T) {
	four := strided(t, []int64{4}, []int64{1}, 0)
	for _, c := range []struct {
		from, to  layout.DType
		src, want []byte
	}{
		{layout.Int4, layout.Int8, []byte{0x87, 0xf1}, []byte{7, 0xf8, 1, 0xff}},
		{layout.Uint4, layout.Uint8, []byte{0x87, 0xf1}, []byte{7, 8, 1, 15}},
		{layout.Int2, layout.Int8, []byte{0b11_10_01_00}, []byte{0, 1, 0xfe, 0xff}},
		{layout.Uint2, layout.Uint8, []byte{0b11_10_01_00}, []byte{0, 1, 2, 3}},
		{layout.Int8, layout.Int4, []byte{7, 0xf8, 8, 0x7f}, []byte{0x87, 0xf8}},
		{layout.Uint8, layout.Uint4, []byte{16, 255, 3, 0x21}, []byte{0xf0, 0x13}},
		{layout.Int8, layout.Int2, []byte{0, 1, 0xfe, 5}, []byte{0b01_10_01_00}},
		{layout.Uint8, layout.Uint2, []byte{4, 5, 6, 7}, []byte{0b11_10_01_00}},
	} {
		dst := make([]byte, len(c.want))
		Convert(dst, four, c.to, c.src, four, c.from, device.Rounding{})
		if !bytes.Equal(dst, c.want) {
			t.Errorf("%v to %v: got %x, want %x", c.from, c.to, dst, c.want)
		}
	}
}

func TestStrings(t *testing.T) {
	dst := []string{"", "keep", "", "keep", ""}
	CopyStrings(dst, strided(t, []int64{3}, []int64{2}, 0), []string{"a", "b", "c"}, strided(t, []int64{3}, []int64{-1}, 2))
	if want := []string{"c", "keep", "b", "keep", "a"}; !slices.Equal(dst, want) {
		t.Errorf("got %q, want %q", dst, want)
	}
	FillStrings(dst, strided(t, []int64{2}, []int64{1}, 3), "x")
	if want := []string{"c", "keep", "b", "x", "x"}; !slices.Equal(dst, want) {
		t.Errorf("got %q, want %q", dst, want)
	}
}
