package quant_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride" // all devices
	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

// vectors is a folder of small checkpoints, FROM-to-TO/NAME, and what becomes of them.
const vectors = "../../shared/quant/vectors"

// about is what about.json of a case says beside config.json.
type about struct {
	From, To string
	Bits     int64 // 0: 4, where it counts
}

func open(t *testing.T, path string) *checkpoint.Checkpoint {
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func content(t *testing.T, x *checkpoint.Tensor) []byte {
	b, err := io.ReadAll(io.NewSectionReader(x, 0, x.Size()))
	require.NoError(t, err)
	return b
}

// TestVectors converts them on the device that RESTRIDE_TEST_DEVICE names, and back.
func TestVectors(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(cmp.Or(os.Getenv("RESTRIDE_QUANT_VECTORS"), vectors), "*", "*"))
	require.NoError(t, err)
	if len(dirs) == 0 {
		t.Skip("there are no vectors in ", vectors)
	}
	s, err := tensor.Open(cmp.Or(os.Getenv("RESTRIDE_TEST_DEVICE"), "cpu"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	tensor.CheckLeaks(t, s)
	for _, dir := range dirs {
		t.Run(filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)), func(t *testing.T) { convert(t, s, dir) })
	}
}

func convert(t *testing.T, s *tensor.Stream, dir string) {
	var a about
	b, err := os.ReadFile(filepath.Join(dir, "about.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &a))
	from, err := quant.Lookup(a.From)
	require.NoError(t, err)
	to, err := quant.Lookup(a.To)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "source.*"))
	require.NoError(t, err)
	c := open(t, files[0])
	d, err := quant.Describe(c.Config, nil)
	require.NoError(t, err)
	p := d.Params
	if d.Format == nil {
		p = quant.Params{Group: -1}
		if a.From == "hqq" || a.From == "packed" { // whose codes alone do not say it
			p.Bits = cmp.Or(a.Bits, 4)
		}
	}
	plan, got := repack(t, s, from, p, to, described(c), func(name string) []byte { return content(t, c.Lookup(name)) })
	want := open(t, filepath.Join(dir, "expected.safetensors"))
	require.Len(t, plan.To.Tensors, len(want.Tensors))
	for _, x := range plan.To.Tensors {
		w := want.Lookup(x.Name)
		require.NotNil(t, w, x.Name)
		if a.To != "gguf" { // whose blocks are bytes there
			assert.Equal(t, w.Type.Name, x.Type, x.Name)
			assert.Equal(t, w.Dims, x.Dims, x.Name)
		}
		assert.True(t, bytes.Equal(content(t, w), got[x.Name]), x.Name)
	}
	if a.To == "tiles128x4" || a.To == "float" {
		return // the former does not say how many rows and columns are no padding
	}
	// The way back, by what the tensors themselves say.
	if p.ZeroLess {
		from, err = quant.Lookup("gptq-v1")
		require.NoError(t, err)
	}
	said := quant.Params{Bits: plan.To.Params.Bits, Group: -1}
	back, again := repack(t, s, to, said, from, plan.To.Tensors, func(name string) []byte { return got[name] })
	require.Len(t, back.To.Tensors, len(c.Tensors))
	for _, x := range back.To.Tensors {
		w := c.Lookup(x.Name)
		require.NotNil(t, w, x.Name)
		assert.Equal(t, w.Type.Name, x.Type, x.Name)
		assert.Equal(t, w.Dims, x.Dims, x.Name)
		assert.True(t, bytes.Equal(content(t, w), again[x.Name]), x.Name)
	}
}

func described(c *checkpoint.Checkpoint) (all []quant.Tensor) {
	for _, x := range c.Tensors {
		all = append(all, quant.Tensor{Name: x.Name, Type: x.Type.Name, Dims: x.Dims})
	}
	return all
}

// repack converts the one weight that there is, and returns the bytes of its tensors.
func repack(t *testing.T, s *tensor.Stream, from *quant.Format, p quant.Params, to *quant.Format, all []quant.Tensor, content func(name string) []byte) (*quant.Plan, map[string][]byte) {
	weights, rest, err := quant.Find(from, p, all)
	require.NoError(t, err)
	require.Len(t, weights, 1)
	require.Empty(t, rest)
	plan, err := weights[0].Plan(to)
	require.NoError(t, err)
	src := quant.Memory{}
	for _, x := range weights[0].Tensors {
		b := content(x.Name)
		src[x.Name], err = tensor.FromBytes(s, layout.Uint8, b, int64(len(b)))
		require.NoError(t, err)
	}
	got, err := plan.Run(s, src)
	require.NoError(t, err)
	require.NoError(t, src.Release())
	defer func() { assert.NoError(t, got.Release()) }()
	out := map[string][]byte{}
	for name, x := range got {
		out[name], err = x.Bytes()
		require.NoError(t, err)
	}
	return plan, out
}
