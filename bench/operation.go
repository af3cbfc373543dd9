package bench

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// OpTake is the operation of device.Queue that takes elements by indices. Package
// oracle has the names of the others.
const OpTake oracle.Op = "take"

// Operation is a case at a size: a Copy, Fill, Convert or Take of device.Queue. A
// fill has no source. A take has indices; its source is where elements lie whose
// index is 0.
type Operation struct {
	oracle.Case
	At     layout.Layout // where the indices of a take's elements lie
	AtType layout.DType
	By     device.Index // what they mean
	Axis   int          // the axis along which they take
}

// String is the operation's name, which restride verify reads.
func (o Operation) String() string {
	if o.Op == OpTake {
		return o.take().String()
	}
	return o.Case.String()
}

// take is a take as oracle has it.
func (o Operation) take() oracle.TakeCase {
	return oracle.TakeCase{Type: o.DstType, AtType: o.AtType, Dst: o.Dst, Src: o.Src, At: o.At, By: []device.Index{o.By}}
}

// check holds the operation against the index walk, in memory of its own.
func (o Operation) check(dev device.Device, q device.Queue, seed uint64) error {
	if o.Op == OpTake {
		return oracle.CheckTakeOn(dev, q, o.take(), seed)
	}
	return oracle.CheckOn(dev, q, o.Case, seed)
}

// pattern is what a fill writes: an element no two of whose bytes are the same, so
// that only what fills with elements can.
func (o Operation) pattern() []byte {
	p := make([]byte, (o.DstType.Bits()+7)/8)
	for i := range p {
		p[i] = byte(i + 1)
	}
	return p
}

// indices are those of a take, if it is one: each as likely as any other, and the
// same for the same seed.
func (o Operation) indices(seed uint64) ([]byte, error) {
	if o.Op != OpTake {
		return nil, nil
	}
	size, err := slots(o.At, o.AtType)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	at := make([]byte, 0, size)
	for int64(len(at)) < size {
		if i := uint64(rng.Int64N(o.By.Extent)); o.AtType == layout.Int32 {
			at = binary.LittleEndian.AppendUint32(at, uint32(i))
		} else {
			at = binary.LittleEndian.AppendUint64(at, i)
		}
	}
	return at, nil
}

// table is all that a take takes from: its source, with all that indices name
// along its axis.
func (o Operation) table() (layout.Layout, error) {
	dims, strides := o.Src.Shape(), o.Src.Strides()
	dims[o.Axis], strides[o.Axis] = o.By.Extent, o.By.Stride
	return layout.Strided(dims, strides, o.Src.Offset())
}

// size is the bytes of the buffers that it takes.
func (o Operation) size() (total int64, err error) {
	add := func(l layout.Layout, t layout.DType, by ...device.Index) {
		n, e := slots(l, t, by...)
		total, err = total+n, cmp.Or(err, e)
	}
	add(o.Dst, o.DstType)
	switch o.Op {
	case oracle.OpFill:
	case OpTake:
		add(o.Src, o.SrcType, o.By)
		add(o.At, o.AtType)
	default:
		add(o.Src, o.SrcType)
	}
	return total, err
}

// LogicalBytes is what an operation moves by its own account: the elements that
// are written, and as many that are read, but for a fill, which only writes. A take
// also reads its indices, each once, whatever lies at it.
func LogicalBytes(o Operation) (int64, error) {
	shape := o.Dst.Shape()
	total, err := shape.Bytes(o.DstType)
	if err != nil || o.Op == oracle.OpFill || total == 0 {
		return total, err
	}
	read, err := shape.Bytes(o.SrcType)
	if err != nil || o.Op != OpTake {
		return total + read, err
	}
	for i := range shape {
		if o.At.Stride(i) == 0 {
			shape[i] = 1
		}
	}
	indices, err := shape.Bytes(o.AtType)
	return total + read + indices, err
}

// TouchedBytes is what memory moves at the least, in sectors of so many bytes: an
// element that is read often counts once, and gaps that are smaller than a sector
// count, too. What a take reads counts for each index, but for no more than all that
// indices can name.
func TouchedBytes(o Operation, sector int64) int64 {
	if o.Dst.Count() == 0 {
		return 0
	}
	all := touched(steps(o.Dst), o.DstType, sector)
	switch o.Op {
	case oracle.OpFill:
		return all
	case OpTake:
		return all + touched(steps(o.At), o.AtType, sector) + o.touchedTable(sector)
	}
	return all + touched(steps(o.Src), o.SrcType, sector)
}

func (o Operation) touchedTable(sector int64) int64 {
	var each []step // the axes of what one index names
	indices := int64(1)
	for i := range o.At.Rank() {
		if o.At.Stride(i) == 0 {
			each = append(each, step{o.Src.Dim(i), o.Src.Stride(i)})
		} else {
			indices *= o.At.Dim(i)
		}
	}
	all := steps(o.Src)
	all[o.Axis] = step{o.By.Extent, o.By.Stride}
	return min(indices*touched(each, o.SrcType, sector), touched(all, o.SrcType, sector))
}

// step is an axis: its extent and its stride.
type step struct{ n, stride int64 }

func steps(l layout.Layout) []step {
	all := make([]step, l.Rank())
	for i := range all {
		all[i] = step{l.Dim(i), l.Stride(i)}
	}
	return all
}

// touched is the bytes of the sectors in which elements lie, from the start of one.
func touched(axes []step, t layout.DType, sector int64) int64 {
	bits := int64(t.Bits())
	run, runs := bits, int64(1) // bits that are fetched in one piece, and how many of these
	for _, axis := range byStride(axes) {
		if runs == 1 && axis.stride*bits-run < sector*8 {
			run = (axis.n-1)*axis.stride*bits + run
		} else {
			runs *= axis.n
		}
	}
	sectors := (run + sector*8 - 1) / (sector * 8)
	return runs * sectors * sector
}

// byStride returns the axes along which elements differ, the narrowest first.
func byStride(axes []step) []step {
	var all []step
	for _, a := range axes {
		if a.n > 1 && a.stride != 0 {
			all = append(all, step{a.n, max(a.stride, -a.stride)})
		}
	}
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.stride, b.stride) })
	return all
}

// slots is the bytes of a buffer that a layout fits, wherever indices move it.
func slots(l layout.Layout, t layout.DType, by ...device.Index) (int64, error) {
	_, high, ok := layout.Reach(&l, by)
	if !ok {
		if l.Count() == 0 {
			return 0, nil
		}
		return 0, layout.Errorf(device.ErrInvalid, "Case", "%v%v by %v reaches nowhere", t, l, by)
	}
	n, ok := layout.PackedBytes(high+1, t.Bits())
	if !ok {
		return 0, layout.Errorf(device.ErrInvalid, "Case", "%v%v takes more bytes than an int64 counts", t, l)
	}
	return n, nil
}
