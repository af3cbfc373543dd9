package gorgonia

import (
	"errors"
	"io"
	"slices"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

// Repack is another order for the elements of an array in row-major order: they are seen with
// the extents Shape, and the axes of that are brought into the order Axes. It is the result of
// Reshape, T, Reshape and Transpose on a tensor, for elements of any type, including types that
// gorgonia lacks: they are moved, not converted.
type Repack struct {
	Shape []int
	Axes  []int
}

// Rotary is the repack of the weights of queries and keys, [rows, ...], from models whose
// rotary embeddings rotate the halves of each head (Hugging Face's Llama) to models that rotate
// neighbours (GGUF's): [heads, 2, rows/heads/2, ...] by (0, 2, 1, ...). heads is the matrix's
// number: keys may have fewer.
func Rotary(heads int, shape ...int) (Repack, error) {
	if len(shape) == 0 || heads <= 0 || shape[0] < 0 || shape[0]%heads != 0 || shape[0]/heads%2 != 0 {
		return Repack{}, layout.Errorf(device.ErrInvalid, "Rotary", "shape %v: the rows must be %d heads of an even number", shape, heads)
	}
	r := Repack{Shape: append([]int{heads, 2, shape[0] / heads / 2}, shape[1:]...), Axes: []int{0, 2, 1}}
	for i := range shape[1:] {
		r.Axes = append(r.Axes, 3+i)
	}
	return r, nil
}

// Bytes writes the repacked elements of src, of a type of whole bytes, to dst. The two must
// have exactly the elements' length, and must not overlap.
func (r Repack) Bytes(dst, src []byte, t layout.DType) error {
	const op = "Repack"
	n, err := r.size(op, t)
	if err != nil {
		return err
	}
	if int64(len(dst)) != n || int64(len(src)) != n {
		return layout.Errorf(device.ErrInvalid, op, "from %d bytes to %d; %v of %v are %d", len(src), len(dst), r.Shape, t, n)
	}
	if share(dst, src) {
		return layout.Errorf(device.ErrInvalid, op, "dst and src share memory")
	}
	return r.move(op, dst, src, t)
}

// Repacked returns the repacked elements of x in a new slice.
func Repacked[T layout.Element](r Repack, x []T) ([]T, error) {
	const op = "Repack"
	t := layout.TypeOf[T]()
	n, err := r.size(op, t)
	if err != nil {
		return nil, err
	}
	if src := rawOf(x); int64(len(src)) != n {
		return nil, layout.Errorf(device.ErrInvalid, op, "%d elements; %v are %d", len(x), r.Shape, gt.Shape(r.Shape).TotalSize())
	}
	out, err := budget.Make[T](budget.Process(), op, int64(len(x)))
	if err != nil {
		return nil, err
	}
	return out, r.move(op, rawOf(out), rawOf(x), t)
}

// Copy repacks elements of a type of whole bytes from src to dst, and returns the number of
// bytes written. It holds two pieces in memory: the first axis that moves and those after it,
// or a few MiB; for Rotary, a head.
func (r Repack) Copy(dst io.Writer, src io.Reader, t layout.DType) (written int64, err error) {
	const op = "Repack"
	n, err := r.size(op, t)
	if err != nil || n == 0 {
		return 0, err
	}
	piece, left := r, int64(1) // of the axes that move; their number
	for len(piece.Axes) > 1 && piece.Axes[0] == 0 {
		left *= int64(piece.Shape[0])
		piece = piece.behind()
	}
	each := n / left
	most := min(left, max(1, batch/each)) // pieces at a time
	room, err := budget.Make[byte](budget.Process(), op, 2*most*each)
	if err != nil {
		return 0, err
	}
	for ; left > 0; left -= most {
		most = min(most, left)
		bytes := most * each
		in, out := room[:bytes], room[bytes:2*bytes]
		if _, err := io.ReadFull(src, in); err != nil {
			return written, layout.Named(op, err)
		}
		if err := piece.times(most).move(op, out, in, t); err != nil {
			return written, err
		}
		k, err := dst.Write(out)
		written += int64(k)
		if err == nil && k < len(out) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, layout.Named(op, err)
		}
	}
	return written, nil
}

