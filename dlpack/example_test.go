package dlpack_test

import (
	"fmt"
	"log"

	"github.com/restride/restride/dlpack"
	"github.com/restride/restride/tensor"
)

// A capsule as another library would produce and consume it: here, both are this program.
func Example() {
	x := must(tensor.FromSlice(tensor.Host(), []int16{1, 2, 3, 4, 5, 6}, 2, 3))
	columns := must(x.Transpose())
	capsule := must(dlpack.Export(columns, dlpack.ExportOptions{}))
	x.Release() // the capsule keeps the memory
	columns.Release()

	y := must(dlpack.Import(tensor.Host(), capsule, dlpack.ImportOptions{}))
	defer y.Release() // calls the capsule's deleter
	fmt.Println(y.DType(), y.Shape(), must(tensor.Values[int16](y)))
	// Output: int16 [3,2] [1 4 2 5 3 6]
}

// The two directions, with a pointer from this program in place of another library's.
func Example_pointers() {
	s := tensor.Host()
	y := must(tensor.FromSlice(s, []int16{1, 2, 3, 4, 5, 6}, 2, 3))
	theirs := must(dlpack.Export(y, dlpack.ExportOptions{})).Pointer

	x := must(dlpack.Import(s, dlpack.Capsule{Pointer: theirs}, dlpack.ImportOptions{})) // *tensor.Tensor
	ours := must(dlpack.Export(y, dlpack.ExportOptions{}))                               // ours.Pointer is a DLManagedTensorVersioned*

	fmt.Println(x.Shape(), ours.Delete())
	x.Release()
	y.Release()
	// Output: [2,3] <nil>
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
