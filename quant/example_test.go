package quant_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/restride/restride/checkpoint"
	_ "github.com/restride/restride/cpu"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

// A weight of GPTQ's becomes one of AWQ's. tensors are as checkpoint.Open finds them in a file,
// and config is what config.json says.
func Example() {
	config := json.RawMessage(`{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": false}}`)
	tensors := []quant.Tensor{
		{Name: "mlp.up.qweight", Type: "I32", Dims: []int64{16, 32}},
		{Name: "mlp.up.qzeros", Type: "I32", Dims: []int64{2, 4}},
		{Name: "mlp.up.scales", Type: "F16", Dims: []int64{2, 32}},
		{Name: "mlp.up.bias", Type: "F16", Dims: []int64{32}},
	}
	described, err := quant.Describe(config, nil)
	check(err)
	weights, rest, err := described.Find(tensors)
	check(err)
	fmt.Println(len(weights), "weight;", rest[0].Name, "is none")

	awq, err := quant.Lookup("awq")
	check(err)
	plan, err := weights[0].Plan(awq) // or why AWQ cannot keep it
	check(err)
	s, err := tensor.Open("cpu")
	check(err)
	defer s.Close()
	src := quant.Memory{} // the bytes of the file's tensors
	for _, t := range weights[0].Tensors {
		kind, err := checkpoint.Safetensors.Type(t.Type)
		check(err)
		size, err := checkpoint.Safetensors.Size(kind, t.Dims)
		check(err)
		src[t.Name], err = tensor.FromSlice(s, make([]uint8, size), size)
		check(err)
	}
	defer src.Release()
	dst, err := plan.Run(s, src)
	check(err)
	defer dst.Release()
	for _, t := range plan.To.Tensors {
		fmt.Println(t.Name, t.Type, t.Dims, dst[t.Name].Shape(), "bytes")
	}
	// Output:
	// 1 weight; mlp.up.bias is none
	// mlp.up.qweight I32 [128 4] [2048] bytes
	// mlp.up.qzeros I32 [2 4] [32] bytes
	// mlp.up.scales F16 [2 32] [128] bytes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
