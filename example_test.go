package restride_test

import (
	"fmt"
	"log"

	_ "github.com/restride/restride"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// must ends the program with an error, if there is one.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// The README's program: a view, a copy on the device, and two transfers.
func Example() {
	s := must(tensor.Open("auto")) // a GPU, or else the CPU
	defer s.Close()
	x := must(tensor.FromSlice(s, make([]float32, 8*512*16*64), 8, 512, 16, 64))
	defer x.Release()
	y := must(x.Transpose(0, 2, 1, 3))
	defer y.Release()
	z := must(y.Reshape(8, 16, -1)) // no view can express it
	defer z.Release()
	host := must(tensor.Values[float32](z))
	fmt.Println(x.Verdict().Kind, y.Verdict().Kind, z.Verdict().Kind, z.Shape(), len(host))
	// Output: transfer view copy [8,16,32768] 4194304
}

// The memory of released tensors is the device's until Trim.
func Example_trim() {
	s := must(tensor.Open("cpu"))
	defer s.Close()
	x := must(tensor.Empty(s, layout.Float32, 1<<20))
	_ = x.Release()
	fmt.Println(s.Device().Stats().Reserved)

	if t, ok := device.As[device.Trimmer](s.Device()); ok {
		_ = s.Wait() // for work that may use the memory
		_ = t.Trim()
	}
	fmt.Println(s.Device().Stats().Reserved)
	// Output:
	// 4194304
	// 0
}

// An ability that not every device has.
func Example_ability() {
	s := must(tensor.Open("cpu"))
	defer s.Close()
	recorder, ok := device.As[device.Recorder](s.Queue())
	fmt.Println(recorder != nil, ok)
	// Output: true true
}
