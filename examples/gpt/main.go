// Command gpt generates tokens with a decoder that has a KV cache, as a whole small engine: ONNX
// nodes in a session, their arithmetic by this program's kernels (or cuBLAS), and all that moves
// elements by Restride. docs/embedding.md walks through it.
//
//	go run ./examples/gpt --init --device opencl:0 --batch 4 build/gpt
//	go run ./examples/gpt --init --type float16 --layers 12 --heads 16 --width 1024 --batch 16 --steps 1000 --device cuda:0 build/gpt
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	_ "github.com/restride/restride"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func main() {
	o, z := options{}, sizes{dtype: layout.Float32}
	flag.StringVar(&o.device, "device", "auto", "the device, as restride devices lists them")
	flag.StringVar(&o.cublas, "cublas", "", "the library for MatMul of float32 with CUDA; none: by a kernel")
	flag.Int64Var(&o.batch, "batch", 2, "sequences at once")
	flag.Int64Var(&o.prompt, "prompt", 4, "random tokens that each begins with")
	flag.Int64Var(&o.steps, "steps", 64, "tokens to generate for each")
	flag.BoolVar(&o.planned, "planned", false, "plan each step, instead of capturing one")
	create := flag.Bool("init", false, "first write a model of random weights, of these sizes:")
	flag.Int64Var(&z.layers, "layers", 2, "layers")
	flag.Int64Var(&z.heads, "heads", 4, "heads, a divisor of the width")
	flag.Int64Var(&z.width, "width", 256, "elements for a token")
	flag.Int64Var(&z.vocabulary, "vocabulary", 1024, "tokens that there are")
	flag.Int64Var(&z.positions, "positions", 1024, "tokens of a sequence, at most")
	flag.Func("type", "float32 or, on GPUs, float16", func(name string) error {
		var ok bool
		if z.dtype, ok = map[string]layout.DType{"float32": layout.Float32, "float16": layout.Float16}[name]; !ok {
			return errors.New("it must be float32 or float16")
		}
		return nil
	})
	flag.Parse()
	var err error
	if flag.NArg() != 1 || min(o.batch, o.prompt, o.steps) < 1 {
		err = errors.New("usage: gpt [flags] MODEL; --batch, --prompt and --steps are at least 1")
	}
	if err == nil && *create {
		err = z.export(flag.Arg(0))
	}
	if err == nil {
		err = o.run(flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	device, cublas       string
	batch, prompt, steps int64
	planned              bool
}

// run generates tokens, and prints how fast.
func (o *options) run(path string) (err error) {
	ctx := context.Background()
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
	tokens, random := make([]int64, o.batch), rand.New(rand.NewPCG(3, 4))
	for range o.prompt {
		for i := range tokens {
			tokens[i] = random.Int64N(d.vocabulary())
		}
		if err := errors.Join(d.set("token", tokens), d.run(ctx)); err != nil {
			return err
		}
	}
	if err := d.tokens(tokens); err != nil { // waits
		return err
	}
	began, before, text := time.Now(), s.Device().Stats(), []int64{tokens[0]}
	for range o.steps {
		if err := errors.Join(d.run(ctx), d.tokens(tokens)); err != nil {
			return err
		}
		text = append(text, tokens[0])
	}
	took, after := time.Since(began), s.Device().Stats()
	fmt.Printf("%s, MatMul by %s: the first of %d sequences goes on with %v\n", s.Device().Info().ID(), d.engine.multiplier(), o.batch, text[:min(len(text), 12)])
	fmt.Printf("%.0f tokens/s; a step of %v moves %d bytes on the device and reads %d\n", float64(o.steps*o.batch)/took.Seconds(), (took / time.Duration(o.steps)).Round(time.Microsecond),
		(after.DeviceToDevice-before.DeviceToDevice)/o.steps, (after.DeviceToHost-before.DeviceToHost)/o.steps)
	return nil
}
