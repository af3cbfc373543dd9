package gorgonia_test

import (
	"math"
	"sync"
	"testing"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	gt "gorgonia.org/tensor"
)

// gorgonia finds these methods by type assertion.
var (
	_ gt.Transposer   = gorgonia.Host{}
	_ gt.Concater     = gorgonia.Host{}
	_ gt.DenseStacker = gorgonia.Host{}
	_ gt.Repeater     = gorgonia.Host{}
	_ gt.Adder        = gorgonia.Host{}
	_ gt.NonStdEngine = (*gorgonia.Device)(nil)
	_ gt.Transposer   = (*gorgonia.Device)(nil)
	_ gt.Concater     = (*gorgonia.Device)(nil)
	_ gt.DenseStacker = (*gorgonia.Device)(nil)
	_ gt.Repeater     = (*gorgonia.Device)(nil)
)

func numbers(e gt.Engine, shape ...int) *gt.Dense {
	n := gt.Shape(shape).TotalSize()
	return gt.New(gt.WithShape(shape...), gt.WithBacking(gt.Range(gt.Float32, 0, n)), gt.WithEngine(e))
}

// Results keep the engine, so that later operations are Restride's, too; arithmetic is
// StdEng's.
func TestHostKeepsItsEngine(t *testing.T) {
	x := numbers(gorgonia.Host{}, 2, 3)
	joined, err := x.Concat(1, x)
	require.NoError(t, err)
	stacked, err := x.Stack(0, x)
	require.NoError(t, err)
	repeated, err := x.Repeat(0, 2)
	require.NoError(t, err)
	view, err := joined.Slice(nil, gt.S(1, 3))
	require.NoError(t, err)
	made, err := gorgonia.Host{}.Materialize(view)
	require.NoError(t, err)
	sum, err := joined.Add(joined)
	require.NoError(t, err)
	for _, y := range []gt.Tensor{joined, stacked, repeated, view, made, sum} {
		assert.Equal(t, gorgonia.Host{}, y.Engine())
	}
	assert.Equal(t, []float32{1, 2, 4, 5}, made.Data())
	assert.Equal(t, []float32{0, 2, 4, 0, 2, 4, 6, 8, 10, 6, 8, 10}, sum.Data())
}

// Column-major tensors are transposed to column-major ones, which StdEng does wrongly.
func TestColumnMajor(t *testing.T) {
	x := gt.New(gt.WithShape(2, 3), gt.Of(gt.Float64), gt.WithEngine(gorgonia.Host{}), gt.AsFortran([]float64{0, 1, 2, 3, 4, 5}))
	require.NoError(t, x.T())
	want := content(x)
	require.NoError(t, x.Transpose())
	assert.Equal(t, gt.Shape{3, 2}, x.Shape())
	assert.Equal(t, []int{1, 3}, x.Strides())
	assert.Equal(t, want, content(x))
}

// A named type is moved as its underlying type.
func TestNamedType(t *testing.T) {
	type half uint16
	x := gt.New(gt.WithShape(2, 2), gt.WithBacking([]half{1, 2, 3, 4}), gt.WithEngine(gorgonia.Host{}))
	require.NoError(t, x.T())
	require.NoError(t, x.Transpose())
	assert.Equal(t, []half{1, 3, 2, 4}, x.Data())
}

// StdEng handles cases that Restride lacks: strings, and masks, which move with the elements.
func TestHostLeavesToStdEng(t *testing.T) {
	e := gorgonia.Host{}
	words := func() *gt.Dense {
		return gt.New(gt.WithShape(2, 2), gt.WithBacking([]string{"a", "b", "c", "d"}), gt.WithEngine(e))
	}
	x := words()
	require.NoError(t, x.T())
	made, err := e.Materialize(x)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "c", "b", "d"}, made.Data())
	require.NoError(t, x.Transpose())
	assert.Equal(t, []string{"a", "c", "b", "d"}, x.Data())
	y, err := words().Concat(0, words())
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c", "d", "a", "b", "c", "d"}, y.Data())
	assert.Equal(t, e, y.Engine())
	y, err = words().Stack(0, words())
	require.NoError(t, err)
	assert.Equal(t, gt.Shape{2, 2, 2}, y.Shape())
	assert.Equal(t, e, y.Engine())
	z, err := words().Repeat(0, 2)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "a", "b", "c", "d", "c", "d"}, z.Data())

	m := numbers(e, 2, 2)
	m.SetMask([]bool{false, true, false, false})
	require.NoError(t, m.T())
	require.NoError(t, m.Transpose())
	assert.Equal(t, []float32{0, 2, 1, 3}, m.Data())
	assert.Equal(t, []bool{false, false, true, false}, m.Mask())
}

