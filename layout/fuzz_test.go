package layout_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

// tape reads decisions from fuzz input; past its end it reads zeros.
type tape []byte

func (p *tape) byte() byte {
	if len(*p) == 0 {
		return 0
	}
	b := (*p)[0]
	*p = (*p)[1:]
	return b
}

// small is in [-n, n].
func (p *tape) small(n int64) int64 { return int64(p.byte())%(2*n+1) - n }

// huge prefers the edges of int64, and powers of two with their neighbours.
func (p *tape) huge() int64 {
	switch b := p.byte(); {
	case b < 64:
		return int64(b%8) - 3
	case b < 128:
		return far[int(b)%len(far)]
	case b < 224:
		return int64(1)<<(b%63) + p.small(2)
	}
	var raw [8]byte
	for i := range raw {
		raw[i] = p.byte()
	}
	return int64(binary.LittleEndian.Uint64(raw[:]))
}

func (p *tape) hugeShape() layout.Shape {
	s := make(layout.Shape, p.byte()%10)
	for i := range s {
		s[i] = p.huge()
	}
	return s
}

func FuzzReshapeRules(f *testing.F) {
	f.Add([]byte{0, 2, 67, 0, 1, 2})
	f.Add([]byte{1, 3, 5, 6, 7, 3, 2, 3, 2})
	f.Add([]byte{0, 3, 64, 70, 130, 2, 130, 2, 140, 1, 3, 9, 9, 9})
	f.Add([]byte{1, 1, 3, 2, 160, 2, 160, 2})
	f.Add([]byte{1, 9, 5, 5, 5, 5, 5, 5, 5, 5, 5, 1, 2, 200, 100, 9, 255, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := tape(data)
		copies := p.byte()%2 == 0
		in, want := p.hugeShape(), p.hugeShape()
		got, err := layout.InferReshape(nil, "op", in, want, copies)
		expect, ok := inferOracle(in, want, copies)
		if !ok {
			refused(t, err, "op", in.String(), want.String())
			return
		}
		require.NoError(t, err, "%v to %v", in, want)
		require.True(t, expect.Equal(got), "%v to %v: %v, want %v", in, want, got, expect)

		l, err := layout.Contiguous(in...)
		require.NoError(t, err)
		r, err := l.Reshape(got...)
		require.NoError(t, err, "a contiguous layout has every shape as a view")
		promised(t, r)
		require.True(t, r.IsContiguous())
		require.True(t, r.HasShape(got...))

		// Any view of it: where Reshape gives one, both agree at some indices.
		for range p.byte() % 4 {
			if l.Rank() > 0 {
				axis := int(p.byte()) % l.Rank()
				l = must(l.Slice(axis, p.huge(), p.huge(), []int64{1, 2, -1, -3}[p.byte()%4]))
				perm := make([]int, l.Rank())
				for i := range perm {
					perm[i] = (i + axis) % len(perm)
				}
				l = must(l.Permute(perm...))
			}
		}
		n := l.Count()
		if n == 0 {
			return
		}
		shape := l.Shape()
		if p.byte()%2 == 0 { // split an axis, or merge two
			for i, d := range shape {
				if k := int64(p.byte()%5) + 2; d%k == 0 {
					shape = append(append(shape[:i:i], k, d/k), shape[i+1:]...)
					break
				}
			}
		} else if len(shape) > 1 {
			shape = append(layout.Shape{shape[0] * shape[1]}, shape[2:]...)
		}
		r, err = l.Reshape(shape...)
		if errors.Is(err, layout.ErrNeedsCopy) {
			return
		}
		require.NoError(t, err)
		promised(t, r)
		for range 8 {
			at := int64(uint64(p.huge()) % uint64(n))
			require.Equal(t, nth(l, at), nth(r, at), "%v %v element %d", l, r, at)
		}
	})
}

// nth is the position of the n-th element in row-major order.
func nth(l layout.Layout, n int64) int64 {
	index := make([]int64, l.Rank())
	for i := l.Rank() - 1; i >= 0; i-- {
		index[i], n = n%l.Dim(i), n/l.Dim(i)
	}
	return l.At(index...)
}

// inferOracle is the rule of ONNX Reshape in big arithmetic.
func inferOracle(in, want layout.Shape, copies bool) (layout.Shape, bool) {
	total := bigProduct(in)
	if total == nil || total.Cmp(maxInt64) > 0 {
		return nil, false
	}
	out := want.Clone()
	hole, known := -1, big.NewInt(1)
	for i, d := range want {
		if d == 0 && copies {
			if i >= len(in) {
				return nil, false
			}
			out[i] = in[i]
		}
		if d < -1 || d == -1 && hole >= 0 {
			return nil, false
		}
		if d == -1 {
			hole = i
			continue
		}
		known.Mul(known, big.NewInt(out[i]))
	}
	if hole < 0 {
		return out, known.Cmp(total) == 0
	}
	if known.Sign() == 0 || known.Cmp(maxInt64) > 0 && total.Sign() == 0 {
		return nil, false
	}
	q, rest := new(big.Int).QuoRem(total, known, new(big.Int))
	out[hole] = q.Int64()
	return out, rest.Sign() == 0
}

