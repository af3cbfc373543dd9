package layout_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/restride/restride/layout"
)

// NCHW to NHWC: no element moves, the strides say it all.
func ExampleLayout_Permute() {
	nchw, err := layout.Contiguous(8, 3, 32, 32)
	if err != nil {
		fmt.Println(err)
		return
	}
	nhwc, err := nchw.Permute(0, 2, 3, 1)
	fmt.Println(nhwc, err)
	fmt.Println(nhwc.IsContiguous(), nchw.At(1, 2, 5, 7) == nhwc.At(1, 5, 7, 2))
	_, err = nchw.Permute(0, 1, 1, 3)
	fmt.Println(err)
	// Output:
	// [8,32,32,3]:{3072,32,1,1024}+0 <nil>
	// false true
	// Permute: [8,3,32,32]: axis 1 is listed twice
}

// Axes can be merged where walking one after the other is one constant step.
func ExampleLayout_Reshape() {
	l, _ := layout.Contiguous(2, 3, 4)
	view, err := l.Reshape(6, 4)
	fmt.Println(view, err)

	swapped, _ := l.Permute(1, 0, 2)
	_, err = swapped.Reshape(6, 4)
	fmt.Println(errors.Is(err, layout.ErrNeedsCopy), err)

	split, err := swapped.Reshape(3, 2, 2, 2)
	fmt.Println(split, err)

	_, err = l.Reshape(5, 5)
	fmt.Println(errors.Is(err, layout.ErrInvalid), err)
	// Output:
	// [6,4]:{4,1}+0 <nil>
	// true layout: this reshape cannot be a view
	// [3,2,2,2]:{4,12,2,1}+0 <nil>
	// true Reshape: [2,3,4] to [5,5]: 24 elements do not fill 25
}

// Negative indices count from the end, and a negative step walks backwards.
func ExampleLayout_Slice() {
	l, _ := layout.Contiguous(10)
	last3, _ := l.Slice(0, -3, math.MaxInt64, 1)
	fmt.Println(last3)
	reversed, _ := l.Slice(0, -1, math.MinInt64, -1)
	fmt.Println(reversed)
	every4th, _ := reversed.Slice(0, 1, 100, 4)
	fmt.Println(every4th, every4th.At(0), every4th.At(1), every4th.At(2))
	// Output:
	// [3]:{1}+7
	// [10]:{-1}+9
	// [3]:{-4}+8 8 4 0
}

// A row is repeated with stride 0, and takes no memory.
func ExampleLayout_Expand() {
	row, _ := layout.Contiguous(1, 4)
	matrix, err := row.Expand(1000, 4)
	fmt.Println(matrix, err, matrix.IsBroadcast(), matrix.Fits(4))
	_, err = matrix.Expand(1000, 8)
	fmt.Println(err)
	// Output:
	// [1000,4]:{0,1}+0 <nil> true true
	// Expand: [1000,4] to [1000,8]: axis 1 has extent 4, which is neither 8 nor 1
}

// Positions count elements: this view of 4-bit elements starts at the high
// nibble of byte 1. The package documentation draws it.
func ExampleLayout_Slice_nibbles() {
	fmt.Println(layout.Shape{5}.Bytes(layout.Int4))
	l, _ := layout.Contiguous(5)
	v, _ := l.Slice(0, 3, 0, -2)
	for i := range v.Count() {
		bit := v.At(i) * int64(layout.Int4.Bits())
		fmt.Println("byte", bit/8, "bit", bit%8)
	}
	// Output:
	// 3 <nil>
	// byte 1 bit 4
	// byte 0 bit 4
}

func ExampleInferReshape() {
	in := layout.Shape{2, 3, 4}
	fmt.Println(layout.InferReshape(nil, "Reshape-14", in, layout.Shape{0, -1}, true))
	fmt.Println(layout.InferReshape(nil, "Reshape-14", in, layout.Shape{5, -1}, true))
	// Output:
	// [2,12] <nil>
	// [] Reshape-14: cannot reshape [2,3,4] to [5,-1]: -1 cannot be inferred: 24 elements are no multiple of 5
}

// Two row-major matrices whose rows are swapped about: one axis for the rows is
// left, and each row of four bytes moves as one 32-bit element.
func ExampleWiden() {
	dst, _ := layout.Contiguous(2, 3, 4)
	src, _ := layout.Contiguous(3, 2, 4)
	src, _ = src.Permute(1, 0, 2)
	layout.Simplify(&dst, &src)
	fmt.Println(dst, src)
	width := layout.Widen(layout.Uint8.Bits(), 128, &dst, &src)
	fmt.Println(dst, src, width)
	// Output:
	// [2,3,4]:{12,4,1}+0 [2,3,4]:{4,8,1}+0
	// [2,3]:{3,1}+0 [2,3]:{1,2}+0 32
}
