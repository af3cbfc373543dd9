package onnx

import (
	"math"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	d := definition{inputs: arity{1, 2}, host: 1 << 1, attrs: []string{"upper"}, prepare: prepareTrilu}
	register("Trilu", d.versions(change{14, types13}))
}

func prepareTrilu(d *definition, attrs Attrs) (kernel, error) {
	upper, err := d.boolAttr(attrs, "upper", true)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		k := int64(0)
		if c.has(1) {
			var err error
			if k, err = c.scalarInt(1, "k", false); err != nil {
				return err
			}
		}
		return c.trilu(upper, k)
	}, nil
}

// trilu keeps, in each matrix (the last two axes), the upper triangle from diagonal k on or
// the lower one up to it; other elements are zero. Diagonal 0 is the main diagonal, and
// diagonal 1 is above it. The result is a view if all elements are kept.
func (c *call) trilu(upper bool, k int64) error {
	x, rank := c.x, c.x.Rank()
	if rank < 2 {
		return c.d.invalid("it takes matrices: the input must have two axes or more")
	}
	m := matrices{row: rank - 2, column: rank - 1}
	if !upper { // swapping rows and columns moves elements above a diagonal below it
		m.row, m.column = m.column, m.row
		k = -max(k, -math.MaxInt64)
	}
	m.rows, m.columns = x.Dim(m.row), x.Dim(m.column)
	k = min(max(k, -m.rows), m.columns)
	// Row i is zero to the left of column i+k.
	if x.Count() == 0 || m.rows-1 <= -k {
		return c.set(x.WithLayout(c.d.name, x.Layout()))
	}
	left, bottom := max(k, 0), min(m.rows, m.columns-k) // zeros: columns < left, rows >= bottom
	var parts []tensor.Part
	if bottom < m.rows {
		parts = append(parts, tensor.Part{Into: m.block(bottom, m.rows, 0, m.columns)})
	}
	if bottom > 0 {
		kept := m.block(0, bottom, left, m.columns)
		parts = append(parts, tensor.Part{Into: kept, Src: x, From: kept})
		if left > 0 {
			parts = append(parts, tensor.Part{Into: m.block(0, bottom, 0, left)})
		}
		for _, into := range m.below(max(-k, 0), left, bottom-max(-k, 0)) {
			parts = append(parts, tensor.Part{Into: into})
		}
	}
	return c.assemble(x.Stream(), x.DType(), x.Shape(), parts...)
}

// matrices are two axes of a tensor; the others are batches of them.
type matrices struct {
	row, column   int
	rows, columns int64
}

// block returns the region of a range of rows and columns.
func (m matrices) block(row, rowEnd, column, columnEnd int64) region {
	return func(whole layout.Layout) (layout.Layout, error) {
		return whole.SliceAxes([]int{m.row, m.column}, []int64{row, column}, []int64{rowEnd, columnEnd}, nil)
	}
}

// below returns regions that together cover the elements below the diagonal of the square
// of n rows at the given row and column. For indices i > j there, let bit b be the highest
// bit in which they differ: it is set in i and clear in j. So each b gives squares of 2^b
// rows along the diagonal, 2^(b+1) rows apart: one layout, and a second one if the last
// square is cut off.
func (m matrices) below(row, column, n int64) []region {
	var regions []region
	for s := int64(1); s < n; s *= 2 {
		count := n / (2 * s)
		if count > 0 {
			regions = append(regions, m.squares(row+s, column, s, count))
		}
		if at := 2 * s * count; at+s < n {
			regions = append(regions, m.block(row+at+s, row+n, column+at, column+at+s))
		}
	}
	return regions
}

// squares returns the region of count squares of n rows. The first is at the given row and
// column, and each is 2n rows and columns after the previous one.
func (m matrices) squares(row, column, n, count int64) region {
	return func(whole layout.Layout) (layout.Layout, error) {
		down, right := whole.Stride(m.row), whole.Stride(m.column)
		var dims, strides []int64
		for i := range whole.Rank() {
			if i != m.row && i != m.column {
				dims, strides = append(dims, whole.Dim(i)), append(strides, whole.Stride(i))
			}
		}
		dims, strides = append(dims, count, n, n), append(strides, 2*n*(down+right), down, right)
		return layout.Strided(dims, strides, whole.Offset()+row*down+column*right)
	}
}