func TestRepeatForms(t *testing.T) {
	onEngines(t, func(t *testing.T, s subject) {
		put := func(x *gt.Dense) *gt.Dense {
			y, err := s.put(x)
			require.NoError(t, err)
			return y
		}
		for _, c := range []struct {
			name    string
			x       *gt.Dense
			axis    int
			repeats []int
			shape   gt.Shape
			want    any
		}{
			{"scalar to a vector", gt.New(gt.FromScalar(float32(7))), 0, []int{3}, gt.Shape{3}, []float32{7, 7, 7}},
			{"scalar to a row", gt.New(gt.FromScalar(float32(7))), 1, []int{2}, gt.Shape{1, 2}, []float32{7, 7}},
			{"vector to columns", numbers(gt.StdEng{}, 2), 1, []int{2}, gt.Shape{2, 2}, []float32{0, 0, 1, 1}},
			{"row", numbers(gt.StdEng{}, 1, 3), 0, []int{2}, gt.Shape{2, 3}, []float32{0, 1, 2, 0, 1, 2}},
			{"not at all", numbers(gt.StdEng{}, 2, 2), 0, []int{0, 2}, gt.Shape{2, 2}, []float32{2, 3, 2, 3}},
			{"each its own", numbers(gt.StdEng{}, 2, 3), 1, []int{2, 0, 1}, gt.Shape{2, 3}, []float32{0, 0, 2, 3, 3, 5}},
			{"all axes", numbers(gt.StdEng{}, 2, 2), gt.AllAxes, []int{1, 0, 2, 1}, gt.Shape{4}, []float32{0, 2, 2, 3}},
		} {
			t.Run(c.name, func(t *testing.T) {
				y, err := gt.Repeat(put(c.x), c.axis, c.repeats...)
				require.NoError(t, err)
				require.Equal(t, c.shape, y.Shape())
				got, err := s.get(y)
				require.NoError(t, err)
				require.Equal(t, c.want, got.Data())

				reuse := put(gt.New(gt.WithShape(c.shape...), gt.Of(gt.Float32)))
				z, err := gt.RepeatReuse(put(c.x), reuse, c.axis, c.repeats...)
				require.NoError(t, err)
				require.Same(t, reuse, z)
				got, err = s.get(z)
				require.NoError(t, err)
				require.Equal(t, c.want, got.Data())
			})
		}
	})
}

// Tensors without elements have no memory, so gorgonia has no address for it.
func TestNoElements(t *testing.T) {
	onEngines(t, func(t *testing.T, s subject) {
		x, err := s.put(gt.New(gt.WithShape(0, 3), gt.Of(gt.Int16)))
		require.NoError(t, err)
		y, err := x.Concat(0, x)
		require.NoError(t, err)
		assert.Equal(t, gt.Shape{0, 3}, y.Shape())
		require.NoError(t, x.T())
		require.NoError(t, x.Transpose())
		z, err := x.Repeat(0, 2)
		require.NoError(t, err)
		assert.Equal(t, gt.Shape{6, 0}, z.Shape())
		none, err := gt.Repeat(z, gt.AllAxes, 0)
		require.NoError(t, err)
		got, err := s.get(none)
		require.NoError(t, err)
		assert.Zero(t, got.Shape().TotalSize())
	})
}

// refused fails unless an error is of a kind, and has a message.
func refused(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorContains(t, err, says)
	for _, kind := range refusals {
		if isCause(err, kind) {
			return
		}
	}
	t.Errorf("%v is of no kind", err)
}

