package gorgonia_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/restride/restride/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	gt "gorgonia.org/tensor"
)

// TestAgainstStdEng runs random operations on random tensors, by their shapes, types and
// slices, and compares results with StdEng's, byte for byte, and with index arithmetic. All
// memory must be freed.
func TestAgainstStdEng(t *testing.T) {
	onEngines(t, func(t *testing.T, s subject) {
		tensor.CheckLeaks(t, s.stream)
		r := seeded(t)
		operations := 10_000
		if testing.Short() {
			operations = 1000
		}
		for i := 0; i < operations && !t.Failed(); {
			i += (&pair{t: t, r: r, s: s}).run()
			if i%1000 == 0 {
				runtime.GC() // addresses of a device do not keep it alive
			}
		}
	})
}

// pair is a tensor of StdEng, and the same of the engine under test.
type pair struct {
	t    *testing.T
	r    *rand.Rand
	s    subject
	std  *gt.Dense
	ours *gt.Dense
	made []gt.Tensor // of the engine under test, to be freed
	log  string
}

// run makes a tensor and a few operations on it.
func (p *pair) run() int {
	shape := make([]int, p.r.IntN(5))
	for i := range shape {
		shape[i] = 1 + p.r.IntN(5)
	}
	p.std = random(p.r, types[p.r.IntN(len(types))], shape...)
	defer func() {
		for _, x := range p.made {
			assert.NoError(p.t, p.s.free(x), p.log)
		}
	}()
	p.ours = p.copyOf(p.std)
	p.log = fmt.Sprintf("%v%v", p.std.Dtype(), p.std.Shape())
	n := 1 + p.r.IntN(5)
	for range n {
		if p.t.Failed() || p.std.DataSize() > 1<<12 {
			break
		}
		p.operate()
	}
	return n
}

func (p *pair) copyOf(x *gt.Dense) *gt.Dense {
	y, err := p.s.put(x)
	require.NoError(p.t, err, p.log)
	p.made = append(p.made, y)
	return y
}

// operate runs one operation on both.
func (p *pair) operate() {
	switch p.r.IntN(7) {
	case 0:
		p.slice()
	case 1:
		perm := p.r.Perm(p.std.Dims())
		p.log += fmt.Sprintf(" T%v", perm)
		require.NoError(p.t, p.std.T(slices.Clone(perm)...), p.log) // UT puts them into a pool
		require.NoError(p.t, p.ours.T(slices.Clone(perm)...), p.log)
	case 2:
		p.transpose()
	case 3:
		p.materialize()
	case 4:
		p.concat()
	case 5:
		p.stack()
	case 6:
		p.repeat()
	}
}

func (p *pair) slice() {
	var parts []gt.Slice
	for _, n := range p.std.Shape() {
		if p.r.IntN(2) == 0 {
			parts = append(parts, nil)
			continue
		}
		low := p.r.IntN(n)
		high := low + 1 + p.r.IntN(n-low)
		parts = append(parts, gt.S(low, high, 1+p.r.IntN(2)))
		p.log += fmt.Sprintf(" [%d:%d:%d, axis %d]", low, high, parts[len(parts)-1].Step(), len(parts)-1)
	}
	x, err := p.std.Slice(parts...)
	require.NoError(p.t, err, p.log)
	y, err := p.ours.Slice(parts...)
	require.NoError(p.t, err, p.log)
	p.std, p.ours = x.(*gt.Dense), y.(*gt.Dense)
}

func (p *pair) transpose() {
	p.log += " Transpose"
	want := content(p.std)
	require.NoError(p.t, p.std.Transpose(), p.log)
	require.NoError(p.t, p.ours.Transpose(), p.log)
	p.check(p.std, p.ours, want)
}

func (p *pair) materialize() {
	p.log += " Materialize"
	want := content(p.std)
	y, err := p.s.materialize(p.ours)
	if err == nil && y == gt.Tensor(p.ours) {
		return // unchanged
	}
	p.result(func() (*gt.Dense, error) { return p.std.Materialize().(*gt.Dense), nil }, y, err, want)
}