func FuzzLayoutAlgebra(f *testing.F) {
	f.Add([]byte{0, 3, 2, 3, 4, 0, 1, 1, 0, 3, 9, 200, 1})
	f.Add([]byte{0, 4, 1, 2, 3, 1, 5, 4, 2, 1, 3, 0, 6, 2, 2, 7})
	f.Add([]byte{0, 2, 0, 3, 3, 1, 0, 2, 5, 1})
	f.Add([]byte{0, 3, 2, 2, 2, 4, 0, 4, 1, 4, 2, 4, 3, 4, 4, 4, 5, 4, 6, 4, 7, 3, 0, 5, 1})
	f.Add([]byte{1, 3, 130, 1, 140, 2, 64, 1, 0, 80, 90, 100, 2, 70, 80})
	f.Add([]byte{1, 2, 255, 1, 2, 3, 4, 5, 6, 7, 8, 66, 7, 3, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := tape(data)
		if p.byte()%2 == 0 {
			mirror(t, &p)
		} else {
			survive(t, &p)
		}
	})
}

// mirror applies view operations to a small layout and to the list of its
// positions, which must stay the same.
func mirror(t *testing.T, p *tape) {
	l := smallLayout(p)
	all := tableOf(l)
	for range 12 {
		if len(*p) == 0 || len(all.at) > 3000 {
			break
		}
		before := l
		var err error
		rank := l.Rank()
		switch p.byte() % 9 {
		case 0:
			perm := permutation(p, rank)
			l, err = l.Permute(perm...)
			all = all.permute(perm)
		case 1, 2:
			if rank == 0 {
				continue
			}
			axis := int(p.byte()) % rank
			start, end, step := p.small(7), p.small(7), p.small(4)
			if step == 0 {
				_, err = l.Slice(axis, start, end, step)
				refused(t, err, "Slice")
				continue
			}
			list := sliced(l.Dim(axis), start, end, step)
			l, err = l.Slice(axis, start, end, step)
			all = all.pick(axis, list)
		case 3:
			to := expanded(p, all.dims)
			l, err = l.Expand(to...)
			all, _ = all.expand(to)
		case 4:
			at := int(p.byte()) % (rank + 1)
			l, err = l.Unsqueeze(at)
			all = all.reshape(append(append(clone(all.dims[:at]), 1), all.dims[at:]...))
		case 5:
			l, err = l.Squeeze()
			all = all.reshape(slices.DeleteFunc(clone(all.dims), func(d int64) bool { return d == 1 }))
		case 6:
			to := mergedOrSplit(p, all.dims)
			want := all.reshape(to)
			_, exists := want.strides()
			got, err := l.Reshape(to...)
			if !exists {
				require.ErrorIs(t, err, layout.ErrNeedsCopy, "%v to %v", l, to)
				continue
			}
			require.NoError(t, err)
			l, all = got, want
		case 7:
			c := l.Coalesce()
			require.Equal(t, all.at, tableOf(c).at, "%v", l)
			require.LessOrEqual(t, c.Rank(), max(rank, 1))
			l = l.Reverse()
			perm := make([]int, rank)
			for i := range perm {
				perm[i] = rank - 1 - i
			}
			all = all.permute(perm)
		case 8:
			requireSimplified(t, must(must(layout.Contiguous(all.dims...)).Rebase(int64(p.byte()))), l)
		}
		require.NoError(t, err, "%v", before)
		requireTable(t, all, l, before)
		promised(t, l)
	}
	require.Equal(t, all.repeats(), l.SelfOverlaps(), "%v", l)
}

// smallLayout draws a layout of at most four axes.
func smallLayout(p *tape) layout.Layout {
	dims := make([]int64, p.byte()%5)
	for i := range dims {
		dims[i] = int64(p.byte() % 5)
	}
	if p.byte()%2 != 0 {
		return must(layout.Contiguous(dims...))
	}
	strides := make([]int64, len(dims))
	for i := range strides {
		strides[i] = p.small(6)
	}
	return must(layout.Strided(dims, strides, 100))
}

// permutation draws a rotation and a swap, which make every permutation.
func permutation(p *tape, rank int) []int {
	perm := make([]int, rank)
	shift := int(p.byte())
	for i := range perm {
		perm[i] = (i + shift) % rank
	}
	if rank > 1 {
		perm[0], perm[1] = perm[1], perm[0]
	}
	return perm
}

// sliced are the indices of a slice.
func sliced(dim, start, end, step int64) []int64 {
	first, n := sliceRule(dim, start, end, step)
	list := []int64{}
	for i := range n.Int64() {
		list = append(list, first.Int64()+i*step)
	}
	return list
}

