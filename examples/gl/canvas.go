//go:build gogl

package main

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/tensor"
)

// canvas is a texture of RGBA8 that GL draws on.
type canvas struct {
	texture, framebuffer uint32
	width, height        int
}

// newCanvas makes one, which lives as long as the context.
func newCanvas(width, height int) (*canvas, error) {
	c := &canvas{width: width, height: height}
	gl.GenTextures(1, &c.texture)
	gl.BindTexture(gl.TEXTURE_2D, c.texture)
	gl.TexStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, int32(width), int32(height))
	gl.GenFramebuffers(1, &c.framebuffer)
	gl.BindFramebuffer(gl.FRAMEBUFFER, c.framebuffer)
	gl.FramebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, c.texture, 0)
	if status := gl.CheckFramebufferStatus(gl.FRAMEBUFFER); status != gl.FRAMEBUFFER_COMPLETE {
		return nil, fmt.Errorf("a texture of %dx%d: GL's error %#x, status %#x", width, height, gl.GetError(), status)
	}
	return c, nil
}

// draw draws a frame: tiles, and a square that moves over them.
func (c *canvas) draw(frame int) {
	const columns, rows = 16, 9
	gl.BindFramebuffer(gl.FRAMEBUFFER, c.framebuffer)
	gl.Enable(gl.SCISSOR_TEST)
	paint := func(x0, y0, x1, y1 int, r, g, b float32) {
		gl.Scissor(int32(x0), int32(y0), int32(x1-x0), int32(y1-y0))
		gl.ClearColor(r, g, b, 1)
		gl.Clear(gl.COLOR_BUFFER_BIT)
	}
	for i := range columns {
		for j := range rows {
			paint(i*c.width/columns, j*c.height/rows, (i+1)*c.width/columns, (j+1)*c.height/rows,
				float32(i)/(columns-1), float32(j)/(rows-1), 1-float32(i+j)/(columns+rows-2))
		}
	}
	side := min(c.width, c.height) / 4
	at := side / 2 * frame % (c.width - side + 1)
	paint(at, c.height-3*side/2, at+side, c.height-side/2, 1, 0.9, 0.1)
	gl.Disable(gl.SCISSOR_TEST)
}

// save writes the canvas as a picture, whose first row is the top.
func (c *canvas) save(path string) error {
	picture := image.NewNRGBA(image.Rect(0, 0, c.width, c.height))
	pixels := make([]byte, len(picture.Pix))
	gl.BindTexture(gl.TEXTURE_2D, c.texture)
	gl.GetTexImage(gl.TEXTURE_2D, 0, gl.RGBA, gl.UNSIGNED_BYTE, unsafe.Pointer(&pixels[0]))
	for y := range c.height {
		copy(picture.Pix[y*picture.Stride:][:4*c.width], pixels[(c.height-1-y)*4*c.width:])
	}
	return savePicture(path, picture)
}

// savePlanes writes planes, uint8 [1,3,height,width], as one picture in grey: one below the
// other.
func savePlanes(path string, planes *tensor.Tensor) error {
	height, width := int(planes.Dim(1)*planes.Dim(2)), int(planes.Dim(3))
	picture := image.NewGray(image.Rect(0, 0, width, height))
	if err := planes.ReadInto(picture.Pix); err != nil {
		return err
	}
	return savePicture(path, picture)
}

func savePicture(path string, picture image.Image) (err error) {
	f, err := file.Create(path, os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	return errors.Join(png.Encode(w, picture), w.Flush())
}
