package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// small is the size, in bytes, up to which operations are compared completely with the index
// walk. Larger ones are compared at this size, and at samples.
const small = 256 << 10

// sampled is the number of elements of a larger operation that are compared.
const sampled = 1 << 15

// verify compares a case with the index walk, and says how much was compared. The operands,
// whose source is the runner's noise, are the case's at full size.
func (r *runner) verify(c cases.Case, at oracle.Case, o *Operands) (string, error) {
	whole := at
	if o.size() > 4*small {
		var err error
		if whole, err = c.Small(min(small, r.Size)); err != nil {
			return "", err
		}
	}
	if err := r.roomy(func() error { return oracle.CheckOn(r.dev, r.q, whole, r.Seed) }); err != nil {
		return "", err
	}
	switch {
	case whole.String() == at.String():
		return "every bit", nil
	case !walks(at.Op):
		return fmt.Sprintf("every bit of %v", whole), nil
	}
	if err := o.poison(r.q); err != nil {
		return "", err
	}
	if err := o.Run(r.q); err != nil {
		return "", err
	}
	size := o.Dst.Buffer.Size()
	if int64(len(r.scratch)) < size {
		r.scratch = make([]byte, size)
	}
	got := r.scratch[:size]
	if err := r.q.Read(got, o.Dst.Buffer, 0); err != nil {
		return "", err
	}
	n, err := r.sample(at, o, got)
	if err == nil && cases.Nests(at.Dst) {
		err = r.gaps(at, got)
	}
	return fmt.Sprintf("every bit of %v; %d elements at full size", whole, n), err
}

// sample compares elements of a result with the index walk: the first, the last, and
// some at random.
func (r *runner) sample(o oracle.Case, x *Operands, got []byte) (int, error) {
	var at []byte
	if b := x.At.Buffer; b != nil {
		at = r.made(&o, b.Size())
	}
	rng := rand.New(rand.NewPCG(r.Seed, 1))
	index := make([]int64, o.Dst.Rank())
	for i := range sampled {
		for axis := range index {
			switch i {
			case 0:
				index[axis] = 0
			case 1:
				index[axis] = o.Dst.Dim(axis) - 1
			default:
				index[axis] = rng.Int64N(o.Dst.Dim(axis))
			}
		}
		to, err := single(o.Dst, index)
		if err != nil {
			return 0, err
		}
		var have [16]byte
		oracle.Copy(have[:], layout.Layout{}, got, to, o.DstType.Bits())
		want, err := r.walk(o, index, at)
		if err != nil {
			return 0, err
		}
		if have != want {
			return 0, fmt.Errorf("%v: %w at %v: got %#x, want %#x", o, oracle.ErrWrong, index, have, want)
		}
	}
	return sampled, nil
}

// gaps checks random elements of dst's buffer outside dst: they must be as [Operands.poison]
// left them.
func (r *runner) gaps(o oracle.Case, got []byte) error {
	rng := rand.New(rand.NewPCG(r.Seed, 3))
	width := o.DstType.Bits()
	poison := bytes.Repeat([]byte{poisoned}, 16)
	for range sampled {
		position := rng.Int64N(int64(len(got)) * 8 / int64(width))
		if cases.Reaches(o.Dst, position) {
			continue
		}
		var have, want [16]byte
		at, err := layout.Strided(nil, nil, position)
		if err != nil {
			return err
		}
		within, err := layout.Strided(nil, nil, position%max(8/int64(width), 1))
		if err != nil {
			return err
		}
		oracle.Copy(have[:], layout.Layout{}, got, at, width)
		oracle.Copy(want[:], layout.Layout{}, poison, within, width)
		if have != want {
			return fmt.Errorf("%v: %w at position %d, which is none of dst's: got %#x, and it was %#x", o, oracle.ErrWrong, position, have, want)
		}
	}
	return nil
}

// walks reports whether walk supports an operation.
func walks(op oracle.Op) bool {
	switch op {
	case oracle.OpCopy, oracle.OpFill, oracle.OpConvert, oracle.OpTake:
		return true
	}
	return false
}

// walk is the index walk of a single element.
func (r *runner) walk(o oracle.Case, index []int64, indices []byte) (want [16]byte, err error) {
	var one layout.Layout
	if o.Op == oracle.OpFill {
		oracle.Fill(want[:], one, cases.Pattern(o.DstType), o.DstType.Bits())
		return want, nil
	}
	from, err := single(o.Src, index)
	if err != nil {
		return want, err
	}
	switch o.Op {
	case oracle.OpConvert:
		oracle.Convert(want[:], one, o.DstType, r.noise, from, o.SrcType, o.How)
		return want, nil
	case oracle.OpTake:
		at, err := single(o.At, index)
		if err != nil {
			return want, err
		}
		position := int64(0)
		oracle.Take(one, from, at, indices, o.AtType, o.By, func(_, q int64) { position = q })
		if from, err = from.Rebase(position); err != nil {
			return want, err
		}
	}
	oracle.Copy(want[:], one, r.noise, from, o.DstType.Bits())
	return want, nil
}

// single is the layout of one element.
func single(l layout.Layout, index []int64) (layout.Layout, error) {
	return layout.Strided(nil, nil, l.At(index...))
}