// batch is the number of bytes that Copy moves at a time, if pieces are smaller.
const batch = 8 << 20

// behind is the repack of the axes after the first, which does not move.
func (r Repack) behind() Repack {
	axes := slices.Clone(r.Axes[1:])
	for i := range axes {
		axes[i]--
	}
	return Repack{Shape: r.Shape[1:], Axes: axes}
}

// times is the repack of n arrays, one after the other.
func (r Repack) times(n int64) Repack {
	axes := []int{0}
	for _, a := range r.Axes {
		axes = append(axes, a+1)
	}
	return Repack{Shape: slices.Insert(slices.Clone(r.Shape), 0, int(n)), Axes: axes}
}

// Dense returns the repacked elements of a tensor of any engine in host memory, or of a Device,
// as a new one of the same shape and engine. The elements of a view are in the view's order.
func (r Repack) Dense(t *gt.Dense) (*gt.Dense, error) {
	const op = "Repack"
	all, err := denses(op, t)
	if err != nil {
		return nil, err
	}
	t = all[0]
	if e, ok := t.Engine().(*Device); ok {
		return r.dense(op, e, t)
	}
	if _, _, err := (Host{}).operands(op, t); err != nil {
		return nil, err
	}
	out, err := r.dense(op, Host{}, t)
	if err == nil {
		gt.WithEngine(t.Engine())(out)
	}
	return out, err
}

func (r Repack) dense(op string, p place, t *gt.Dense) (*gt.Dense, error) {
	dt, ok := typeOf(t.Dtype())
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, op, "elements of type %v are not bits alone", t.Dtype())
	}
	if _, err := r.size(op, dt); err != nil {
		return nil, err
	}
	x, err := see(p, op, t)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	flat, err := x.Reshape(layout.ShapeOf(r.Shape...)...)
	if err != nil {
		return nil, layout.Named(op, err)
	}
	defer flat.Release()
	out, y, err := fresh(p, op, t.Dtype(), t.Shape())
	if err != nil {
		return nil, err
	}
	defer y.Release()
	if err := r.permute(op, y, flat); err != nil {
		return nil, errors.Join(err, discard(out))
	}
	return out, nil
}

// size checks a repack, and returns the number of bytes of its elements.
func (r Repack) size(op string, t layout.DType) (int64, error) {
	if !t.Storable() || t.Bits() == 0 || t.Bits()%8 != 0 {
		return 0, layout.Errorf(device.ErrUnsupported, op, "elements of type %v are no whole bytes", t)
	}
	dims := layout.ShapeOf(r.Shape...)
	n, err := dims.Bytes(t)
	if err != nil {
		return 0, layout.Named(op, err)
	}
	good := len(r.Axes) == len(r.Shape)
	for i, a := range slices.Sorted(slices.Values(r.Axes)) {
		good = good && a == i
	}
	if !good {
		return 0, layout.Errorf(device.ErrInvalid, op, "shape %v by axes %v: each of the %d axes must be there once", r.Shape, r.Axes, len(r.Shape))
	}
	return n, nil
}

// move is Bytes after the checks.
func (r Repack) move(op string, dst, src []byte, t layout.DType) error {
	dims := layout.ShapeOf(r.Shape...)
	x, err := tensor.FromHostBytes(t, src, dims...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer x.Release()
	y, err := tensor.FromHostBytes(t, dst, dims...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer y.Release()
	return r.permute(op, y, x)
}

// permute sets y to the elements of x, which has the shape.
func (r Repack) permute(op string, y, x *tensor.Tensor) error {
	from, err := x.Transpose(r.Axes...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer from.Release()
	to, err := y.Reshape(from.Shape()...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer to.Release()
	return layout.Named(op, to.CopyFrom(from))
}

func rawOf[T layout.Element](x []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(one)))
}

// share reports whether two slices overlap.
func share(a, b []byte) bool {
	first, second := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return len(a) > 0 && len(b) > 0 && first < second+uintptr(len(b)) && second < first+uintptr(len(a))
}
