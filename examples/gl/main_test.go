//go:build gogl

package main

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/gl/headless"
)

// The host computes the other pictures from GL's frame, byte for byte.
func TestPictures(t *testing.T) {
	c, err := headless.New()
	devicetest.Require(t, "gl", err)
	require.NoError(t, c.Close())
	for _, name := range []string{"cpu", "opencl:0", "opencl:1", "cuda:0"} {
		t.Run(name, func(t *testing.T) {
			dev, err := device.Open(name)
			if err != nil {
				t.Skip(err)
			}
			require.NoError(t, dev.Close())
			const width, height = 131, 75
			out := t.TempDir()
			require.NoError(t, run(options{device: name, out: out, width: width, height: height, frames: 2}), name)
			frame := picture(t, filepath.Join(out, "frame.png"))
			require.Equal(t, image.Rect(0, 0, width, height), frame.Rect)
			planes, result := image.NewNRGBA(image.Rect(0, 0, width, 3*height)), image.NewNRGBA(frame.Rect)
			for y := range height {
				for x := range width {
					pixel := frame.NRGBAAt(x, y)
					r, g, b := thereAndBack(pixel.R, 0), thereAndBack(pixel.G, 1), thereAndBack(pixel.B, 2)
					for c, v := range []byte{r, g, b} {
						planes.Set(x, c*height+y, color.Gray{Y: v})
					}
					result.Set(width-1-x, y, color.NRGBA{R: r, G: g, B: b, A: 255})
				}
			}
			assert.Equal(t, planes.Pix, picture(t, filepath.Join(out, "planes.png")).Pix, name)
			assert.Equal(t, result.Pix, picture(t, filepath.Join(out, "result.png")).Pix, name)
			assert.NotEqual(t, frame.Pix, result.Pix)
		})
	}
}

// thereAndBack is a colour converted to float16, normalised, and back, in floats of 32 bits
// whose steps are rounded one by one.
func thereAndBack(v byte, c int) byte {
	x := half(float32(float32(v)*(1/(255*sigma[c]))) + -mean[c]/sigma[c])
	y := float32(x*(255*sigma[c])) + 255*mean[c]
	return byte(max(0, min(255, math.RoundToEven(float64(y)))))
}

// half is the float16 nearest to a number within its range.
func half(x float32) float32 {
	_, exponent := math.Frexp(float64(x))
	unit := math.Ldexp(1, max(exponent-11, -24))
	return float32(math.RoundToEven(float64(x)/unit) * unit)
}

func picture(t *testing.T, path string) *image.NRGBA {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	decoded, err := png.Decode(f)
	require.NoError(t, err)
	p := image.NewNRGBA(decoded.Bounds())
	draw.Draw(p, p.Rect, decoded, image.Point{}, draw.Src)
	return p
}

// Invalid options are errors.
func TestOptions(t *testing.T) {
	for _, o := range []options{{device: "cpu", width: 0, height: 1, frames: 1}, {device: "cpu", width: 1, height: 1, frames: -1}} {
		require.Error(t, run(o))
	}
}
