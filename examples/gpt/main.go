// Command gpt generates tokens by a decoder with a KV cache, as a whole small engine: a session
// runs ONNX nodes, this program's kernels or cuBLAS compute, and Restride moves elements.
// docs/embedding.md walks through it.
//
//	go run ./examples/gpt --init --device opencl:0 --batch 4 build/gpt
//	go run ./examples/gpt --init --layers 12 --heads 16 --width 1024 --half --batch 16 --steps 1000 --device cuda:0 build/gpt
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	_ "github.com/restride/restride"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func main() {
	z := sizes{dtype: layout.Float32}
	name := flag.String("device", "auto", "the device, as restride devices lists them")
	cublas := flag.String("cublas", "", "path of cuBLAS; none: a kernel multiplies matrices")
	batch := flag.Int("batch", 2, "sequences, which begin with tokens 0, 1 and so on")
	steps := flag.Int64("steps", 64, "tokens to generate for each")
	planned := flag.Bool("planned", false, "plan each step, and capture none")
	create := flag.Bool("init", false, "first write a model with random weights, of these sizes:")
	flag.Int64Var(&z.layers, "layers", 2, "layers")
	flag.Int64Var(&z.heads, "heads", 4, "heads, a divisor of the width")
	flag.Int64Var(&z.width, "width", 256, "elements for a token")
	flag.Int64Var(&z.vocabulary, "vocabulary", 1024, "tokens that there are")
	flag.Int64Var(&z.positions, "positions", 1024, "tokens of a sequence, at most")
	flag.BoolFunc("half", "float16, for GPUs, in place of float32", func(string) error { z.dtype = layout.Float16; return nil })
	flag.Parse()
	var err error
	if flag.NArg() != 1 || *batch < 1 || *steps < 1 {
		err = errors.New("usage: gpt [flags] MODEL, for at least 1 sequence and step")
	} else if *create {
		err = z.export(flag.Arg(0))
	}
	if err == nil {
		err = generate(flag.Arg(0), *name, *cublas, make([]int64, *batch), *steps, *planned)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate generates tokens of some sequences, and prints how fast.
func generate(path, name, cublas string, tokens []int64, steps int64, planned bool) (err error) {
	s, err := tensor.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i := range tokens {
		tokens[i] = int64(i)
	}
	d, err := newDecoder(s, path, cublas, tokens)
	defer func() { err = errors.Join(err, d.close()) }()
	ctx := context.Background()
	if err == nil && !planned {
		d.step, err = d.session.Capture(ctx, d.state, d.into...)
	}
	if err != nil {
		return err
	}
	var first []int64
	began, before := time.Now(), s.Device().Stats()
	for range steps {
		if err := errors.Join(d.run(ctx), d.token.ReadInto(tokens)); err != nil {
			return err
		}
		first = append(first, tokens[0])
	}
	took, after := time.Since(began), s.Device().Stats()
	fmt.Printf("%s, cuBLAS: %v; the first sequence: %v\n", s.Device().Info().ID(), d.engine.blas != nil, first[:min(len(first), 16)])
	fmt.Printf("%.0f tokens/s; a step of %v moves %d bytes on the device and reads %d\n", float64(steps)*float64(len(tokens))/took.Seconds(), (took / time.Duration(steps)).Round(time.Microsecond),
		(after.DeviceToDevice-before.DeviceToDevice)/steps, (after.DeviceToHost-before.DeviceToHost)/steps)
	return nil
}