func (p *pair) concat() {
	shape := p.std.Shape().Clone()
	if len(shape) == 0 {
		return
	}
	axis := p.r.IntN(len(shape))
	shape[axis] = 1 + p.r.IntN(3)
	other := random(p.r, p.std.Dtype(), shape...)
	p.log += fmt.Sprintf(" Concat%v along %d", shape, axis)
	outer, inner := around(p.std, axis)
	var want []byte
	a, b := content(p.std), content(other)
	for i := range outer {
		want = append(want, row(a, i, inner*p.std.Shape()[axis])...)
		want = append(want, row(b, i, inner*shape[axis])...)
	}
	ours := p.copyOf(other)
	y, err := p.ours.Concat(axis, ours)
	p.result(func() (*gt.Dense, error) { return p.std.Concat(axis, other) }, y, err, want)
}

func (p *pair) stack() {
	axis := p.r.IntN(p.std.Dims() + 1)
	other := random(p.r, p.std.Dtype(), p.std.Shape().Clone()...)
	p.log += fmt.Sprintf(" Stack along %d", axis)
	outer, inner := 1, int(p.std.Dtype().Size())
	for i, n := range p.std.Shape() {
		if i < axis {
			outer *= n
		} else {
			inner *= n
		}
	}
	var want []byte
	a, b := content(p.std), content(other)
	for i := range outer {
		want = append(append(want, row(a, i, inner)...), row(b, i, inner)...)
	}
	y, err := p.ours.Stack(axis, p.copyOf(other))
	p.result(func() (*gt.Dense, error) { return p.std.Stack(axis, other) }, y, err, want)
}

func (p *pair) repeat() {
	axis := p.r.IntN(p.std.Dims()+1) - 1
	size, outer, inner := p.std.Shape().TotalSize(), 1, int(p.std.Dtype().Size())
	if axis >= 0 {
		size = p.std.Shape()[axis]
		outer, inner = around(p.std, axis)
	}
	repeats := make([]int, size)
	if p.r.IntN(2) == 0 {
		repeats = repeats[:1]
	}
	for i := range repeats {
		repeats[i] = 1 + p.r.IntN(3)
	}
	p.log += fmt.Sprintf(" Repeat%v along %d", repeats, axis)
	a := content(p.std)
	var want []byte
	for i := range outer * size {
		for range repeats[i%size%len(repeats)] {
			want = append(want, row(a, i, inner)...)
		}
	}
	y, err := p.ours.Repeat(axis, repeats...)
	// StdEng's result is right for some tensors only: see docs/upstream/gorgonia-tensor.md.
	p.result(func() (*gt.Dense, error) { return nil, nil }, y, err, want)
}

// around returns the number of elements before an axis, and of bytes after it.
func around(x *gt.Dense, axis int) (outer, inner int) {
	outer, inner = 1, int(x.Dtype().Size())
	for i, n := range x.Shape() {
		if i < axis {
			outer *= n
		} else if i > axis {
			inner *= n
		}
	}
	return outer, inner
}

func row(x []byte, i, n int) []byte { return x[i*n : (i+1)*n] }

// result records the results of StdEng and the engine under test.
func (p *pair) result(std func() (*gt.Dense, error), y gt.Tensor, err error, want []byte) {
	require.NoError(p.t, err, p.log)
	p.made = append(p.made, y)
	x := p.attempt(std)
	if x == nil {
		x = gt.NewDense(y.Dtype(), y.Shape())
		copy(x.Raw, want)
	}
	p.std, p.ours = x, y.(*gt.Dense)
	p.check(x, p.ours, want)
}

// attempt runs StdEng. There is no result where it panics, as for some views, or mistakes a
// slice of a tensor after T, or one with an axis of extent 1, for contiguous: see
// docs/upstream/gorgonia-tensor.md.
func (p *pair) attempt(std func() (*gt.Dense, error)) (x *gt.Dense) {
	contiguous := slices.Equal(p.std.Strides(), p.std.Shape().CalcStrides())
	if !contiguous && (!p.std.RequiresIterator() || slices.Contains(p.std.Shape(), 1)) {
		return nil
	}
	defer func() {
		if recover() != nil {
			x = nil
		}
	}()
	x, err := std()
	require.NoError(p.t, err, p.log)
	return x
}

func (p *pair) check(x, y *gt.Dense, want []byte) {
	require.Equal(p.t, fmt.Sprint(x.Shape(), x.Strides()), fmt.Sprint(y.Shape(), y.Strides()), p.log)
	got, err := p.s.get(y)
	require.NoError(p.t, err, p.log)
	assert.Equal(p.t, want, content(x), "StdEng: %s", p.log)
	assert.Equal(p.t, want, content(got), "%s", p.log)
}
