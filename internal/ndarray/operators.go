package ndarray

import (
	"math/big"
	"slices"
)

// Reshape returns the elements under other extents.
func (a Array) Reshape(dims ...int64) Array { return Array{dims, a.Elems} }

// Transpose has axis perm[i] of a as its axis i.
func (a Array) Transpose(perm ...int64) Array {
	dims := make([]int64, len(perm))
	for i, p := range perm {
		dims[i] = a.Dims[p]
	}
	return a.From(dims, func(index, of []int64) {
		for i, p := range perm {
			of[p] = index[i]
		}
	})
}

// Take keeps the listed indices of an axis.
func (a Array) Take(axis int, keep []int64) Array {
	dims := slices.Clone(a.Dims)
	dims[axis] = int64(len(keep))
	return a.From(dims, func(index, of []int64) {
		copy(of, index)
		of[axis] = keep[index[axis]]
	})
}

// Window keeps the indices of an axis in a half-open range.
func (a Array) Window(axis int, from, to int64) Array {
	keep := []int64{}
	for i := from; i < to; i++ {
		keep = append(keep, i)
	}
	return a.Take(axis, keep)
}

// Sliced is the indices of n that ONNX's Slice keeps, computed in big numbers.
func Sliced(n, start, end, step int64) []int64 {
	from, to, by := big.NewInt(start), big.NewInt(end), big.NewInt(step)
	resolve := func(x *big.Int, least, most int64) {
		if x.Sign() < 0 {
			x.Add(x, big.NewInt(n))
		}
		if x.Cmp(big.NewInt(least)) < 0 {
			x.SetInt64(least)
		}
		if x.Cmp(big.NewInt(most)) > 0 {
			x.SetInt64(most)
		}
	}
	keep := []int64{}
	if step > 0 {
		resolve(from, 0, n)
		resolve(to, 0, n)
		for ; from.Cmp(to) < 0; from.Add(from, by) {
			keep = append(keep, from.Int64())
		}
	} else if n > 0 {
		resolve(from, 0, n-1) // ONNX; numpy's least is -1
		resolve(to, -1, n-1)
		for ; from.Cmp(to) > 0; from.Add(from, by) {
			keep = append(keep, from.Int64())
		}
	}
	return keep
}

// Expand repeats the elements along axes of extent 1, and new ones before them.
func (a Array) Expand(dims ...int64) Array {
	return a.From(dims, func(index, of []int64) {
		for i, d := range a.Dims {
			of[i] = 0
			if d > 1 {
				of[i] = index[len(dims)-len(a.Dims)+i]
			}
		}
	})
}

// Tile repeats the array along each axis.
func (a Array) Tile(repeats ...int64) Array {
	dims := make([]int64, len(repeats))
	for i, n := range repeats {
		dims[i] = n * a.Dims[i]
	}
	return a.From(dims, func(index, of []int64) {
		for i, d := range a.Dims {
			of[i] = index[i] % d
		}
	})
}

// Joined is a followed by b along an axis.
func (a Array) Joined(axis int, b Array) Array {
	out := Array{Dims: slices.Clone(a.Dims)}
	out.Dims[axis] += b.Dims[axis]
	na, nb := Count(a.Dims[axis:]), Count(b.Dims[axis:])
	for i := range Count(a.Dims[:axis]) {
		out.Elems = append(out.Elems, a.Elems[i*na:(i+1)*na]...)
		out.Elems = append(out.Elems, b.Elems[i*nb:(i+1)*nb]...)
	}
	return out
}

// Padded returns the source of each element of ONNX's Pad. pads are two for each axis.
func (a Array) Padded(mode string, pads []int64, fill string) Array {
	rank := len(a.Dims)
	dims := make([]int64, rank)
	for i, d := range a.Dims {
		dims[i] = d + pads[i] + pads[rank+i]
	}
	from := make([]int64, rank)
	return Each(dims, func(index []int64) string {
		for i, d := range a.Dims {
			first := max(-pads[i], 0)
			n := d - first - max(-pads[rank+i], 0)
			k, ok := padIndex(mode, index[i]-max(pads[i], 0), n)
			if !ok {
				return fill
			}
			from[i] = first + k
		}
		return a.Elem(from)
	})
}

// padIndex returns the element of n at i, which may be outside.
func padIndex(mode string, i, n int64) (int64, bool) {
	mod := func(i, n int64) int64 { return (i%n + n) % n }
	switch {
	case mode == "constant":
		return i, i >= 0 && i < n
	case mode == "edge" || n == 1:
		return min(max(i, 0), n-1), true
	case mode == "wrap":
		return mod(i, n), true
	}
	i = mod(i, 2*n-2) // reflect
	return min(i, 2*n-2-i), true
}

// Reversed returns the source of each element of ONNX's ReverseSequence.
func (a Array) Reversed(batch, time int, lengths []int64) Array {
	return a.From(a.Dims, func(index, of []int64) {
		copy(of, index)
		if n := lengths[index[batch]]; index[time] < n {
			of[time] = n - 1 - index[time]
		}
	})
}

// Scattered is the pseudocode in the text of ONNX's TensorScatter, circular: for each
// element of the update, it sets one of the cache.
func (a Array) Scattered(update Array, indices []int64, axis int) Array {
	out := Array{a.Dims, slices.Clone(a.Elems)}
	Each(update.Dims, func(index []int64) string {
		at := int64(0)
		for i, d := range a.Dims {
			k := index[i]
			if i == axis {
				k = ((k+indices[index[0]])%d + d) % d
			}
			at = at*d + k
		}
		out.Elems[at] = update.Elem(index)
		return ""
	})
	return out
}

// Trilu keeps the same elements as ONNX's Trilu, element by element.
func (a Array) Trilu(upper bool, k int64, zero string) Array {
	rank := len(a.Dims)
	return Each(a.Dims, func(index []int64) string {
		if d := index[rank-1] - index[rank-2]; upper && d < k || !upper && d > k {
			return zero
		}
		return a.Elem(index)
	})
}

// DepthToSpace is ONNX's, with blocks of b by b.
func (a Array) DepthToSpace(b int64, mode string) Array {
	deep := a.Dims[1] / (b * b)
	return a.From([]int64{a.Dims[0], deep, a.Dims[2] * b, a.Dims[3] * b}, func(index, of []int64) {
		block, channel := index[2]%b*b+index[3]%b, index[1]
		of[0], of[1], of[2], of[3] = index[0], block*deep+channel, index[2]/b, index[3]/b
		if mode == "CRD" {
			of[1] = channel*b*b + block
		}
	})
}

// SpaceToDepth is ONNX's, with blocks of b by b.
func (a Array) SpaceToDepth(b int64, mode string) Array {
	return a.From([]int64{a.Dims[0], a.Dims[1] * b * b, a.Dims[2] / b, a.Dims[3] / b}, func(index, of []int64) {
		block, channel := index[1]/a.Dims[1], index[1]%a.Dims[1]
		if mode == "CRD" {
			block, channel = index[1]%(b*b), index[1]/(b*b)
		}
		of[0], of[1], of[2], of[3] = index[0], channel, index[2]*b+block/b, index[3]*b+block%b
	})
}
