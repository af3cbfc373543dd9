package infer

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/onnx/model"
)

// backendCase is a model of one node, with tensors for its inputs and outputs.
type backendCase struct {
	name     string
	model    *model.Model
	elements map[string][]byte
	types    map[string]model.Type // those of the tensors
}

func loadCase(t *testing.T, path string) *backendCase {
	m, err := model.Load(path)
	require.NoError(t, err, path)
	c := &backendCase{name: filepath.Base(filepath.Dir(path)), model: m, elements: map[string][]byte{}, types: map[string]model.Type{}}
	read := func(kind string, list []model.ValueInfo) {
		for i, in := range list {
			c.types[in.Name] = in.Type
			file := filepath.Join(filepath.Dir(path), "test_data_set_0", kind+"_"+strconv.Itoa(i)+".pb")
			v, err := model.LoadValue(file, in.Type)
			if err != nil || v.Tensor == nil { // a random model has none
				continue
			}
			c.types[in.Name] = typeOf(in.Type, v.Tensor.Dims)
			if b, err := v.Tensor.Bytes(); err == nil {
				c.elements[in.Name] = b
			}
		}
	}
	read("input", m.Graph.Inputs)
	read("output", m.Graph.Outputs)
	for i := range m.Graph.Initializers {
		v := &m.Graph.Initializers[i]
		c.types[v.Name] = typeOf(model.Type{Kind: model.TensorType, Elem: v.Type}, v.Dims)
		if b, err := v.Bytes(); err == nil {
			c.elements[v.Name] = b
		}
	}
	return c
}

func typeOf(t model.Type, dims []int64) model.Type {
	t.HasShape, t.Dims = true, nil
	for _, d := range dims {
		t.Dims = append(t.Dims, model.Known(d))
	}
	return t
}

// infer returns the types of the outputs, with or without the elements and extents of inputs.
func (c *backendCase) infer(elements, extents bool) []model.Type {
	node := &c.model.Graph.Nodes[0]
	domain := node.Domain
	if domain == "ai.onnx" {
		domain = ""
	}
	n := Node{Domain: domain, Op: node.OpType, Opset: c.model.Opsets[node.Domain], Attrs: node.Attrs, Outputs: len(node.Outputs)}
	for _, name := range node.Inputs {
		if name == "" {
			n.Inputs = append(n.Inputs, nil)
			continue
		}
		in := c.types[name]
		if !extents {
			in.Dims = append([]model.Dim(nil), in.Dims...)
			for i := range in.Dims {
				in.Dims[i] = model.Symbolic("n" + strconv.Itoa(i))
			}
		}
		n.Inputs = append(n.Inputs, &in)
	}
	if elements {
		n.Elements = func(i int) ([]byte, bool) {
			b, ok := c.elements[node.Inputs[i]]
			return b, ok
		}
	}
	return Types(n)
}

// TestBackendCases: no type contradicts the tensors of ONNX's backend cases, whatever is known
// of the inputs. With all of it known, nearly all outputs of operators with a rule are known.
func TestBackendCases(t *testing.T) {
	root := os.Getenv("RESTRIDE_ONNX_TESTS")
	if root == "" {
		root = filepath.FromSlash("../../build/onnx-cases") // see scripts/cases.sh
	}
	models, err := filepath.Glob(filepath.Join(root, "node", "*", "model.onnx"))
	require.NoError(t, err)
	if len(models) == 0 {
		t.Skip("ONNX's node tests are not here (RESTRIDE_ONNX_TESTS)")
	}
	outputs, known := 0, 0
	for _, path := range models {
		c := loadCase(t, path)
		if len(c.model.Graph.Nodes) != 1 {
			continue
		}
		node := &c.model.Graph.Nodes[0]
		if domains[node.Domain][node.OpType] == nil {
			continue
		}
		for _, with := range []struct{ elements, extents bool }{{true, true}, {false, true}, {true, false}, {false, false}} {
			for i, got := range c.infer(with.elements, with.extents) {
				want, ok := c.types[node.Outputs[i]]
				if !ok || node.Outputs[i] == "" {
					continue
				}
				assert.True(t, agree(want, got, with.extents), "%s %s: %v; with %+v inferred %v", c.name, node.OpType, want, with, got)
				if with.elements && with.extents {
					if outputs++; got.String() == want.String() {
						known++
					} else {
						t.Logf("%s %s: %v, inferred %v", c.name, node.OpType, want, got)
					}
				}
			}
		}
	}
	t.Logf("%d of %d outputs are fully known", known, outputs)
	require.Greater(t, known, outputs*95/100)
}

// agree reports whether a type does not contradict another. Symbolic inputs may only give
// extents that are right for any of their values; these are not checked further.
func agree(want, got model.Type, extents bool) bool {
	if got.Kind == model.UnknownType {
		return true
	}
	if got.Kind != want.Kind || got.Elem != 0 && got.Elem != want.Elem {
		return false
	}
	if !got.HasShape {
		return true
	}
	if len(got.Dims) != len(want.Dims) {
		return false
	}
	for i, d := range got.Dims {
		if d.Value >= 0 && want.Dims[i].Value >= 0 && d.Value != want.Dims[i].Value {
			return false
		}
	}
	return true
}
