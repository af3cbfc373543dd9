package graphs

import (
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/fraction"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

func growPad(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	modes := []string{"constant", "edge", "reflect"}
	if b.opset >= 19 {
		modes = append(modes, "wrap")
	}
	mode := modes[b.rng.IntN(len(modes))]
	if mode != "constant" && len(v.Elems) == 0 {
		return false
	}
	pads := make([]int64, 2*rank)
	var padded []int // axes
	for i, d := range v.Dims {
		if b.opset >= 18 && b.rng.IntN(3) == 0 {
			continue
		}
		padded = append(padded, i)
		pads[i], pads[rank+i] = b.rng.Int64N(4), b.rng.Int64N(4)
		if b.opset >= 2 && b.rng.IntN(3) == 0 { // some are removed
			least := -d
			if mode != "constant" {
				least++
			}
			pads[i] = -b.rng.Int64N(1 - least)
			pads[rank+i] = max(pads[rank+i], 0)
		}
	}
	size := int64(1)
	for i, d := range v.Dims {
		size *= d + pads[i] + pads[rank+i]
	}
	if size > most {
		return false
	}
	attrs := []model.Attr{{Name: "mode", Value: mode}}
	fill := ndarray.Zero(v.Type)
	if b.opset < 11 {
		if mode == "constant" && b.rng.IntN(2) == 0 {
			value := float32(b.rng.IntN(9)-4) / 2
			attrs = append(attrs, model.Attr{Name: "value", Value: value})
			fill = bits(v.Type, new(big.Rat).SetFloat64(float64(value)))
		}
		name := "pads"
		if b.opset < 2 {
			name = "paddings"
		}
		return b.add("Pad", v.of(v.Padded(mode, pads, fill)), []string{from}, append(attrs, onnx.Ints(name, pads...))...)
	}
	listed := pads
	in := []string{from, "", "", ""}
	if len(padded) < rank || b.opset >= 18 && b.rng.IntN(2) == 0 {
		perm := b.rng.Perm(len(padded))
		var axes []int64
		listed = make([]int64, 2*len(padded))
		for i, p := range perm {
			axis := padded[p]
			axes = append(axes, b.axis(axis, rank, true))
			listed[i], listed[len(padded)+i] = pads[axis], pads[rank+axis]
		}
		in[3] = b.list(axes...)
	}
	in[1] = b.list(listed...)
	if mode == "constant" && b.rng.IntN(2) == 0 {
		one := b.tensor(v.Type, []int64{1}[:b.rng.IntN(2)]...)
		fill = one.Elems[0]
		in[2] = b.initializer(one)
	}
	return b.add("Pad", v.of(v.Padded(mode, pads, fill)), trimmed(in), attrs...)
}

// trimmed is a list of inputs without omitted ones at its end.
func trimmed(in []string) []string {
	for in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	return in
}

// bits are the bytes of a number in a float type.
func bits(t layout.DType, x *big.Rat) string {
	p := fraction.Bits(t, fraction.Value{Exact: x, Negative: x.Sign() < 0}, device.Rounding{})
	return string(binary.LittleEndian.AppendUint64(nil, p)[:t.Bits()/8])
}

func growCenterCropPad(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	var axes []int
	var sizes, given []int64
	pads := make([]int64, 2*rank)
	for i, d := range v.Dims {
		if b.rng.IntN(2) == 0 {
			continue
		}
		size := b.rng.Int64N(6)
		by := size - d
		pads[i], pads[rank+i] = half(by), by-half(by)
		axes, sizes = append(axes, i), append(sizes, size)
		given = append(given, b.axis(i, rank, true))
	}
	size := int64(1)
	for i, d := range v.Dims {
		size *= d + pads[i] + pads[rank+i]
	}
	if len(axes) == 0 || size > most {
		return false
	}
	out := v.of(v.Padded("constant", pads, ndarray.Zero(v.Type)))
	if len(axes) == rank && b.rng.IntN(2) == 0 {
		return b.add("CenterCropPad", out, []string{from, b.list(sizes...)})
	}
	return b.add("CenterCropPad", out, []string{from, b.list(sizes...)}, onnx.Ints("axes", given...))
}

// half is the part of a centred crop or pad at the beginning: of an odd number, the end gets
// one more.
func half(n int64) int64 {
	if n < 0 {
		return -(-n / 2)
	}
	return n / 2
}

// index draws an index of an axis, perhaps counted from its end; and which it is.
func (s sampler) index(n int64) (given, is int64) {
	is = s.rng.Int64N(n)
	return is - n*s.rng.Int64N(2), is
}

// indices is the name of a tensor of indices: int64, or int32 if possible.
func (b *builder) indices(narrow bool, values []int64, dims ...int64) string {
	if narrow && b.rng.IntN(2) == 0 {
		return b.anywhere(ints32(values...).reshaped(dims...))
	}
	return b.anywhere(ints(values...).reshaped(dims...))
}

func growGather(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank == 0 {
		return false
	}
	axis := b.rng.IntN(rank)
	dims := b.dims(2)
	n := v.Dims[axis]
	if n == 0 {
		dims = []int64{0}
	}
	outDims := slices.Concat(v.Dims[:axis], dims, v.Dims[axis+1:])
	if len(outDims) > b.limits.Ranks || ndarray.Count(outDims) > most {
		return false
	}
	var given, is []int64
	for range ndarray.Count(dims) {
		g, i := b.index(n)
		given, is = append(given, g), append(is, i)
	}
	out := v.of(v.Take(axis, is)).reshaped(outDims...)
	in := []string{from, b.indices(true, given, dims...)}
	if axis == 0 && b.rng.IntN(2) == 0 {
		return b.add("Gather", out, in)
	}
	return b.add("Gather", out, in, onnx.Int("axis", b.axis(axis, rank, true)))
}

func growGatherElements(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank == 0 {
		return false
	}
	axis := b.rng.IntN(rank)
	dims := make([]int64, rank)
	for i, d := range v.Dims {
		if dims[i] = d - b.rng.Int64N(2); dims[i] < 0 {
			dims[i] = 0
		}
	}
	if dims[axis] = b.rng.Int64N(5); v.Dims[axis] == 0 {
		dims[axis] = 0
	}
	if ndarray.Count(dims) > most {
		return false
	}
	var given []int64
	out := v.From(dims, func(index, of []int64) {
		copy(of, index)
		var g int64
		g, of[axis] = b.index(v.Dims[axis])
		given = append(given, g)
	})
	return b.add("GatherElements", v.of(out), []string{from, b.indices(true, given, dims...)}, onnx.Int("axis", b.axis(axis, rank, true)))
}

func growGatherND(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank == 0 {
		return false
	}
	batch := 0
	if b.opset >= 12 {
		batch = b.rng.IntN(rank)
	}
	tuple := 1 + b.rng.IntN(rank-batch)
	middle := b.dims(2)
	lead := slices.Concat(v.Dims[:batch], middle)
	tail := v.Dims[batch+tuple:]
	if slices.Contains(v.Dims[batch:batch+tuple], 0) && ndarray.Count(lead) > 0 {
		return false
	}
	outDims := slices.Concat(lead, tail)
	if len(outDims) > b.limits.Ranks || ndarray.Count(outDims) > most || ndarray.Count(lead) > most {
		return false
	}
	var given []int64
	is := ndarray.Each(lead, func([]int64) string {
		var one string
		for _, d := range v.Dims[batch : batch+tuple] {
			g, i := b.index(d)
			given, one = append(given, g), one+string(rune(i))
		}
		return one
	})
	out := v.From(outDims, func(index, of []int64) {
		copy(of, index[:batch])
		for i, at := range []rune(is.Elem(index[:len(lead)])) {
			of[batch+i] = int64(at)
		}
		copy(of[batch+tuple:], index[len(lead):])
	})
	var attrs []model.Attr
	if batch > 0 {
		attrs = []model.Attr{onnx.Int("batch_dims", int64(batch))}
	}
	return b.add("GatherND", v.of(out), []string{from, b.indices(false, given, append(lead, int64(tuple))...)}, attrs...)
}

// square returns the value as one of four axes, whose first is new if it has three.
func (b *builder) square(from string, v Value) (string, Value, bool) {
	if len(v.Dims) == 3 && b.limits.Ranks >= 4 && onnx.Allows("Unsqueeze", b.opset, v.Type) {
		in, attrs := b.listIn(13, "axes", []string{from}, []int64{0})
		v = v.reshaped(append([]int64{1}, v.Dims...)...)
		return b.node("Unsqueeze", v, in, attrs...), v, true
	}
	return from, v, len(v.Dims) == 4
}

func growDepthToSpace(b *builder, from string, v Value) bool {
	size := 1 + b.rng.Int64N(3)
	from, v, ok := b.square(from, v)
	if !ok || v.Dims[1]%(size*size) != 0 {
		return false
	}
	mode, attrs := b.blocks(11, size)
	return b.add("DepthToSpace", v.of(v.DepthToSpace(size, mode)), []string{from}, attrs...)
}

func growSpaceToDepth(b *builder, from string, v Value) bool {
	size := 1 + b.rng.Int64N(3)
	from, v, ok := b.square(from, v)
	if !ok || v.Dims[2]%size != 0 || v.Dims[3]%size != 0 {
		return false
	}
	mode, attrs := b.blocks(28, size)
	return b.add("SpaceToDepth", v.of(v.SpaceToDepth(size, mode)), []string{from}, attrs...)
}

// blocks are the attributes of a block size, and of a mode from an opset on.
func (b *builder) blocks(since onnx.Opset, size int64) (mode string, attrs []model.Attr) {
	mode, attrs = "DCR", []model.Attr{onnx.Int("blocksize", size)}
	if b.opset >= since && b.rng.IntN(3) > 0 {
		mode = []string{"DCR", "CRD"}[b.rng.IntN(2)]
		attrs = append(attrs, model.Attr{Name: "mode", Value: mode})
	}
	return mode, attrs
}

func growReverseSequence(b *builder, from string, v Value) bool {
	if len(v.Dims) < 2 {
		return false
	}
	batch, time, attrs := 1, 0, []model.Attr{}
	if b.rng.IntN(2) == 0 {
		batch, time = 0, 1
	}
	if batch == 0 || b.rng.IntN(2) == 0 {
		attrs = append(attrs, onnx.Int("batch_axis", int64(batch)), onnx.Int("time_axis", int64(time)))
	}
	lengths := make([]int64, v.Dims[batch])
	for i := range lengths {
		lengths[i] = b.rng.Int64N(v.Dims[time] + 1)
	}
	return b.add("ReverseSequence", v.of(v.Reversed(batch, time, lengths)), []string{from, b.list(lengths...)}, attrs...)
}

func growTensorScatter(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank < 2 || len(v.Elems) == 0 {
		return false
	}
	axis := 1 + b.rng.IntN(rank-1)
	if b.rng.IntN(2) == 0 { // results of nodes without other uses may be overwritten
		v, from, _ = b.doubled(from, v, axis)
	}
	dims := slices.Clone(v.Dims)
	dims[axis] = 1 + b.rng.Int64N(dims[axis])
	update := b.tensor(v.Type, dims...)
	at := make([]int64, v.Dims[0])
	circular := b.rng.IntN(2) == 0
	var attrs []model.Attr
	if axis != rank-2 || b.rng.IntN(2) == 0 {
		attrs = append(attrs, onnx.Int("axis", b.axis(axis, rank, true)))
	}
	if circular {
		attrs = append(attrs, model.Attr{Name: "mode", Value: "circular"})
	}
	in := []string{from, b.part(update)}
	if b.rng.IntN(4) > 0 {
		for i := range at {
			if at[i] = b.rng.Int64N(v.Dims[axis] - dims[axis] + 1); circular {
				at[i] = b.rng.Int64N(3 * v.Dims[axis])
			}
		}
		in = append(in, b.list(at...))
	}
	return b.add("TensorScatter", v.of(v.Scattered(update.Array, at, axis)), in, attrs...)
}

func growTrilu(b *builder, from string, v Value) bool {
	if len(v.Dims) < 2 {
		return false
	}
	upper, k, in := b.rng.IntN(2), int64(0), []string{from}
	if b.rng.IntN(3) > 0 {
		k = b.rng.Int64N(9) - 4
		in = append(in, b.known(ints(k).reshaped(), 2))
	}
	out := v.of(v.Trilu(upper == 1, k, ndarray.Zero(v.Type)))
	if upper == 1 && b.rng.IntN(2) == 0 {
		return b.add("Trilu", out, in)
	}
	return b.add("Trilu", out, in, onnx.Int("upper", int64(upper)))
}

func growEyeLike(b *builder, from string, v Value) bool {
	if len(v.Dims) != 2 {
		return false
	}
	k := b.rng.Int64N(9) - 4
	attrs := []model.Attr{onnx.Int("k", k)}
	to := v.Type
	if b.rng.IntN(2) == 0 {
		if to = b.limits.Types[b.rng.IntN(len(b.limits.Types))]; !onnx.Allows("EyeLike", b.opset, to) {
			return false
		}
		attrs = append(attrs, onnx.Int("dtype", int64(to)))
	}
	one := bits(to, big.NewRat(1, 1))
	out := Value{Kind: model.TensorType, Type: to, Array: ndarray.Each(v.Dims, func(index []int64) string {
		if index[1] == index[0]+k {
			return one
		}
		return ndarray.Zero(to)
	})}
	return b.add("EyeLike", out, []string{from}, attrs...)
}