// expanded draws extents to which a tensor can be expanded.
func expanded(p *tape, dims []int64) []int64 {
	to := clone(dims)
	for i, d := range to {
		if d == 1 {
			to[i] = int64(p.byte() % 4)
		}
	}
	if p.byte()%3 == 0 {
		to = append([]int64{int64(p.byte() % 3)}, to...)
	}
	return to
}

// mergedOrSplit are the extents with two neighbours merged, or one axis split.
func mergedOrSplit(p *tape, dims []int64) []int64 {
	to, rank := clone(dims), len(dims)
	if i := int(p.byte()); rank > 0 && i%2 == 0 {
		i = i / 2 % rank
		if k := int64(p.byte()%3) + 1; to[i]%k == 0 {
			to = append(append(clone(to[:i]), k, to[i]/k), to[i+1:]...)
		}
	} else if rank > 1 {
		i = i / 2 % (rank - 1)
		to = append(append(clone(to[:i]), to[i]*to[i+1]), to[i+2:]...)
	}
	return to
}

// requireSimplified simplifies and widens a pair, and compares the elements.
func requireSimplified(t *testing.T, dst, src layout.Layout) {
	t.Helper()
	d, s := simplified(dst, src)
	promised(t, d)
	promised(t, s)
	if dst.Count() > 0 {
		requireSimple(t, d, s)
		require.Equal(t, pairs(dst, src), pairs(d, s))
		wd, ws, wide := widened(d, s, 4, 64)
		require.Equal(t, bitsOf(pairs(dst, src), 4), bitsOf(pairs(wd, ws), wide))
	}
}

// survive applies operations with arguments from the edges of int64. Each
// either refuses, or keeps the promises.
func survive(t *testing.T, p *tape) {
	l, err := layout.Contiguous(p.hugeShape()...)
	if err != nil {
		refused(t, err, "Contiguous")
		return
	}
	promised(t, l)
	for range 16 {
		if len(*p) == 0 {
			break
		}
		got, err := hugeView(p, l)
		if err != nil {
			require.Equal(t, layout.Layout{}, got)
			require.True(t, errors.Is(err, layout.ErrInvalid) || errors.Is(err, layout.ErrNeedsCopy), "%v", err)
			continue
		}
		promised(t, got)
		c := got.Coalesce()
		promised(t, c)
		require.Equal(t, got.IsContiguous(), c.IsContiguous())
		d, s := simplified(got, got.Reverse().Reverse())
		promised(t, d)
		promised(t, s)
		require.Equal(t, must(d.Rebase(0)).String(), must(s.Rebase(0)).String())
		d, s, wide := widened(d, s, 2, 128)
		promised(t, d)
		promised(t, s)
		n, w := big.NewInt(got.Count()), big.NewInt(int64(wide))
		require.Zero(t, n.Mul(n, big.NewInt(2)).Cmp(w.Mul(w, big.NewInt(d.Count()))), "%v %v", got, d)
		if got.Count() > 0 {
			lo, hi, _ := got.Extent()
			require.True(t, got.Fits(math.MaxInt64) || hi == math.MaxInt64)
			require.Equal(t, lo, new(must(layout.Strided(nil, nil, lo))).At())
			require.True(t, got.Overlaps(&l) || !l.Overlaps(&got), "symmetric")
			require.True(t, got.Overlaps(&got))
			if got.SelfOverlaps() {
				require.Greater(t, got.Count(), int64(1))
			} else {
				require.False(t, got.IsBroadcast())
			}
		}
		l = got
	}
}

// hugeView makes a random view, or none, with numbers of any size.
func hugeView(p *tape, l layout.Layout) (got layout.Layout, err error) {
	rank := l.Rank()
	switch p.byte() % 10 {
	case 0:
		perm := make([]int, rank)
		shift := int(p.byte())
		for i := range perm {
			perm[i] = (i+shift)%rank - rank*int(p.byte()%2)
		}
		got, err = l.Permute(perm...)
	case 1, 2:
		got, err = l.Slice(int(p.small(9)), p.huge(), p.huge(), p.huge())
	case 3:
		shape := l.Shape()
		for i, d := range shape {
			if d == 1 {
				shape[i] = p.huge()
			}
		}
		got, err = l.Expand(shape...)
	case 4:
		got, err = l.Unsqueeze(int(p.small(10)), int(p.small(10)))
	case 5:
		got, err = l.Squeeze()
	case 6:
		shape := p.hugeShape()
		if p.byte()%2 == 0 {
			shape, err = layout.InferReshape(nil, "op", l.Shape(), shape, true)
		}
		if err == nil {
			got, err = l.Reshape(shape...)
		}
	case 7:
		got, err = l.Flatten(int(p.small(9)))
	case 8:
		got, err = l.Rebase(p.huge())
	case 9:
		strides := make([]int64, rank)
		for i := range strides {
			strides[i] = p.huge()
		}
		got, err = layout.Strided(l.Shape(), strides, p.huge())
	}
	return got, err
}
