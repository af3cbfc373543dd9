package tensor

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// QuantizeBlocks quantises blocks of size elements along the last axis (the last block of a row
// may be shorter) and computes their scales. Codes are Uint4 (ggml's Q4_0), Int8 (Q8_0) or
// Float4E2M1 (MXFP4); scales are Float16, BFloat16 or Float32, or for Float4E2M1 Float8E8M0.
// device.Quantization has the formulas. t has floats of up to 32 bits. A tensor [N, K] gives
// codes [N, K] and scales [N, ceil(K/size)], both contiguous.
func (t *Tensor) QuantizeBlocks(to, scale layout.DType, size int64) (codes, scales *Tensor, err error) {
	const op = "QuantizeBlocks"
	if t == nil {
		return nil, nil, nilTensor(op)
	}
	if err := t.hold(op); err != nil {
		return nil, nil, err
	}
	defer t.memory.drop()
	shape := t.layout.Shape()
	if len(shape) == 0 || size < 1 {
		return nil, nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "blocks of %d elements along the last axis of %v; an axis is wanted, and a size from 1 on", size, shape))
	}
	if to != layout.Uint4 && to != layout.Int8 && to != layout.Float4E2M1 || !scale.Valid() || scale == layout.String {
		return nil, nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "codes of type %v with scales of type %v; uint4, int8 and float4e2m1 have such", to, scale))
	}
	of, err := Blocks{Axis: -1, Size: size}.of(op, shape)
	if err != nil {
		return nil, nil, t.fail(op, err)
	}
	if codes, err = allocate(t.stream, op, to, shape); err != nil {
		return nil, nil, err
	}
	if scales, err = allocate(t.stream, op, scale, of.shape); err == nil {
		err = t.quantizeBlocks(codes, scales, of)
	}
	if err != nil {
		return nil, nil, errors.Join(t.fail(op, err), codes.Release(), scales.Release())
	}
	codes.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(to, codes.Count()) + bytesOf(scale, scales.Count()), Class: "scale"}}, t)
	return codes.publish(), scales.publish(), nil
}

// quantizeBlocks calls the queue for the blocks of full size, and for the shorter ones at the
// end.
func (t *Tensor) quantizeBlocks(codes, scales *Tensor, of blocked) error {
	for _, p := range of.parts {
		dst, src, by := codes.Operand(), t.Operand(), scales.Operand()
		if err := errors.Join(of.elements(&dst, p), of.elements(&src, p), of.terms(&by, p)); err != nil {
			return err
		}
		if err := t.stream.queue.Quantize(dst, src, device.Quantization{Scale: by, FindScale: true}); err != nil {
			return err
		}
	}
	return nil
}
