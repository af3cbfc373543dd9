package gorgonia_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	gt "gorgonia.org/tensor"
)

// byGorgonia is the usual code of model converters with gorgonia's tensors.
func byGorgonia(t *testing.T, r gorgonia.Repack, x []float32, shape ...int) []float32 {
	y := gt.New(gt.WithShape(shape...), gt.WithBacking(append([]float32(nil), x...)))
	require.NoError(t, y.Reshape(r.Shape...))
	require.NoError(t, y.T(append([]int(nil), r.Axes...)...))
	require.NoError(t, y.Reshape(shape...))
	require.NoError(t, y.Transpose())
	return y.Data().([]float32)
}

// byIndex moves elements of size bytes one by one.
func byIndex(r gorgonia.Repack, x []byte, size int) []byte {
	strides := gt.Shape(r.Shape).CalcStrides()
	at := make([]int, len(r.Shape))
	var out []byte
	for range len(x) / size {
		from := 0
		for i, a := range r.Axes {
			from += at[i] * strides[a]
		}
		out = append(out, x[from*size:(from+1)*size]...)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < r.Shape[r.Axes[i]] {
				break
			}
			at[i] = 0
		}
	}
	return out
}

func TestRotary(t *testing.T) {
	r, err := gorgonia.Rotary(4, 32, 6)
	require.NoError(t, err)
	assert.Equal(t, gorgonia.Repack{Shape: []int{4, 2, 4, 6}, Axes: []int{0, 2, 1, 3}}, r)
	x := make([]float32, 32*6)
	for i := range x {
		x[i] = rand.Float32()
	}
	want := byGorgonia(t, r, x, 32, 6)
	got, err := gorgonia.Repacked(r, x)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	bias, err := gorgonia.Rotary(1, 4)
	require.NoError(t, err)
	pairs, err := gorgonia.Repacked(bias, []float32{0, 1, 2, 3})
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 2, 1, 3}, pairs)

	for _, shape := range [][]int{nil, {33, 6}, {20, 6}, {-8, 1}} {
		_, err := gorgonia.Rotary(4, shape...)
		refused(t, err, "Rotary: shape")
	}
	_, err = gorgonia.Rotary(0, 8)
	refused(t, err, "0 heads")
}

// TestRepack rearranges random shapes, in each of the ways.
func TestRepack(t *testing.T) {
	r := seeded(t)
	for range 300 {
		p := gorgonia.Repack{}
		n := 1
		for range 1 + r.IntN(5) {
			p.Shape = append(p.Shape, r.IntN(7))
			n *= p.Shape[len(p.Shape)-1]
		}
		keep := r.IntN(len(p.Shape) + 1) // axes that do not move
		for i := range p.Shape {
			p.Axes = append(p.Axes, i)
		}
		r.Shuffle(len(p.Shape)-keep, func(i, j int) {
			p.Axes[keep+i], p.Axes[keep+j] = p.Axes[keep+j], p.Axes[keep+i]
		})
		for _, dt := range []layout.DType{layout.BFloat16, layout.Float16, layout.Float32, layout.Float8E4M3FN, layout.Complex128} {
			size := dt.Bits() / 8
			src := make([]byte, n*size)
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			want := byIndex(p, src, size)
			dst := make([]byte, len(src))
			require.NoError(t, p.Bytes(dst, src, dt), "%v", p)
			require.True(t, bytes.Equal(want, dst), "%v of %v", p, dt)
			var out bytes.Buffer
			written, err := p.Copy(&out, iotest.OneByteReader(bytes.NewReader(src)), dt)
			require.NoError(t, err, "%v", p)
			require.EqualValues(t, len(src), written)
			require.True(t, bytes.Equal(want, out.Bytes()), "%v of %v", p, dt)
		}
	}
}

