package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// small is the size, in bytes, up to which the index walk is quick enough, and at
// which larger operations are held against it.
const small = 256 << 10

// sampled is how many elements of larger ones are looked at.
const sampled = 1 << 15

// verify holds a case against the index walk, and says how. The operands, whose
// source is the runner's noise, are those of the case at full size.
func (r *runner) verify(c Case, at oracle.Case, o *Operands) (string, error) {
	whole := at
	if o.size() > 4*small {
		var err error
		if whole, err = c.At(min(small, r.Size)); err != nil {
			return "", err
		}
	}
	if err := oracle.CheckOn(r.dev, r.q, whole, r.Seed); err != nil {
		return "", err
	}
	if whole.String() == at.String() {
		return "every bit", nil
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
	n, err := r.sample(at, got)
	return fmt.Sprintf("every bit of %v; %d elements at full size", whole, n), err
}

// sample compares elements of a result with what the index walk says: the first,
// the last, and some at random.
func (r *runner) sample(c oracle.Case, got []byte) (int, error) {
	rng := rand.New(rand.NewPCG(r.Seed, 1))
	index := make([]int64, c.Dst.Rank())
	for i := range sampled {
		for axis := range index {
			switch i {
			case 0:
				index[axis] = 0
			case 1:
				index[axis] = c.Dst.Dim(axis) - 1
			default:
				index[axis] = rng.Int64N(c.Dst.Dim(axis))
			}
		}
		// The walk of one element, alone.
		to, err := layout.Strided(nil, nil, c.Dst.At(index...))
		if err != nil {
			return 0, err
		}
		from, err := layout.Strided(nil, nil, c.Src.At(index...))
		if err != nil {
			return 0, err
		}
		var want, have [16]byte
		var one layout.Layout
		if c.Op == oracle.OpConvert {
			oracle.Convert(want[:], one, c.DstType, r.noise, from, c.SrcType, c.How)
		} else {
			oracle.Copy(want[:], one, r.noise, from, c.DstType.Bits())
		}
		oracle.Copy(have[:], one, got, to, c.DstType.Bits())
		if !bytes.Equal(want[:], have[:]) {
			return 0, fmt.Errorf("%v: %w at %v: got %#x, want %#x", c, oracle.ErrWrong, index, have, want)
		}
	}
	return sampled, nil
}

// randomBytes is noise.
func randomBytes(n int64, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n+8)
	for i := int64(0); i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
	}
	return b[:n]
}
