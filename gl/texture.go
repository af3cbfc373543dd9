//go:build gogl

package gl

import (
	"math"

	"github.com/go-gl/gl/v4.3-core/gl"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

// FromTexture copies a level of a two-dimensional texture to the buffer, on GL's side: without
// a wait, and without the host. The buffer has the shape [height, width, channels], or [height,
// width] for one channel, and the type of the texture's channels: RGBA8 and SRGB8_ALPHA8 are
// uint8 [h,w,4], RG16F is float16 [h,w,2], R32I is int32 [h,w]. A pixel's channels are
// contiguous, and so are the pixels of a row; rows may have gaps between them. The first row is
// GL's: the bottom row of a rendered picture. Signed normalised, packed, compressed and depth
// formats are ErrUnsupported.
func (b *Buffer) FromTexture(texture uint32, level int) error {
	return b.transfer("FromTexture", texture, level, func(p *pixels) {
		packing.bound(b.name, p.row, func() {
			gl.GetTexImage(gl.TEXTURE_2D, int32(level), p.format, p.kind, dl.Pointer(p.offset))
		})
	})
}

// ToTexture copies the buffer to a level of a texture: the opposite of FromTexture. The texture
// must have storage.
func (b *Buffer) ToTexture(texture uint32, level int) error {
	return b.transfer("ToTexture", texture, level, func(p *pixels) {
		unpacking.bound(b.name, p.row, func() {
			gl.TexSubImage2D(gl.TEXTURE_2D, int32(level), 0, 0, p.width, p.height, p.format, p.kind, dl.Pointer(p.offset))
		})
	})
}

// transfer calls f with a texture bound, if the buffer belongs to GL and its elements match the
// texture's.
func (b *Buffer) transfer(op string, texture uint32, level int, f func(*pixels)) error {
	if b == nil {
		return layout.Errorf(device.ErrInvalid, op, "the buffer is nil")
	}
	return b.in.do(op, func() error {
		if err := b.idle(op); err != nil {
			return err
		}
		if _, err := b.in.factsOf(op, b.name); err != nil {
			return err
		}
		if texture == 0 || !gl.IsTexture(texture) {
			return layout.Errorf(device.ErrInvalid, op, "GL has no texture %d: it was deleted, or never bound", texture)
		}
		var old int32
		gl.GetIntegerv(gl.TEXTURE_BINDING_2D, &old)
		gl.BindTexture(gl.TEXTURE_2D, texture)
		defer gl.BindTexture(gl.TEXTURE_2D, uint32(old))
		if taken() != nil {
			return layout.Errorf(device.ErrUnsupported, op, "texture %d is no two-dimensional one", texture)
		}
		p, err := b.pixels(op, texture, level)
		if err != nil {
			return err
		}
		gl.MemoryBarrier(gl.PIXEL_BUFFER_BARRIER_BIT | gl.TEXTURE_UPDATE_BARRIER_BIT)
		f(p)
		return failed(op)
	})
}

// pixels is GL's access to the elements of a buffer.
type pixels struct {
	width, height int32
	row           int32   // the pixels from row to row
	offset        uintptr // in bytes
	format, kind  uint32
}

// pixels checks that the buffer's elements match those of a level of the bound texture.
func (b *Buffer) pixels(op string, texture uint32, level int) (*pixels, error) {
	f, err := formatOf(op, texture, level)
	if err != nil {
		return nil, err
	}
	l := &b.layout
	h, w := int64(f.height), int64(f.width)
	if b.dtype != f.dtype || !l.HasShape(h, w, f.channels) && !(f.channels == 1 && l.HasShape(h, w)) {
		return nil, layout.Errorf(device.ErrInvalid, op, "the buffer is %v%v; level %d of texture %d takes %v[%d,%d,%d]", b.dtype, l.Shape(), level, texture, f.dtype, h, w, f.channels)
	}
	row, ok := rowLength(l, f.channels)
	if !ok {
		return nil, layout.Errorf(device.ErrInvalid, op, "the buffer's layout is %v: a row's channels and pixels lie one behind the other, and rows do not overlap", l)
	}
	offset := uintptr(l.Offset()) * uintptr(b.dtype.Bits()) / 8
	return &pixels{width: f.width, height: f.height, row: row, offset: offset, format: f.format, kind: f.kind}, nil
}

// rowLength returns the number of pixels from row to row of a layout [height, width] or
// [height, width, channels]. It returns false if GL does not support the layout.
func rowLength(l *layout.Layout, channels int64) (int32, bool) {
	if l.Rank() == 3 && channels > 1 && l.Stride(2) != 1 || l.Dim(1) > 1 && l.Stride(1) != channels {
		return 0, false
	}
	pixels := l.Dim(1)
	if l.Dim(0) > 1 {
		if l.Stride(0)%channels != 0 || l.Stride(0) < pixels*channels {
			return 0, false
		}
		pixels = l.Stride(0) / channels
	}
	return int32(pixels), pixels <= math.MaxInt32
}

// textureFormat is GL's description of a level of a texture.
type textureFormat struct {
	width, height int32
	channels      int64
	dtype         layout.DType
	format, kind  uint32 // GL's names of them
}

// formatOf queries GL about a level of the bound texture.
func formatOf(op string, texture uint32, level int) (textureFormat, error) {
	var f textureFormat
	if level < 0 || level > maxLevel {
		return f, layout.Errorf(device.ErrInvalid, op, "level %d", level)
	}
	ask := func(key uint32) (value int32) {
		gl.GetTexLevelParameteriv(gl.TEXTURE_2D, int32(level), key, &value)
		return value
	}
	f.width, f.height = ask(gl.TEXTURE_WIDTH), ask(gl.TEXTURE_HEIGHT)
	if f.width == 0 || f.height == 0 {
		return f, layout.Errorf(device.ErrInvalid, op, "texture %d has no level %d", texture, level)
	}
	bits, kind := ask(gl.TEXTURE_RED_SIZE), ask(gl.TEXTURE_RED_TYPE)
	same := true
	for _, key := range []uint32{gl.TEXTURE_RED_SIZE, gl.TEXTURE_GREEN_SIZE, gl.TEXTURE_BLUE_SIZE, gl.TEXTURE_ALPHA_SIZE} {
		if size := ask(key); size != 0 {
			f.channels++
			same = same && size == bits
		}
	}
	e, ok := elements[channel{kind, bits}]
	if !ok || !same || bits == 0 || ask(gl.TEXTURE_COMPRESSED) != gl.FALSE {
		return f, layout.Errorf(device.ErrUnsupported, op, "texture %d has the internal format %#x, whose pixels are no elements of one type", texture, ask(gl.TEXTURE_INTERNAL_FORMAT))
	}
	f.dtype, f.kind = e.dtype, e.kind
	if f.format = formats[f.channels-1]; kind == gl.INT || kind == gl.UNSIGNED_INT {
		f.format = integerFormats[f.channels-1]
	}
	return f, failed("glGetTexLevelParameteriv")
}

// maxLevel exceeds the levels of any texture.
const maxLevel = 30

// The formats of one to four channels.
var (
	formats        = [4]uint32{gl.RED, gl.RG, gl.RGB, gl.RGBA}
	integerFormats = [4]uint32{gl.RED_INTEGER, gl.RG_INTEGER, gl.RGB_INTEGER, gl.RGBA_INTEGER}
)

// channel is GL's description of one of a texture's channels.
type channel struct{ kind, bits int32 }

// element is a channel in memory.
type element struct {
	dtype layout.DType
	kind  uint32 // GL's name of the type
}

// elements are the types that GL moves unchanged.
var elements = map[channel]element{
	{gl.UNSIGNED_NORMALIZED, 8}:  {layout.Uint8, gl.UNSIGNED_BYTE},
	{gl.UNSIGNED_NORMALIZED, 16}: {layout.Uint16, gl.UNSIGNED_SHORT},
	{gl.UNSIGNED_INT, 8}:         {layout.Uint8, gl.UNSIGNED_BYTE},
	{gl.UNSIGNED_INT, 16}:        {layout.Uint16, gl.UNSIGNED_SHORT},
	{gl.UNSIGNED_INT, 32}:        {layout.Uint32, gl.UNSIGNED_INT},
	{gl.INT, 8}:                  {layout.Int8, gl.BYTE},
	{gl.INT, 16}:                 {layout.Int16, gl.SHORT},
	{gl.INT, 32}:                 {layout.Int32, gl.INT},
	{gl.FLOAT, 16}:               {layout.Float16, gl.HALF_FLOAT},
	{gl.FLOAT, 32}:               {layout.Float32, gl.FLOAT},
}

// storage is a direction of GL's transfers of pixels: a binding, and modes.
type storage struct {
	target    uint32
	rowLength uint32
	alignment uint32
	others    []uint32 // modes that are to be 0
}

var (
	packing = storage{gl.PIXEL_PACK_BUFFER, gl.PACK_ROW_LENGTH, gl.PACK_ALIGNMENT,
		[]uint32{gl.PACK_SWAP_BYTES, gl.PACK_LSB_FIRST, gl.PACK_IMAGE_HEIGHT, gl.PACK_SKIP_ROWS, gl.PACK_SKIP_PIXELS, gl.PACK_SKIP_IMAGES}}
	unpacking = storage{gl.PIXEL_UNPACK_BUFFER, gl.UNPACK_ROW_LENGTH, gl.UNPACK_ALIGNMENT,
		[]uint32{gl.UNPACK_SWAP_BYTES, gl.UNPACK_LSB_FIRST, gl.UNPACK_IMAGE_HEIGHT, gl.UNPACK_SKIP_ROWS, gl.UNPACK_SKIP_PIXELS, gl.UNPACK_SKIP_IMAGES}}
)

// bound calls f with a buffer bound and a number of pixels from row to row, and restores the
// program's settings.
func (s *storage) bound(name uint32, row int32, f func()) {
	set := func(mode uint32, value int32) (undo func()) {
		var old int32
		gl.GetIntegerv(mode, &old)
		gl.PixelStorei(mode, value)
		return func() { gl.PixelStorei(mode, old) }
	}
	defer set(s.rowLength, row)()
	defer set(s.alignment, 1)()
	for _, mode := range s.others {
		defer set(mode, 0)()
	}
	bound(s.target, name, f)
}