// Pieces of a large array go one after the other.
func TestRepackCopyByPieces(t *testing.T) {
	p, err := gorgonia.Rotary(40, 40*128, 1024) // 10 MiB of bfloat16: 40 heads of 256 KiB
	require.NoError(t, err)
	r := seeded(t)
	src := make([]byte, 40*128*1024*2)
	for i := 0; i < len(src); i += 8 {
		v := r.Uint64()
		for k := range 8 {
			src[i+k] = byte(v >> (8 * k))
		}
	}
	want := make([]byte, len(src))
	require.NoError(t, p.Bytes(want, src, layout.BFloat16))
	var pieces []int
	var out bytes.Buffer
	written, err := p.Copy(writer(func(b []byte) (int, error) {
		pieces = append(pieces, len(b))
		return out.Write(b)
	}), bytes.NewReader(src), layout.BFloat16)
	require.NoError(t, err)
	assert.EqualValues(t, len(src), written)
	assert.Equal(t, []int{8 << 20, 2 << 20}, pieces)
	assert.True(t, bytes.Equal(want, out.Bytes()))
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestRepackDense(t *testing.T) {
	p, err := gorgonia.Rotary(2, 8, 3)
	require.NoError(t, err)
	x := numbers(gt.StdEng{}, 8, 3)
	want := byGorgonia(t, p, x.Data().([]float32), 8, 3)
	y, err := p.Dense(x)
	require.NoError(t, err)
	assert.Equal(t, gt.StdEng{}, y.Engine())
	assert.Equal(t, gt.Shape{8, 3}, y.Shape())
	assert.Equal(t, want, y.Data())
	onDevices(t, func(t *testing.T, e *gorgonia.Device, _ *tensor.Stream) {
		d, err := e.ToDevice(x)
		require.NoError(t, err)
		moved, err := p.Dense(d)
		require.NoError(t, err)
		got, err := e.ToHost(moved)
		require.NoError(t, err)
		assert.Equal(t, want, got.Data())
	})
	_, err = p.Dense(nil)
	refused(t, err, "Repack: tensor 0")
	_, err = p.Dense(numbers(gt.StdEng{}, 4, 3))
	refused(t, err, "Repack")
	_, err = p.Dense(gt.New(gt.WithShape(8, 3), gt.Of(gt.String)))
	refused(t, err, "string")
}

func TestRepackRefuses(t *testing.T) {
	p := gorgonia.Repack{Shape: []int{2, 3}, Axes: []int{1, 0}}
	x := make([]byte, 24)
	for _, bad := range []gorgonia.Repack{
		{Shape: []int{2, 3}}, {Shape: []int{2, 3}, Axes: []int{0, 0}}, {Shape: []int{2, 3}, Axes: []int{0, 2}},
		{Shape: []int{2, 3}, Axes: []int{-1, 0}}, {Shape: []int{2, 3}, Axes: []int{0, 1, 2}}, {Axes: []int{0}},
	} {
		refused(t, bad.Bytes(x, make([]byte, 24), layout.Float32), "must be there once")
		_, err := bad.Copy(io.Discard, bytes.NewReader(x), layout.Float32)
		refused(t, err, "must be there once")
	}
	refused(t, gorgonia.Repack{Shape: []int{2, -3}, Axes: []int{1, 0}}.Bytes(x, x, layout.Float32), "Repack: [2,-3]")
	refused(t, p.Bytes(x, make([]byte, 23), layout.Float32), "from 23 bytes to 24")
	refused(t, p.Bytes(x[:12], x[11:23], layout.Float16), "share memory")
	refused(t, p.Bytes(x[:12], x[11:23], layout.Int4), "no whole bytes")
	refused(t, p.Bytes(x, x, layout.String), "no whole bytes")
	_, err := gorgonia.Repacked(p, []string{"a"})
	refused(t, err, "no whole bytes")
	_, err = gorgonia.Repacked(p, []float32{1})
	refused(t, err, "1 elements; [2 3] are 6")
	written, err := p.Copy(io.Discard, bytes.NewReader(x[:11]), layout.Float16)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Zero(t, written)
	full := errors.New("full")
	_, err = p.Copy(writer(func([]byte) (int, error) { return 0, full }), bytes.NewReader(x), layout.Float16)
	require.ErrorIs(t, err, full)
	_, err = gorgonia.Repack{Shape: []int{1 << 40, 1 << 20}, Axes: []int{1, 0}}.Copy(io.Discard, bytes.NewReader(x), layout.Float16)
	refused(t, err, "Repack")
}

func TestRepackFile(t *testing.T) {
	r := seeded(t)
	for _, format := range []checkpoint.Format{checkpoint.Safetensors, checkpoint.GGUF} {
		for _, of := range []string{"F32", "F16", "BF16"} {
			t.Run(format.String()+"/"+of, func(t *testing.T) {
				element, err := format.Type(of)
				require.NoError(t, err)
				dir := t.TempDir()
				src, dst := filepath.Join(dir, "in"), filepath.Join(dir, "out")
				w, err := checkpoint.Create(src, checkpoint.Header{Format: format, Tensors: []*checkpoint.Tensor{
					{Name: "q_proj.weight", Type: element, Dims: []int64{16, 3}}, {Name: "v_proj.weight", Type: element, Dims: []int64{16, 3}}}}, "")
				require.NoError(t, err)
				content := map[string][]byte{}
				for i, x := range w.Tensors {
					b := make([]byte, 16*3*int(element.BlockBytes))
					for k := range b {
						b[k] = byte(r.Uint32())
					}
					content[x.Name] = b
					require.NoError(t, w.WriteAt(i, b, 0))
					require.NoError(t, w.Finish(i))
				}
				require.NoError(t, w.Commit())

				rule := func(name string, shape []int) (*gorgonia.Repack, error) {
					if !strings.HasPrefix(name, "q_") {
						return nil, nil
					}
					p, err := gorgonia.Rotary(2, shape...)
					return &p, err
				}
				require.NoError(t, gorgonia.RepackFile(dst, src, rule))
				p, err := gorgonia.Rotary(2, 16, 3)
				require.NoError(t, err)
				content["q_proj.weight"] = byIndex(p, content["q_proj.weight"], int(element.BlockBytes))
				f, err := checkpoint.OpenFile(dst)
				require.NoError(t, err)
				defer f.Close()
				require.Len(t, f.Tensors, 2)
				for _, x := range f.Tensors {
					got, err := io.ReadAll(io.NewSectionReader(x, 0, x.Size()))
					require.NoError(t, err)
					assert.Equal(t, element.Name, x.Type.Name)
					assert.Equal(t, []int64{16, 3}, x.Dims)
					assert.Equal(t, content[x.Name], got, x.Name)
				}
			})
		}
	}
}

func TestRepackFileRefuses(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	element, err := checkpoint.GGUF.Type("Q4_0")
	require.NoError(t, err)
	w, err := checkpoint.Create(src, checkpoint.Header{Format: checkpoint.GGUF, Tensors: []*checkpoint.Tensor{{Name: "w", Type: element, Dims: []int64{4, 32}}}}, "")
	require.NoError(t, err)
	require.NoError(t, w.Finish(0))
	require.NoError(t, w.Commit())
	none := errors.New("none of this")
	for says, rule := range map[string]func(string, []int) (*gorgonia.Repack, error){
		"no whole bytes": func(_ string, shape []int) (*gorgonia.Repack, error) {
			p, err := gorgonia.Rotary(1, shape...)
			return &p, err
		},
		"Rotary": func(_ string, shape []int) (*gorgonia.Repack, error) {
			_, err := gorgonia.Rotary(3, shape...)
			return nil, err
		},
		"none of this": func(string, []int) (*gorgonia.Repack, error) { return nil, none },
	} {
		require.ErrorContains(t, gorgonia.RepackFile(dst, src, rule), says)
		require.NoFileExists(t, dst)
	}
	keep := func(string, []int) (*gorgonia.Repack, error) { return nil, nil }
	require.ErrorIs(t, gorgonia.RepackFile(dst, filepath.Join(dir, "nothing"), keep), os.ErrNotExist)
	require.NoError(t, gorgonia.RepackFile(dst, src, keep))
	require.FileExists(t, dst)
}
