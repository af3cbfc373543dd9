// Command gpt generates tokens with a decoder that has a KV cache, as a whole small engine: ONNX
// nodes in a session, their arithmetic by this program's kernels (or cuBLAS), and all that moves
// elements by Restride. docs/embedding.md walks through it.
//
//	go run ./examples/gpt --init --device opencl:0 --batch 4 build/gpt
//	go run ./examples/gpt --init --half --layers 12 --heads 16 --width 1024 --batch 16 --steps 1000 --device cuda:0 build/gpt
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
	o := options{}
	flag.StringVar(&o.device, "device", "auto", "the device, as restride devices lists them")
	flag.StringVar(&o.cublas, "cublas", "", "the library for MatMul of float32 with CUDA, or none: by a kernel")
	flag.Int64Var(&o.batch, "batch", 2, "sequences at once; the first begins with token 0, the second with 1, and so on")
	flag.Int64Var(&o.steps, "steps", 64, "tokens to generate for each")
	flag.BoolVar(&o.planned, "planned", false, "plan each step, instead of capturing one")
	create := flag.Bool("init", false, "first write a model of random weights, of these sizes:")
	flag.Int64Var(&z.layers, "layers", 2, "layers")
	flag.Int64Var(&z.heads, "heads", 4, "heads, a divisor of the width")
	flag.Int64Var(&z.width, "width", 256, "elements for a token")
	flag.Int64Var(&z.vocabulary, "vocabulary", 1024, "tokens that there are")
	flag.Int64Var(&z.positions, "positions", 1024, "tokens of a sequence, at most")
	half := flag.Bool("half", false, "float16, for GPUs, in place of float32")
	flag.Parse()
	if *half {
		z.dtype = layout.Float16
	}
	var err error
	if flag.NArg() != 1 || min(o.batch, o.steps) < 1 {
		err = errors.New("usage: gpt [flags] MODEL, with at least 1 sequence and step")
	} else if *create {
		err = z.export(flag.Arg(0))
	}
	if err == nil {
		err = o.run(context.Background(), flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	device, cublas string
	batch, steps   int64
	planned        bool
}

// run generates tokens, and prints how fast.
func (o *options) run(ctx context.Context, path string) (err error) {
	m, err := load(path)
	if err != nil {
		return err
	}
	s, err := tensor.Open(o.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d, err := newDecoder(s, m, o.batch, o.cublas)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if !o.planned {
		if err := d.capture(ctx); err != nil {
			return err
		}
	}
	tokens, first := make([]int64, o.batch), []int64{}
	for i := range tokens {
		tokens[i] = int64(i)
	}
	if err := d.set("token", tokens); err != nil {
		return err
	}
	began, before := time.Now(), s.Device().Stats()
	for range o.steps {
		if err := errors.Join(d.run(ctx), d.tokens(tokens)); err != nil {
			return err
		}
		first = append(first, tokens[0])
	}
	took, after := time.Since(began), s.Device().Stats()
	fmt.Printf("%s, cuBLAS: %v; the first sequence: %v\n", s.Device().Info().ID(), d.engine.blas != nil, first[:min(len(first), 16)])
	fmt.Printf("%.0f tokens/s: a step of %v moves %d bytes on the device and reads %d\n", float64(o.steps*o.batch)/took.Seconds(), (took / time.Duration(o.steps)).Round(time.Microsecond),
		(after.DeviceToDevice-before.DeviceToDevice)/o.steps, (after.DeviceToHost-before.DeviceToHost)/o.steps)
	return nil
}
