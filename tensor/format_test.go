package tensor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// show returns what String says of a new tensor seen through a view of it.
func show[T layout.Element](t *testing.T, data []T, dims []int64, view func(*Tensor) (*Tensor, error)) string {
	t.Helper()
	x, err := FromSlice(Host(), data, dims...)
	require.NoError(t, err)
	defer x.Release()
	if view == nil {
		return x.String()
	}
	v, err := view(x)
	require.NoError(t, err)
	defer v.Release()
	return v.String()
}

func iota32(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func TestString(t *testing.T) {
	require.Equal(t, "float[2,3] on cpu:\n[[0.  0.1 0.2]\n [1.  1.1 1.2]]",
		show(t, []float32{0, .1, .2, 1, 1.1, 1.2}, []int64{2, 3}, nil))
	require.Equal(t, "int32[3,2] on cpu:\n[[0 3]\n [1 4]\n [2 5]]",
		show(t, iota32(6), []int64{2, 3}, func(x *Tensor) (*Tensor, error) { return x.Transpose() }))
	require.Equal(t, "int32[3] on cpu: [9 6 3]",
		show(t, iota32(10), nil, func(x *Tensor) (*Tensor, error) { return x.Slice(0, -1, 0, -3) }))
	require.Equal(t, "bool[2,2] on cpu:\n[[ True  True]\n [False False]]",
		show(t, []bool{true, false}, []int64{2, 1}, func(x *Tensor) (*Tensor, error) { return x.Expand(2, 2) }))
	require.Equal(t, "complex64[2] on cpu: [1.+2.j 0.-1.j]", show(t, []complex64{1 + 2i, -1i}, nil, nil))
	require.Equal(t, "string[2,2] on cpu:\n[['a' \"it's\"]\n ['bc' '']]",
		show(t, []string{"a", "bc", "it's", ""}, []int64{2, 2}, func(x *Tensor) (*Tensor, error) { return x.Transpose() }))
	require.Equal(t, "double[] on cpu: 0.1", show(t, []float64{.1}, []int64{}, nil))
	require.Equal(t, "float[0,3] on cpu: []", show(t, []float32{}, []int64{0, 3}, nil))
	require.Equal(t, "string[0] on cpu: []", show(t, []string{}, nil, nil))
}

// TestStringSummary: numpy's str of np.arange(1200).reshape(3,20,20)[::-1,:,::-1].
func TestStringSummary(t *testing.T) {
	got := show(t, iota32(1200), []int64{3, 20, 20}, func(x *Tensor) (*Tensor, error) {
		y, err := x.Slice(0, -1, -4, -1)
		if err != nil {
			return nil, err
		}
		defer y.Release()
		return y.Slice(2, -1, -21, -1)
	})
	require.Equal(t, `int32[3,20,20] on cpu:
[[[ 819  818  817 ...  802  801  800]
  [ 839  838  837 ...  822  821  820]
  [ 859  858  857 ...  842  841  840]
  ...
  [1159 1158 1157 ... 1142 1141 1140]
  [1179 1178 1177 ... 1162 1161 1160]
  [1199 1198 1197 ... 1182 1181 1180]]

 [[ 419  418  417 ...  402  401  400]
  [ 439  438  437 ...  422  421  420]
  [ 459  458  457 ...  442  441  440]
  ...
  [ 759  758  757 ...  742  741  740]
  [ 779  778  777 ...  762  761  760]
  [ 799  798  797 ...  782  781  780]]

 [[  19   18   17 ...    2    1    0]
  [  39   38   37 ...   22   21   20]
  [  59   58   57 ...   42   41   40]
  ...
  [ 359  358  357 ...  342  341  340]
  [ 379  378  377 ...  362  361  360]
  [ 399  398  397 ...  382  381  380]]]`, got)
	require.Equal(t, "string[1001] on cpu: ['a' '' '' ... '' '' 'z']", show(t, append(append([]string{"a"}, make([]string, 999)...), "z"), nil, nil))
}

// TestStringPacked: every view of elements of every width below a byte shows
// what the same elements show one a byte.
func TestStringPacked(t *testing.T) {
	data := make([]byte, 64)
	for i := range data {
		data[i] = byte(i*i*7 + i)
	}
	for _, dtype := range []layout.DType{layout.Int4, layout.Uint4, layout.Int2, layout.Uint2} {
		n := int64(len(data) * 8 / dtype.Bits())
		x, err := FromBytes(Host(), dtype, data, n/4, 4)
		require.NoError(t, err)
		wide, err := x.Unpack()
		require.NoError(t, err)
		for _, view := range []func(*Tensor) (*Tensor, error){
			(*Tensor).Alias,
			func(x *Tensor) (*Tensor, error) { return x.Transpose() },
			func(x *Tensor) (*Tensor, error) { return x.Slice(1, 1, 4, 1) },
			func(x *Tensor) (*Tensor, error) { return x.Slice(1, 3, -5, -2) },
			func(x *Tensor) (*Tensor, error) { return x.Slice(0, 1, 2, 1) },
		} {
			a, err := view(x)
			require.NoError(t, err)
			b, err := view(wide)
			require.NoError(t, err)
			require.Equal(t, strings.Replace(b.String(), wide.dtype.String(), dtype.String(), 1), a.String())
			require.NoError(t, errors.Join(a.Release(), b.Release()))
		}
		require.NoError(t, errors.Join(x.Release(), wide.Release()))
	}
}

// meter is a queue that counts what is read, or fails to.
type meter struct {
	device.Queue
	calls, bytes int
	err          error
}

func (m *meter) Read(dst []byte, src device.Buffer, off int64) error {
	m.calls++
	m.bytes += len(dst)
	if m.err != nil {
		return m.err
	}
	return m.Queue.Read(dst, src, off)
}

func TestStringReadsLittle(t *testing.T) {
	queue, err := Host().Device().NewQueue()
	require.NoError(t, err)
	defer queue.Close()
	m := &meter{Queue: queue}
	s := Adopt(Host().Device(), m)
	CheckLeaks(t, s)
	s.ForbidCopies(true)
	s.Trace(func(e Event) {
		if e.Op != "Empty" && e.Op != "New" && e.Op != "Transpose" && e.Op != "Expand" {
			t.Errorf("%v: String is not to be traced", e)
		}
	})

	x, err := New(s, layout.Float32, 1000, 5000)
	require.NoError(t, err)
	defer x.Release()
	y, err := x.Transpose()
	require.NoError(t, err)
	defer y.Release()
	for _, z := range []*Tensor{x, y} {
		*m = meter{Queue: queue}
		require.Contains(t, z.String(), "[[0. 0. 0. ... 0. 0. 0.]\n")
		require.LessOrEqual(t, m.calls, 12)
		require.LessOrEqual(t, m.bytes, 36*4+12*4096)
	}

	one, err := New(s, layout.Float32, 1)
	require.NoError(t, err)
	defer one.Release()
	huge, err := one.Expand(1<<20, 1<<20)
	require.NoError(t, err)
	defer huge.Release()
	*m = meter{Queue: queue}
	require.Contains(t, huge.String(), "[[0. 0. 0. ... 0. 0. 0.]\n")
	require.Equal(t, 1, m.calls)
	require.Equal(t, 4, m.bytes)
	deep, err := one.Expand(slicesOf(2, 20)...)
	require.NoError(t, err)
	defer deep.Release()
	require.Equal(t, fmt.Sprintf("float%v on cpu: <not shown: 1048576 elements>", deep.Shape()), deep.String())

	m.err = device.ErrOutOfMemory
	require.Equal(t, "float[1] on cpu: <not shown: out of memory>", one.String())
}

// Once there was no telling a result from a failed read.
func TestFormatFails(t *testing.T) {
	x, err := FromSlice(Host(), []int8{1, 2})
	require.NoError(t, err)
	text, err := x.Format()
	require.NoError(t, err)
	require.Equal(t, "int8[2] on cpu: [1 2]", text)
	queue := x.stream.queue
	x.stream.queue = &meter{Queue: queue, err: device.ErrOutOfMemory}
	defer func() { x.stream.queue = queue }()
	text, err = x.Format()
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	require.EqualError(t, err, "Format of int8[2]: out of memory")
	require.Empty(t, text)
	require.NoError(t, x.Release())
	_, err = x.Format()
	require.ErrorIs(t, err, ErrReleased)
	_, err = (*Tensor)(nil).Format()
	require.ErrorIs(t, err, device.ErrInvalid)
}

func slicesOf(v int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func TestStringReleased(t *testing.T) {
	x, err := FromSlice(Host(), []int8{1, 2})
	require.NoError(t, err)
	y, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, x.Release())
	require.Equal(t, "int8[2] on cpu: <released>", x.String())
	require.Equal(t, "int8[2] on cpu: [1 2]", fmt.Sprint(y))
	require.NoError(t, y.Release())
	require.Equal(t, "int8[2] on cpu: <released>", y.String())
	require.Equal(t, "<nil>", (*Tensor)(nil).String())
}

// TestRankOf64: what has the highest rank is shown whole, and a higher one is refused.
func TestRankOf64(t *testing.T) {
	dims := slices.Repeat([]int64{1}, layout.MaxRank)
	x, err := FromSlice(Host(), []float32{1}, dims...)
	require.NoError(t, err)
	defer x.Release()
	require.Contains(t, x.String(), strings.Repeat("[", layout.MaxRank)+"1."+strings.Repeat("]", layout.MaxRank))

	const rule = "rank 65 exceeds the highest, 64"
	_, err = x.Unsqueeze(0)
	require.ErrorContains(t, err, rule)
	dims = append(dims, 1)
	for _, call := range []func() (*Tensor, error){
		func() (*Tensor, error) { return x.Reshape(dims...) },
		func() (*Tensor, error) { return x.Expand(dims...) },
		func() (*Tensor, error) { return FromSlice(Host(), []float32{1}, dims...) },
		func() (*Tensor, error) { return FromHost([]float32{1}, dims...) },
		func() (*Tensor, error) { return FromBytes(Host(), layout.Float32, make([]byte, 4), dims...) },
		func() (*Tensor, error) { return New(Host(), layout.Float32, dims...) },
		func() (*Tensor, error) { return Empty(Host(), layout.Float32, dims...) },
	} {
		_, err := call()
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, rule)
	}
}

// TestLongStringsAreNotShown: a string of a MiB that a view repeats became text of as many
// MiB as there are elements, and several times that in memory.
func TestLongStringsAreNotShown(t *testing.T) {
	long := strings.Repeat("0", 1<<20)
	x, err := FromSlice(Host(), []string{long})
	require.NoError(t, err)
	defer x.Release()
	many, err := x.Expand(1000)
	require.NoError(t, err)
	defer many.Release()
	require.Equal(t, "string[1000] on cpu: <not shown: 1000 strings of up to 1048576 bytes>", many.String())
	text, err := x.Format()
	require.NoError(t, err)
	require.Contains(t, text, long, "one is shown whole")
}
