//go:build gogl

package main

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/gl"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// The means and standard deviations of ImageNet's colours.
var (
	mean  = [3]float32{0.485, 0.456, 0.406}
	sigma = [3]float32{0.229, 0.224, 0.225}
)

// pipeline converts frames to planes, and planes to frames.
type pipeline struct {
	stream             *tensor.Stream
	from, to           *gl.Buffer // uint8 [height,width,4], GL's pixels
	upright, mirrored  layout.Layout
	normalise, restore tensor.Scaling
	toBytes            tensor.Quantization
	constants          *tensor.Scope
	planes             *tensor.Tensor // of the last frame: uint8 [1,3,height,width]
}

func newPipeline(s *tensor.Stream, in *gl.Interop, width, height int) (p *pipeline, err error) {
	p = &pipeline{stream: s, constants: tensor.NewScope(s)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	h, w := int64(height), int64(width)
	if p.from, err = in.NewBuffer(device.GLRead, layout.Uint8, h, w, 4); err != nil {
		return nil, err
	}
	if p.to, err = in.NewBuffer(device.GLWrite, layout.Uint8, h, w, 4); err != nil {
		return nil, err
	}
	// Pixels as planes of three colours: views. GL's first row is the lowest.
	shape := []int64{1, 3, h, w}
	if p.upright, err = layout.Strided(shape, []int64{0, 1, -4 * w, 4}, 4*w*(h-1)); err != nil {
		return nil, err
	}
	if p.mirrored, err = layout.Strided(shape, []int64{0, 1, -4 * w, -4}, 4*w*(h-1)+4*(w-1)); err != nil {
		return nil, err
	}
	return p, p.makeConstants()
}

// makeConstants uploads the factors and offsets of pixels: (pixel/255 - mean) / sigma = pixel *
// 1/(255 sigma) - mean/sigma.
func (p *pipeline) makeConstants() error {
	var scale, add, back, behind [3]float32
	for i := range mean {
		scale[i], add[i] = 1/(255*sigma[i]), -mean[i]/sigma[i]
		back[i], behind[i] = 255*sigma[i], 255*mean[i]
	}
	var errs []error
	constant := func(x []float32, dims ...int64) *tensor.Tensor {
		t, err := tensor.FromSlice(p.stream, x, dims...)
		errs = append(errs, err)
		return t
	}
	p.normalise = tensor.Scaling{Scale: constant(scale[:], 1, 3, 1, 1), Add: constant(add[:], 1, 3, 1, 1)}
	p.restore = tensor.Scaling{Scale: constant(back[:], 1, 3, 1, 1), Add: constant(behind[:], 1, 3, 1, 1)}
	p.toBytes = tensor.Quantization{Scale: constant([]float32{1}, 1)}
	return errors.Join(errs...)
}

// step converts one texture to planes of float16, and these, mirrored, to the other texture.
func (p *pipeline) step(frame, result *canvas) error {
	scope := tensor.NewScope(p.stream)
	defer scope.Close()
	if err := p.from.FromTexture(frame.texture, 0); err != nil {
		return err
	}
	input, err := p.input()
	if err != nil {
		return err
	}
	// Here a model would come.
	if err := p.output(input); err != nil {
		return err
	}
	return p.to.ToTexture(result.texture, 0)
}

// input returns normalised planes of the pixels, by one kernel.
func (p *pipeline) input() (planes *tensor.Tensor, err error) {
	pixels, err := p.from.Acquire()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.from.Release()) }()
	colours, err := pixels.WithLayout("planes", p.upright)
	if err != nil {
		return nil, err
	}
	return colours.Dequantize(layout.Float16, p.normalise)
}

// output converts planes to pixels.
func (p *pipeline) output(planes *tensor.Tensor) (err error) {
	colours, err := planes.Dequantize(layout.Float32, p.restore)
	if err != nil {
		return err
	}
	bytes, err := colours.Quantize(layout.Uint8, p.toBytes)
	if err != nil {
		return err
	}
	if err := errors.Join(tensor.Keep(bytes), p.planes.Release(), p.setPixels(bytes)); err != nil {
		return err
	}
	p.planes = bytes
	return nil
}

// setPixels writes planes to the buffer that goes to the texture, mirrored and opaque.
func (p *pipeline) setPixels(planes *tensor.Tensor) (err error) {
	pixels, err := p.to.Acquire()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.to.Release()) }()
	colours, err := pixels.WithLayout("mirrored", p.mirrored)
	if err != nil {
		return err
	}
	alpha, err := pixels.Slice(2, 3, 4, 1)
	if err != nil {
		return err
	}
	return errors.Join(colours.CopyFrom(planes), p.stream.Queue().Fill(alpha.Operand(), []byte{255}))
}

func (p *pipeline) close() error {
	errs := []error{p.planes.Release(), p.constants.Close()}
	for _, b := range []*gl.Buffer{p.from, p.to} {
		if b != nil {
			errs = append(errs, b.Close())
		}
	}
	return errors.Join(errs...)
}
