package order_test

import (
	"fmt"
	"log"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/order"
	"github.com/restride/restride/tensor"
)

// A matrix of 4 by 6 in blocks of 2 columns. The numbers are row and column.
func ExampleConvert() {
	var values []int8
	for n := range int8(4) {
		for k := range int8(6) {
			values = append(values, 10*n+k)
		}
	}
	x, err := tensor.FromHost(values, 4, 6)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	from, _ := order.Parse("n, k")
	to, err := order.Parse("k/2, n k%2")
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := order.Convert(x, from, to, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer blocks.Release()
	fmt.Println(blocks)
	// Output:
	// int8[3,8] on cpu:
	// [[ 0  1 10 11 20 21 30 31]
	//  [ 2  3 12 13 22 23 32 33]
	//  [ 4  5 14 15 24 25 34 35]]
}

// The heads of an attention, in the notation of einops.
func Example_heads() {
	x, err := tensor.Empty(tensor.Host(), layout.Float32, 2, 5, 64)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	heads, err := x.Rearrange("b s (h d) -> b h s d", map[string]int64{"h": 8}) // a view
	if err != nil {
		log.Fatal(err)
	}
	defer heads.Release()
	fmt.Println(heads.Shape(), heads.Verdict())
	// Output: [2,8,5,8] view
}
