// A model on the cpu device, with ONNX Runtime for all but layout operators: silero-vad's,
// which detects speech in a moment of sound.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: example LIBONNXRUNTIME SILERO_VAD.onnx")
	}
	engine := must(onnxruntime.New(onnxruntime.Options{Library: os.Args[1]}))
	s := must(tensor.Open("cpu"))
	defer s.Close()
	m := must(model.Load(os.Args[2]))
	sess := must(onnx.NewSession(s, m, onnx.WithOperators(engine)))
	defer sess.Close()
	sess.OnNode(func(n onnx.NodeReport) { fmt.Println(n.Op, n.TypeString(), n.Outcome()) })

	sound := must(tensor.FromHost(make([]float32, 576), 1, 576)) // silence
	defer sound.Release()
	state := must(tensor.FromHost(make([]float32, 256), 2, 1, 128))
	defer state.Release()
	rate := must(tensor.FromHost([]int64{16000}, []int64{}...))
	defer rate.Release()
	out := must(sess.Run(context.Background(), onnx.Values{"input": sound, "state": state, "sr": rate}))
	defer out.Release()
	fmt.Println("speech:", must(tensor.Values[float32](must(out.Tensor("output"))))[0] > .5)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
