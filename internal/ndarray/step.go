package ndarray

import (
	"fmt"
	"math/rand/v2"

	"github.com/restride/restride/tensor"
)

// A Step is one call on a tensor and its expected effect on the array.
type Step struct {
	Name string
	Call func(*tensor.Tensor) (*tensor.Tensor, error)
	Want Array
	View bool // it must be a view, whatever the layout
	Copy bool // it must be a copy
}

// RandomStep draws a call that is valid for an array.
func RandomStep(rng *rand.Rand, a Array) Step {
	rank := len(a.Dims)
	switch rng.IntN(9) {
	case 0:
		if rank == 0 {
			break
		}
		perm, wide := rng.Perm(rank), make([]int64, rank)
		for i, p := range perm {
			wide[i] = int64(p)
		}
		return Step{Name: fmt.Sprint("Transpose", perm), Want: a.Transpose(wide...), View: true,
			Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Transpose(perm...) }}
	case 1:
		if rank == 0 {
			break
		}
		axis := rng.IntN(rank)
		start, end, by := rng.Int64N(13)-6, rng.Int64N(17)-8, rng.Int64N(3)+1
		if rng.IntN(2) == 0 {
			by = -by
		}
		want := a.Take(axis, Sliced(a.Dims[axis], start, end, by))
		if len(want.Elems) == 0 && rng.IntN(4) > 0 {
			break // empty arrays stay empty: not too many of them
		}
		return Step{Name: fmt.Sprint("Slice", axis, start, end, by), Want: want, View: true,
			Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Slice(axis, start, end, by) }}
	case 2:
		if len(a.Elems) > 500 {
			break
		}
		var dims []int64
		for range rng.IntN(2) {
			dims = append(dims, 1+rng.Int64N(3))
		}
		dims = append(dims, a.Dims...)
		for i, d := range dims {
			if d == 1 {
				dims[i] = 1 + rng.Int64N(3)
			}
		}
		return Step{Name: fmt.Sprint("Expand", dims), Want: a.Expand(dims...), View: true,
			Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Expand(dims...) }}
	case 3:
		dims := []int64{}
		for _, d := range a.Dims {
			if d != 1 {
				dims = append(dims, d)
			}
		}
		return Step{Name: "Squeeze", Want: a.Reshape(dims...), View: true,
			Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Squeeze() }}
	case 4:
		at := rng.IntN(rank + 1)
		dims := append(append(append([]int64{}, a.Dims[:at]...), 1), a.Dims[at:]...)
		return Step{Name: fmt.Sprint("Unsqueeze", at), Want: a.Reshape(dims...), View: true,
			Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Unsqueeze(at) }}
	case 5:
		dims, rest := []int64{}, int64(len(a.Elems))
		for _, p := range []int64{2, 3, 2, 5} {
			if rest%p == 0 && rest > 0 && rng.IntN(2) == 0 {
				dims, rest = append(dims, p), rest/p
			}
		}
		dims = append(dims, rest)
		asked := append([]int64{}, dims...)
		if rest > 0 && rng.IntN(2) == 0 {
			asked[len(asked)-1] = -1
		}
		return Step{Name: fmt.Sprint("Reshape", asked), Want: a.Reshape(dims...),
			Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Reshape(asked...) }}
	case 6:
		axis := rng.IntN(rank + 1)
		return Step{Name: fmt.Sprint("Flatten", axis), Want: a.Reshape(Count(a.Dims[:axis]), Count(a.Dims[axis:])),
			Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Flatten(axis) }}
	case 7:
		return Step{Name: "Contiguous", Want: a, Call: (*tensor.Tensor).Contiguous}
	}
	if rng.IntN(2) == 0 {
		return Step{Name: "Alias", Want: a, View: true, Call: (*tensor.Tensor).Alias}
	}
	return Step{Name: "Clone", Want: a, Copy: true, Call: (*tensor.Tensor).Clone}
}
