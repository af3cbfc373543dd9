package infer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// input is a tensor of floats with numbers and names as extents.
func input(dims ...any) *model.Type {
	t := model.TensorOf(layout.Float32)
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			t.Dims = append(t.Dims, model.Known(int64(d)))
		case string:
			t.Dims = append(t.Dims, model.Symbolic(d))
		}
	}
	return &t
}

func ints(name string, values ...int64) model.Attr { return model.Attr{Name: name, Value: values} }

// TestExpressions: extents that are computed from names.
func TestExpressions(t *testing.T) {
	w := input(16, 3, 3, 3)
	for _, c := range []struct {
		want   string
		domain string
		op     string
		attrs  model.Attrs
		inputs []*model.Type
	}{
		{"float[n,16,h-2,w-2]", "", "Conv", nil, []*model.Type{input("n", 3, "h", "w"), w}},
		{"float[n,16,h,w]", "", "Conv", model.Attrs{ints("pads", 1, 1, 1, 1)}, []*model.Type{input("n", 3, "h", "w"), w}},
		{"float[n,16,floor((h-1)/2)+1,floor(w/2)+1]", "", "Conv", model.Attrs{ints("pads", 1, 1, 1, 2), ints("strides", 2, 2)}, []*model.Type{input("n", 3, "h", "w"), w}},
		{"float[n,16,floor(floor((h-1)/2)/2)+1]", "", "AveragePool", model.Attrs{ints("kernel_shape", 1), ints("strides", 2)}, []*model.Type{input("n", 16, "floor((h-1)/2)+1")}},
		{"float[n,6,h*2,w*2+1]", "", "ConvTranspose", model.Attrs{ints("strides", 2, 2)}, []*model.Type{input("n", 3, "h", "w"), input(3, 6, 2, 3)}},
		{"float[b,h,s,t]", "", "MatMul", nil, []*model.Type{input("b", "h", "s", 64), input("b", "h", 64, "t")}},
		{"float[n,s*64]", "", "Flatten", nil, []*model.Type{input("n", "s", 64)}},
		{"float[n,a+b]", "", "Concat", model.Attrs{{Name: "axis", Value: int64(1)}}, []*model.Type{input("n", "a"), input("n", "b")}},
		{"float[?,4]", "", "Add", nil, []*model.Type{input("n", 4), input("m", 1)}},
		{"float[n,s,768]", "com.microsoft", "MatMulNBits", model.Attrs{{Name: "N", Value: int64(768)}}, []*model.Type{input("n", "s", 64), input(1)}},
		{"float[s,n,64]", "com.microsoft", "SkipLayerNormalization", nil, []*model.Type{input("s", "n", 64), input("s", "n", 64)}},
		{"float[n,3,?,w]", "", "Slice", nil, []*model.Type{input("n", 3, "h", "w")}}, // see Elements
		{"?", "com.example", "Conv", nil, []*model.Type{input("n", 3, "h", "w"), w}},
		{"?", "", "MatMul", nil, []*model.Type{input(2, 3), input(4, 5)}},
		{"?", "", "Conv", model.Attrs{ints("strides", 0, 1)}, []*model.Type{input(1, 3, 8, 8), w}},
		{"?", "", "Conv", model.Attrs{{Name: "strides", Value: "2"}}, []*model.Type{input(1, 3, 8, 8), w}},
		{"float[1,16,?,?]", "", "Conv", nil, []*model.Type{input(1, 3, 2, 1), w}},
	} {
		n := Node{Domain: c.domain, Op: c.op, Opset: 13, Attrs: c.attrs, Inputs: c.inputs, Outputs: 1}
		if c.op == "Slice" { // [1:] of axis 2
			vector := model.TensorOf(layout.Int8, model.Known(1))
			n.Inputs = append(n.Inputs, &vector, &vector, &vector)
			n.Elements = func(i int) ([]byte, bool) { return []byte{0, 1, 100, 2}[i : i+1], true }
		}
		require.Equal(t, c.want, Types(n)[0].String(), c.op)
	}
}

// TestRandomNodes: whatever the inputs and attributes are, a rule ends in types.
func TestRandomNodes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 37))
	for domain, list := range domains {
		for op := range list {
			for range 40 {
				n := randomNode(rng, domain, op)
				require.NotPanics(t, func() { require.Len(t, Types(n), n.Outputs) }, "%s %s", domain, op)
			}
		}
	}
}

func randomInt(rng *rand.Rand) int64 {
	odd := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32, 1 << 40}
	if rng.IntN(4) == 0 {
		return odd[rng.IntN(len(odd))]
	}
	return rng.Int64N(9) - 2
}

func randomInts(rng *rand.Rand) []int64 {
	list := make([]int64, rng.IntN(6))
	for i := range list {
		list[i] = randomInt(rng)
	}
	return list
}

func randomNode(rng *rand.Rand, domain, op string) Node {
	n := Node{Domain: domain, Op: op, Opset: rng.Int64N(26), Outputs: rng.IntN(5)}
	elems := []layout.DType{layout.Invalid, layout.Float32, layout.Float16, layout.Int64, layout.Int32, layout.Uint8, layout.String, layout.Int4, layout.Bool}
	for range rng.IntN(10) {
		in := &model.Type{Kind: model.TensorType, Elem: elems[rng.IntN(len(elems))], HasShape: rng.IntN(5) > 0}
		for range rng.IntN(6) {
			d := model.Symbolic([]string{"", "n", "h+1", ")(", "floor(", "-", "a*b"}[rng.IntN(7)])
			if v := randomInt(rng); v >= 0 && rng.IntN(3) > 0 {
				d = model.Known(v)
			}
			in.Dims = append(in.Dims, d)
		}
		switch rng.IntN(12) {
		case 0:
			in = nil
		case 1:
			*in = model.Type{}
		case 2:
			*in = model.SequenceOf(*in)
		}
		n.Inputs = append(n.Inputs, in)
	}
	names := []string{"axis", "axes", "pads", "strides", "dilations", "kernel_shape", "output_padding", "output_shape", "auto_pad", "ceil_mode",
		"group", "perm", "split", "starts", "ends", "shape", "scales", "equation", "num_heads", "kv_num_heads", "q_num_heads", "hidden_size",
		"direction", "layout", "blocksize", "keepdims", "to", "dtype", "batch_dims", "N", "onesided", "inverse", "qkv_hidden_sizes",
		"channels_last", "pooled_shape", "reduction", "stash_type", "transBatchA", "value"}
	for _, name := range names {
		a := model.Attr{Name: name}
		switch rng.IntN(8) {
		case 0:
			a.Value = randomInt(rng)
		case 1, 2:
			a.Value = randomInts(rng)
		case 3:
			a.Value = []string{"", "SAME_UPPER", "none", "ab,b...->a", "...", "é->", "bidirectional"}[rng.IntN(7)]
		case 4:
			a.Value = []float32{1, float32(math.NaN()), -1, 1e30}[:rng.IntN(5)]
		case 5:
			a.Ref = "other"
		default:
			continue
		}
		n.Attrs = append(n.Attrs, a)
	}
	if rng.IntN(2) == 0 {
		bytes := make([]byte, 8*maxElements)
		for i := range bytes {
			bytes[i] = byte(rng.IntN(256)) * byte(rng.IntN(2))
		}
		n.Elements = func(int) ([]byte, bool) { return bytes[:rng.IntN(len(bytes)+1)], true }
	}
	return n
}
