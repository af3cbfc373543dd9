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

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