func TestBadShapesAndTypes(t *testing.T) {
	onEngines(t, func(t *testing.T, s subject) {
		put := func(x *gt.Dense) *gt.Dense {
			y, err := s.put(x)
			require.NoError(t, err)
			return y
		}
		x := put(numbers(gt.StdEng{}, 2, 3))
		ints := put(gt.New(gt.WithShape(2, 3), gt.Of(gt.Int32)))

		_, err := x.Concat(0, put(numbers(gt.StdEng{}, 2, 2)))
		refused(t, err, "Concat: shapes (2, 3), [(2, 2)] along axis 0")
		_, err = x.Concat(2, x)
		refused(t, err, "along axis 2")
		_, err = x.Concat(-2, x)
		refused(t, err, "along axis -2")
		_, err = x.Concat(0, ints)
		refused(t, err, "tensor 1 has elements of type int32, and tensor 0 of type float32")
		_, err = x.Stack(0, put(numbers(gt.StdEng{}, 3, 2)))
		refused(t, err, "Stack: tensor 1 has shape (3, 2), and tensor 0 (2, 3)")
		_, err = x.Stack(4, x)
		refused(t, err, "a new axis 4 of shape (2, 3)")
		_, err = x.Stack(-1, x)
		refused(t, err, "a new axis -1")
		_, err = x.Repeat(2, 2)
		refused(t, err, "Repeat: axis 2 of shape (2, 3)")
		_, err = x.Repeat(-2, 2)
		refused(t, err, "axis -2")
		_, err = x.Repeat(1, 1, 2)
		refused(t, err, "2 repeats for 3 elements along axis 1")
		_, err = x.Repeat(1, -1)
		refused(t, err, "must not be negative")
		_, err = x.Repeat(1, math.MaxInt)
		refused(t, err, "Repeat")
		_, err = x.Repeat(1, math.MaxInt, 1, 1)
		refused(t, err, "Repeat")
		_, err = x.Repeat(0, 1<<55)
		refused(t, err, "Repeat")
		_, err = gt.RepeatReuse(x, x, 0, 2)
		refused(t, err, "has shape (2, 3), and the result (4, 3)")
		_, err = s.materialize(nil)
		refused(t, err, "is a <nil>")
		_, err = s.materialize((*gt.Dense)(nil))
		refused(t, err, "not a *tensor.Dense")
		_, err = s.materialize(&gt.CS{})
		refused(t, err, "is a *tensor.CS")
		_, err = s.get(nil)
		refused(t, err, "is a <nil>")
	})
}

// Strides that lead out of a tensor's memory are refused before anything is read.
func TestStridesOutOfMemory(t *testing.T) {
	x := numbers(gorgonia.Host{}, 2, 3)
	require.NoError(t, x.T())
	x.Strides()[0] = 100
	_, err := gorgonia.Host{}.Materialize(x)
	refused(t, err, "Materialize")
	refused(t, x.Transpose(), "Transpose")
}

func TestForeignTensors(t *testing.T) {
	onDevices(t, func(t *testing.T, e *gorgonia.Device, s *tensor.Stream) {
		host := numbers(gorgonia.Host{}, 2, 3)
		x, err := e.ToDevice(host)
		require.NoError(t, err)
		_, err = x.Concat(0, host)
		refused(t, err, "is not memory of this engine")
		_, err = host.Concat(0, x)
		refused(t, err, "tensor 1 is not in the host's memory: its engine is a *gorgonia.Device")
		_, err = e.ToDevice(x)
		refused(t, err, "not in the host's memory")
		_, err = e.ToHost(host)
		refused(t, err, "is not memory of this engine")

		other, err := gorgonia.NewDevice(s)
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		y, err := other.ToDevice(host)
		require.NoError(t, err)
		_, err = x.Concat(0, y)
		refused(t, err, "is not memory of this engine: it is another's, or has been freed")
		refused(t, e.Memcpy(x, y), "is not memory of this engine")
		refused(t, e.Free(y, 0), "is not memory of this engine")

		_, err = e.ToDevice(gt.New(gt.WithBacking([]string{"a", "b"})))
		refused(t, err, "string")
		masked := numbers(gt.StdEng{}, 4)
		masked.SetMask(make([]bool, 4))
		_, err = e.ToDevice(masked)
		refused(t, err, "mask")
		_, err = gt.Add(x, x)
		require.ErrorContains(t, err, "Add")
	})
}

// Goroutines may share engines.
func TestConcurrent(t *testing.T) {
	onEngines(t, func(t *testing.T, s subject) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 50 {
					x, err := s.put(numbers(gt.StdEng{}, 2, 3))
					if !assert.NoError(t, err) {
						return
					}
					assert.NoError(t, x.T())
					assert.NoError(t, x.Transpose())
					y, err := s.get(x)
					assert.NoError(t, err)
					assert.Equal(t, []float32{0, 3, 1, 4, 2, 5}, y.Data())
					assert.NoError(t, s.free(x))
				}
			})
		}
		all.Wait()
	})
}
