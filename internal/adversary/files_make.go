package adversary

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// randomTensor is a small tensor of any type.
func randomTensor(rng *rand.Rand) model.Tensor {
	t := model.Tensor{Name: "t", Type: layout.DTypes()[rng.IntN(26)], Dims: layout.Shape{}}
	n := int64(1)
	for range rng.IntN(4) {
		d := rng.Int64N(5)
		t.Dims, n = append(t.Dims, d), n*d
	}
	if t.Type == layout.String {
		for i := range n {
			t.Strings = append(t.Strings, fmt.Sprint("s", i))
		}
		return t
	}
	t.Data = make([]byte, (n*int64(t.Type.Bits())+7)/8)
	for i := range t.Data {
		t.Data[i] = byte(rng.Uint32())
		if t.Type == layout.Bool {
			t.Data[i] &= 1
		}
	}
	if used := n * int64(t.Type.Bits()) % 8; used != 0 {
		t.Data[len(t.Data)-1] &= 1<<used - 1
	}
	return t
}

// randomValue is a sequence of tensors of one type.
func randomValue(rng *rand.Rand) *model.Value {
	v := &model.Value{Kind: model.SequenceType}
	one := randomTensor(rng)
	for range rng.IntN(5) {
		x := one
		v.Items = append(v.Items, model.Value{Kind: model.TensorType, Tensor: &x})
	}
	return v
}

// randomArray is a numpy file of an array.
func randomArray(rng *rand.Rand) []byte {
	types := []string{"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<f2", "<f4", "<f8", "<c8", "<c16"}
	bytes := []int{1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16}
	i, n := rng.IntN(len(types)), 1
	var dims []string
	for range rng.IntN(4) {
		d := rng.IntN(5)
		dims, n = append(dims, fmt.Sprint(d, ",")), n*d
	}
	order := []string{"False", "True"}[rng.IntN(2)]
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", types[i], order, strings.Join(dims, " "))
	head += strings.Repeat(" ", 63-(len(head)+10)%64) + "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), le(uint64(len(head)), 2)...)
	return append(append(file, head...), make([]byte, n*bytes[i])...)
}

// externalModel is a model whose constants are in another file, which is in the
// try's folder and may be too short.
func externalModel(t *Trial) ([]byte, error) {
	const name = "data.bin"
	if err := os.WriteFile(filepath.Join(t.Dir, name), make([]byte, t.Rand.Int64N(1<<14)), 0o600); err != nil {
		return nil, err
	}
	f := newFuse(t.Rand)
	f.elem = layout.Float32
	f.times(4, func() {
		x := model.Tensor{Name: f.name(), Type: layout.Float32, Dims: layout.Shape{t.Rand.Int64N(1 << 10)}}
		x.External = &model.External{Path: name, Offset: t.Rand.Int64N(1 << 13), Length: 4 * x.Dims[0]}
		if t.Rand.IntN(4) == 0 {
			x.External.Length = -1
		}
		f.m.Graph.Initializers = append(f.m.Graph.Initializers, x)
		f.x = x.Name
		f.then("Reshape", []string{f.list(-1)})
		f.x = f.node("Concat", []string{f.x, f.x}, onnx.Int("axis", 0))
	})
	return f.model().Marshal()
}

// texts are possible names, paths and numbers in files.
var texts = []string{
	"", ".", "..", "../data.bin", "/etc/passwd", "/dev/zero", "none", "data.bin/", "a/../data.bin", "x\x1b[2J\n", "\xff\xfe", "\u202e", "\x00",
	strings.Repeat("x", 5000), "0", "-1", "-9223372036854775808", "9223372036854775807", "18446744073709551616", "1e9", "0x10", " 4", "+4", "NaN",
	"external_data", "location", "offset", "length", "Identity", "Cast", "ai.onnx", "value",
}
