package onnx

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

func init() {
	plain := definition{inputs: arity{1, 1}, attrs: []string{"blocksize"}}
	toSpace, toDepth := plain, plain
	toSpace.prepare = prepareBlocks(depthToSpace)
	toDepth.prepare = prepareBlocks(spaceToDepth)
	byMode, toDepthByMode := toSpace, toDepth
	byMode.attrs = []string{"blocksize", "mode"}
	toDepthByMode.attrs = byMode.attrs
	register("DepthToSpace",
		toSpace.versions(change{1, types5}), byMode.versions(change{11, types5}, change{13, types13}, change{28, types13}))
	register("SpaceToDepth", toDepth.versions(change{1, types5}, change{13, types13}), toDepthByMode.versions(change{28, types13}))
}

// rearrange describes an operator on [N,C,H,W]: the extents to split the input into, the
// permutation of these axes, and the result's extents.
type rearrange func(d *definition, in [4]int64, b int64, crd bool) (split [6]int64, perm [6]int, out [4]int64, err error)

func prepareBlocks(apply rearrange) func(*definition, Attrs) (kernel, error) {
	return func(d *definition, attrs Attrs) (kernel, error) {
		b, given, err := attrs.Int("blocksize")
		if err != nil {
			return nil, err
		}
		if !given {
			return nil, d.invalid("attribute blocksize is missing")
		}
		if b <= 0 {
			return nil, d.invalid("blocksize is %d; it must be positive", b)
		}
		if b > 1<<31-1 { // so that its square fits in 64 bits
			return nil, layout.Errorf(device.ErrUnsupported, d.name, "blocksize is %d; the largest supported is %d", b, 1<<31-1)
		}
		mode, err := attrs.StrOr("mode", "DCR")
		if err != nil {
			return nil, err
		}
		if mode != "DCR" && mode != "CRD" {
			return nil, d.invalid("mode is %s; it must be DCR or CRD", quote.Name(mode))
		}
		return func(c *call) error {
			x := c.x.Layout()
			if x.Rank() != 4 {
				return d.invalid("the input has %d axes; it must have 4: N, C, H, W", x.Rank())
			}
			split, perm, out, err := apply(d, [4]int64{x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)}, b, mode == "CRD")
			if err != nil {
				return err
			}
			l, err := x.Reshape(split[:]...) // splitting axes never needs a copy
			if err == nil {
				l, err = l.Permute(perm[:]...)
			}
			if err != nil {
				return err
			}
			return c.rearranged(l, out[:]...)
		}, nil
	}
}

// depthToSpace moves channels into b by b blocks of pixels: [N,C,H,W] becomes
// [N,C/(b*b),H*b,W*b]. The channels of a block are C/(b*b) apart or, with crd, adjacent.
func depthToSpace(d *definition, in [4]int64, b int64, crd bool) (split [6]int64, perm [6]int, out [4]int64, err error) {
	n, c, h, w := in[0], in[1], in[2], in[3]
	if c%(b*b) != 0 {
		return split, perm, out, d.invalid("%d channels, axis 1, are no multiple of %d, the square of blocksize %d", c, b*b, b)
	}
	if h > (1<<63-1)/b || w > (1<<63-1)/b {
		return split, perm, out, d.invalid("the extents of axes 2 and 3, times blocksize %d, overflow int64", b)
	}
	split, perm = [6]int64{n, b, b, c / (b * b), h, w}, [6]int{0, 3, 4, 1, 5, 2}
	if crd {
		split, perm = [6]int64{n, c / (b * b), b, b, h, w}, [6]int{0, 1, 4, 2, 5, 3}
	}
	return split, perm, [4]int64{n, c / (b * b), h * b, w * b}, nil
}

// spaceToDepth is the inverse of depthToSpace.
func spaceToDepth(d *definition, in [4]int64, b int64, crd bool) (split [6]int64, perm [6]int, out [4]int64, err error) {
	n, c, h, w := in[0], in[1], in[2], in[3]
	for i, extent := range in[2:] {
		if extent%b != 0 {
			return split, perm, out, d.invalid("extent %d of axis %d is no multiple of blocksize %d", extent, i+2, b)
		}
	}
	if c > (1<<63-1)/(b*b) {
		return split, perm, out, d.invalid("%d channels, axis 1, times %d, the square of blocksize %d, overflow int64", c, b*b, b)
	}
	split, perm = [6]int64{n, c, h / b, b, w / b, b}, [6]int{0, 3, 5, 1, 2, 4}
	if crd {
		perm = [6]int{0, 1, 3, 5, 2, 4}
	}
	return split, perm, [4]int64{n, c * b * b, h / b, w / b}, nil
}
