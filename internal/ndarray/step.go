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
	if n := rng.IntN(len(steps) + 1); n < len(steps) {
		if step, ok := steps[n](rng, a); ok {
			return step
		}
	}
	if rng.IntN(2) == 0 {
		return Step{Name: "Alias", Want: a, View: true, Call: (*tensor.Tensor).Alias}
	}
	return Step{Name: "Clone", Want: a, Copy: true, Call: (*tensor.Tensor).Clone}
}

// steps draw the arguments of a method; false: the array suits none.
var steps = []func(*rand.Rand, Array) (Step, bool){
	transposeStep, sliceStep, expandStep, squeezeStep, unsqueezeStep, reshapeStep, flattenStep, contiguousStep,
}

func transposeStep(rng *rand.Rand, a Array) (Step, bool) {
	rank := len(a.Dims)
	if rank == 0 {
		return Step{}, false
	}
	perm, wide := rng.Perm(rank), make([]int64, rank)
	for i, p := range perm {
		wide[i] = int64(p)
	}
	return Step{Name: fmt.Sprint("Transpose", perm), Want: a.Transpose(wide...), View: true,
		Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Transpose(perm...) }}, true
}

func sliceStep(rng *rand.Rand, a Array) (Step, bool) {
	rank := len(a.Dims)
	if rank == 0 {
		return Step{}, false
	}
	axis := rng.IntN(rank)
	start, end, by := rng.Int64N(13)-6, rng.Int64N(17)-8, rng.Int64N(3)+1
	if rng.IntN(2) == 0 {
		by = -by
	}
	want := a.Take(axis, Sliced(a.Dims[axis], start, end, by))
	if len(want.Elems) == 0 && rng.IntN(4) > 0 {
		return Step{}, false // empty arrays stay empty: not too many of them
	}
	return Step{Name: fmt.Sprint("Slice", axis, start, end, by), Want: want, View: true,
		Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Slice(axis, start, end, by) }}, true
}

func expandStep(rng *rand.Rand, a Array) (Step, bool) {
	if len(a.Elems) > 500 {
		return Step{}, false
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
		Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Expand(dims...) }}, true
}

func squeezeStep(_ *rand.Rand, a Array) (Step, bool) {
	dims := []int64{}
	for _, d := range a.Dims {
		if d != 1 {
			dims = append(dims, d)
		}
	}
	return Step{Name: "Squeeze", Want: a.Reshape(dims...), View: true,
		Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Squeeze() }}, true
}

func unsqueezeStep(rng *rand.Rand, a Array) (Step, bool) {
	rank := len(a.Dims)
	at := rng.IntN(rank + 1)
	dims := append(append(append([]int64{}, a.Dims[:at]...), 1), a.Dims[at:]...)
	return Step{Name: fmt.Sprint("Unsqueeze", at), Want: a.Reshape(dims...), View: true,
		Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Unsqueeze(at) }}, true
}

func reshapeStep(rng *rand.Rand, a Array) (Step, bool) {
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
		Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Reshape(asked...) }}, true
}

func flattenStep(rng *rand.Rand, a Array) (Step, bool) {
	rank := len(a.Dims)
	axis := rng.IntN(rank + 1)
	return Step{Name: fmt.Sprint("Flatten", axis), Want: a.Reshape(Count(a.Dims[:axis]), Count(a.Dims[axis:])),
		Call: func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Flatten(axis) }}, true
}

func contiguousStep(_ *rand.Rand, a Array) (Step, bool) {
	return Step{Name: "Contiguous", Want: a, Call: (*tensor.Tensor).Contiguous}, true
}
