package tensor_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Splitting attention heads and bringing them to the front, as in every
// transformer: two views. Merging them again needs one copy.
func Example() {
	s, err := tensor.Open("cpu") // or "auto"
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	// A batch of 1, 2 tokens, 6 features: 2 heads of 3.
	x, err := tensor.FromSlice(s, []float32{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}, 1, 2, 6)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	split, err := x.Reshape(1, 2, 2, -1)
	if err != nil {
		log.Fatal(err)
	}
	defer split.Release()
	heads, err := split.Transpose(0, 2, 1, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer heads.Release()
	merged, err := heads.Reshape(2, -1)
	if err != nil {
		log.Fatal(err)
	}
	defer merged.Release()

	fmt.Println(split.Verdict().Kind, heads.Verdict().Kind, merged.Verdict().Kind)
	fmt.Println(merged)
	// Output:
	// view view copy
	// float[2,6] on cpu:
	// [[ 0.  1.  2. 10. 11. 12.]
	//  [ 3.  4.  5. 13. 14. 15.]]
}

// A verdict tells views, copies and transfers apart.
func ExampleTensor_Verdict() {
	x, _ := tensor.FromSlice(tensor.Host(), []int16{1, 2, 3, 4, 5, 6}, 2, 3)
	defer x.Release()
	y, _ := x.Transpose()
	defer y.Release()
	z, _ := y.Contiguous()
	defer z.Release()
	fmt.Println(x.Verdict())
	fmt.Println(y.Verdict())
	fmt.Println(z.Verdict().Kind, z.Verdict().Bytes)
	// Output:
	// transfer of 12 bytes
	// view
	// copy 12
}

// A hook hears of every call, also of a copy that a transfer needs first.
func ExampleStream_Trace() {
	s, err := tensor.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	s.Trace(func(e tensor.Event) { fmt.Println(e.Op, e.In.Shape(), e.Out.Shape(), e.Kind, e.Bytes) })

	x, _ := tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	defer x.Release()
	y, _ := x.Transpose()
	defer y.Release()
	_ = y.ReadInto(make([]float32, 6))
	// Output:
	// FromSlice [2,3] [2,3] transfer 24
	// Transpose [2,3] [3,2] view 0
	// ReadInto [3,2] [3,2] copy 24
	// ReadInto [3,2] [3,2] transfer 24
}

// Where a copy would be too slow to go unseen, forbid it.
func ExampleStream_ForbidCopies() {
	s, err := tensor.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	s.ForbidCopies(true)

	x, _ := tensor.New(s, layout.Float16, 2, 3)
	defer x.Release()
	y, _ := x.Transpose()
	defer y.Release()
	_, err = y.Reshape(6)
	fmt.Println(errors.Is(err, tensor.ErrCopy))
	fmt.Println(err)
	// Output:
	// true
	// Reshape of float16[3,2]: [3,2]:{1,3}+0 to [6] cannot be a view, and copies are forbidden on this stream
}

// Elements below a byte are packed, and a slice may start at any of them.
func ExampleTensor_Slice_subByte() {
	x, err := tensor.FromBytes(tensor.Host(), layout.Uint4, []byte{0x10, 0x32, 0x54, 0x76}, 8)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	y, err := x.Slice(0, 3, 8, 2) // from the middle of a byte
	if err != nil {
		log.Fatal(err)
	}
	defer y.Release()
	packed, err := y.Bytes()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.Verdict(), y)
	fmt.Printf("%x\n", packed)
	// Output:
	// view uint4[3] on cpu: [3 5 7]
	// 5307
}

// The last Release frees the memory; the order does not matter.
func ExampleTensor_Release() {
	s, err := tensor.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	x, _ := tensor.New(s, layout.Float64, 4)
	y, _ := x.Slice(0, 0, 4, 2)
	_ = x.Release()
	fmt.Println(s.Device().Stats().Live, y)
	_ = y.Release()
	fmt.Println(s.Device().Stats().Live)
	// Output:
	// 32 double[2] on cpu: [0. 0.]
	// 0
}
