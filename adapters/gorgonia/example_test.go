package gorgonia_test

import (
	"fmt"
	"log"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

func Example() {
	x := gt.New(gt.WithShape(2, 3), gt.WithBacking([]float32{0, 1, 2, 3, 4, 5}), gt.WithEngine(gorgonia.Host{}))
	if err := x.T(); err != nil {
		log.Fatal(err)
	}
	if err := x.Transpose(); err != nil { // by Restride
		log.Fatal(err)
	}
	sum, err := x.Add(x) // by gorgonia
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum.Shape(), sum.Data())
	// Output: (3, 2) [0 6 2 8 4 10]
}

func ExampleDevice() {
	s, err := tensor.Open("cpu") // or "opencl", "cuda"
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	e, err := gorgonia.NewDevice(s)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close() // frees the tensors

	x, err := e.ToDevice(gt.New(gt.WithShape(2, 3), gt.WithBacking([]float32{0, 1, 2, 3, 4, 5})))
	if err != nil {
		log.Fatal(err)
	}
	columns, err := x.Slice(nil, gt.S(1, 3)) // a view
	if err != nil {
		log.Fatal(err)
	}
	y, err := gt.Concat(0, columns, columns) // one kernel for each, on the device
	if err != nil {
		log.Fatal(err)
	}
	host, err := e.ToHost(y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(host.Shape(), host.Data())
	// Output: (4, 2) [1 2 4 5 1 2 4 5]
}
