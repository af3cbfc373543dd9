package gorgonia_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/layout"
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
	s := must(tensor.Open("cpu")) // or "opencl", "cuda"
	defer s.Close()
	e := must(gorgonia.NewDevice(s))
	defer e.Close() // frees the tensors

	x := must(e.ToDevice(gt.New(gt.WithShape(2, 3), gt.WithBacking([]float32{0, 1, 2, 3, 4, 5}))))
	columns := must(x.Slice(nil, gt.S(1, 3))) // a view
	y := must(gt.Concat(0, columns, columns)) // one kernel for each, on the device
	back := must(e.ToHost(y))
	fmt.Println(back.Shape(), back.Data())
	// Output: (4, 2) [1 2 4 5 1 2 4 5]
}

// The weights of one head, in the forms that a program may have them in.
func ExampleRepack() {
	const heads, rows, columns = 1, 4, 1
	data := []int16{0, 1, 2, 3}
	x := gt.New(gt.WithShape(rows, columns), gt.WithBacking(data))
	src := []byte{0, 0, 1, 0, 2, 0, 3, 0}
	dst, file, reader := make([]byte, len(src)), new(bytes.Buffer), bytes.NewReader(src)
	dir := must(os.MkdirTemp("", "repack"))
	defer os.RemoveAll(dir)
	before, after := filepath.Join(dir, "before.safetensors"), filepath.Join(dir, "after.safetensors")
	header := `{"q":{"dtype":"BF16","shape":[4,1],"data_offsets":[0,8]}}`
	check(os.WriteFile(before, append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), src...), 0o600))
	rule := func(string, []int) (*gorgonia.Repack, error) {
		r, err := gorgonia.Rotary(heads, rows, columns)
		return &r, err
	}

	r := must(gorgonia.Rotary(heads, rows, columns)) // of Repack{Shape: [heads 2 rows/heads/2 columns], Axes: [0 2 1 3]}
	out := must(gorgonia.Repacked(r, data))          // a slice of Go numbers
	check(r.Bytes(dst, src, layout.BFloat16))        // bytes
	n := must(r.Copy(file, reader, layout.BFloat16)) // from a reader to a writer, some MiB at a time
	t := must(r.Dense(x))                            // a tensor of gorgonia's
	check(gorgonia.RepackFile(after, before, rule))  // a file of safetensors or GGUF: rule gives a tensor its Repack

	written := must(os.ReadFile(after))
	fmt.Println(out, t.Data(), n)
	fmt.Println(dst, bytes.Equal(dst, file.Bytes()), bytes.Equal(dst, written[len(written)-8:]))
	// Output:
	// [0 2 1 3] [0 2 1 3] 8
	// [0 0 2 0 1 0 3 0] true true
}

// must ends the program with an error, if there is one.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
