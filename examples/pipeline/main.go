// Command pipeline runs batches through a model on a device, the layout part of an attention
// block (see examples/attention), with 1 and more batches in progress, and prints the gain of
// overlapping transfers with work:
//
//	go run ./examples/pipeline --device opencl:0
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	_ "github.com/restride/restride"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// The model's heads and their width in bytes.
const (
	heads = 16
	row   = 64 * 4
)

func main() {
	name := flag.String("device", "auto", "the device, as restride devices lists them")
	path := flag.String("model", "examples/attention/attention.onnx", "the model, as examples/attention writes it")
	batches := flag.Int("batches", 48, "how many batches a run has")
	rounds := flag.Int("rounds", 5, "how many runs there are, of which the fastest counts")
	batch := flag.Int64("batch", 4, "the first extent of a batch, [batch, sequence, 1024] floats")
	sequence := flag.Int64("sequence", 256, "the second")
	wait := flag.Duration("wait", 0, "how long Source waits for each batch, as for a disk or a network")
	flag.Parse()
	b := &bench{batches: *batches, batch: *batch, sequence: *sequence, wait: *wait}
	if err := run(*name, *path, *rounds, b); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name, path string, rounds int, b *bench) (err error) {
	if b.batches < 1 || rounds < 1 || b.batch < 1 || b.sequence < 1 {
		return errors.New("the numbers of batches, rounds and extents must be at least 1")
	}
	s, err := tensor.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := model.Load(path)
	if err != nil {
		return err
	}
	if b.sess, err = onnx.NewSession(s, m); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.sess.Close()) }()
	if err := b.prepare(); err != nil {
		return err
	}
	info := s.Device().Info()
	fmt.Printf("%s (%s): %d batches of float[%d,%d,1024], %.1f MiB each way, best of %d\n\n", info.ID(), info.Name,
		b.batches, b.batch, b.sequence, float64(len(b.samples[0]))/(1<<20), rounds)
	if _, err := b.pipe(s, 1); err != nil { // kernels are compiled, memory is touched
		return err
	}
	depths := []int{1, 2, 3, 5}
	best := make([]pipeline.Stats, len(depths))
	for range rounds {
		for i, depth := range depths {
			stats, err := b.pipe(s, depth)
			if err != nil {
				return err
			}
			if best[i].Wall == 0 || stats.Wall < best[i].Wall {
				best[i] = stats
			}
		}
	}
	fmt.Println("depth  batches/s  to depth 1  overlap   ms a batch: source  upload    work  download    sink")
	for i, st := range best {
		each := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(st.Batches) }
		fmt.Printf("%5d %10.1f %10.2fx %8.2f %21.2f %7.2f %7.2f %9.2f %7.2f\n", depths[i], float64(st.Batches)/st.Wall.Seconds(),
			best[0].Wall.Seconds()/st.Wall.Seconds(), st.Overlap(), each(st.Source), each(st.Upload), each(st.Work), each(st.Download), each(st.Sink))
	}
	if !best[0].Timed {
		fmt.Println("\nThe device keeps no time: there are no figures for its stages and their overlap.")
	}
	return nil
}

// bench is a sequence of batches, the same in each run.
type bench struct {
	sess            *onnx.Session
	batches         int
	batch, sequence int64
	wait            time.Duration
	samples         [4][]byte // batches, in turn
}

// prepare makes up the samples.
func (b *bench) prepare() error {
	size, err := layout.Shape{b.batch, b.sequence, 1024}.Bytes(layout.Float32)
	if err != nil {
		return err
	}
	r := rand.NewChaCha8([32]byte{1})
	for i := range b.samples {
		b.samples[i] = make([]byte, size)
		_, _ = r.Read(b.samples[i]) // it returns no error
	}
	return nil
}

// pipe runs all batches through the model.
func (b *bench) pipe(s *tensor.Stream, depth int) (pipeline.Stats, error) {
	fed, sunk := 0, 0
	return pipeline.Run(context.Background(), s, pipeline.Stages{
		Inputs: []pipeline.Input{{Type: layout.Float32, Dims: []int64{b.batch, b.sequence, 1024}}},
		Depth:  depth,
		Source: func(_ context.Context, in []*pipeline.Array) error {
			if fed == b.batches {
				return io.EOF
			}
			time.Sleep(b.wait)
			copy(in[0].Bytes(), b.samples[fed%len(b.samples)])
			fed++
			return nil
		},
		Work: func(ctx context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
			out, err := b.sess.Run(ctx, onnx.Values{"x": in[0]})
			if err != nil {
				return nil, err
			}
			packed, err := out.Tensor("packed")
			if err != nil {
				return nil, errors.Join(err, out.Release())
			}
			delete(out, "packed")
			return []*tensor.Tensor{packed}, out.Release()
		},
		Sink: func(_ context.Context, out []*pipeline.Array) error {
			err := b.check(sunk, out[0].Bytes())
			sunk++
			return err
		},
	})
}

// check checks one token of each sequence: its heads' rows are apart in the result.
func (b *bench) check(number int, packed []byte) error {
	x := b.samples[number%len(b.samples)]
	token := int64(number) % b.sequence
	for n := range b.batch {
		for h := range int64(heads) {
			want := x[((n*b.sequence+token)*heads+h)*row:][:row]
			if got := packed[((n*heads+h)*b.sequence+token)*row:][:row]; !bytes.Equal(got, want) {
				return fmt.Errorf("batch %d: head %d of token %d in sequence %d is wrong", number, h, token, n)
			}
		}
	}
	return nil
}
