package onednn_test

import (
	"fmt"
	"log"

	"github.com/restride/restride/onednn"
	"github.com/restride/restride/tensor"
)

// The example of oneDNN's documentation.
func ExampleStaticReshape() {
	src, err := tensor.FromHost(make([]float32, 60), 3, 4, 5)
	if err != nil {
		log.Fatal(err)
	}
	defer src.Release()
	dst, err := onednn.StaticReshape(src, []int64{0, -1}, true)
	if err != nil {
		log.Fatal(err)
	}
	defer dst.Release()
	fmt.Println(dst.Shape(), dst.Verdict())

	_, err = onednn.StaticReshape(src, []int64{0, -1}, false)
	fmt.Println(err != nil)
	// Output:
	// [3,20] view
	// true
}

// The shape is a tensor, perhaps computed by the pipeline.
func ExampleDynamicReshape() {
	src, err := tensor.FromHost([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer src.Release()
	shape, err := tensor.FromHost([]int32{3, -1})
	if err != nil {
		log.Fatal(err)
	}
	defer shape.Release()
	dst, err := onednn.DynamicReshape(src, shape, false)
	if err != nil {
		log.Fatal(err)
	}
	defer dst.Release()
	fmt.Println(dst)
	// Output:
	// float[3,2] on cpu:
	// [[1. 2.]
	//  [3. 4.]
	//  [5. 6.]]
}
