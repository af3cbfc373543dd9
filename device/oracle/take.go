package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Take calls move for each element that is taken: with its positions in dst, whose
// layout is d, and in src. at holds the indices, of type t, at a. It returns the
// indices that are out of range: their elements are not taken.
func Take(d, s, a layout.Layout, at []byte, t layout.DType, by []device.Index, move func(p, q int64)) (wrong []int64) {
	number := int64(0)
	walk(d, s, func(p, q int64) {
		position := a.At(index(d, number)...)
		number++
		ok := true
		for _, x := range by {
			i := readIndex(at, t, position+x.Offset)
			if i < -x.Extent || i >= x.Extent {
				wrong = append(wrong, i)
				ok = false
				continue
			}
			if i < 0 {
				i += x.Extent
			}
			q += i * x.Stride
		}
		if ok {
			move(p, q)
		}
	})
	return wrong
}

func readIndex(at []byte, t layout.DType, position int64) int64 {
	if t == layout.Int32 {
		return int64(int32(binary.LittleEndian.Uint32(at[4*position:])))
	}
	return int64(binary.LittleEndian.Uint64(at[8*position:]))
}

func writeIndex(at []byte, t layout.DType, position, value int64) {
	if t == layout.Int32 {
		binary.LittleEndian.PutUint32(at[4*position:], uint32(value))
	} else {
		binary.LittleEndian.PutUint64(at[8*position:], uint64(value))
	}
}

// A TakeCase is one Take to check.
type TakeCase struct {
	Type, AtType layout.DType
	Dst, Src, At layout.Layout
	By           []device.Index
	Wrong        int // of so many elements, an index is out of range
}

// String returns the case's name, such as
//
//	take/int4/3x5/dst=5,1@1/src=0,1@0/at=1,0@2/int32/by=0:7:5/wrong=1
//
// where by lists offset, extent and stride of each index. ParseTake reads it.
func (c TakeCase) String() string {
	dims := "scalar"
	if c.Dst.Rank() > 0 {
		dims = join(c.Dst.Shape(), "x")
	}
	by := make([]string, len(c.By))
	for i, x := range c.By {
		by[i] = join([]int64{x.Offset, x.Extent, x.Stride}, ":")
	}
	return fmt.Sprintf("take/%v/%s/dst=%s/src=%s/at=%s/%v/by=%s/wrong=%d",
		c.Type, dims, place(c.Dst), place(c.Src), place(c.At), c.AtType, strings.Join(by, ","), c.Wrong)
}

// ParseTake reads the name of a case.
func ParseTake(name string) (TakeCase, error) {
	words := strings.Split(name, "/")
	if len(words) != 9 || words[0] != "take" {
		return TakeCase{}, layout.Errorf(device.ErrInvalid, "ParseTake", "%q: not of the form take/type/dims/dst=.../src=.../at=.../type/by=offset:extent:stride,.../wrong=n", name)
	}
	var c TakeCase
	var dims []int64
	var errs [7]error
	if words[2] != "scalar" {
		dims, errs[0] = split(words[2], "x")
	}
	c.Type, errs[1] = layout.ParseDType(words[1])
	c.AtType, errs[2] = layout.ParseDType(words[6])
	c.Dst, errs[3] = parsePlace(words[3], "dst=", dims)
	c.Src, errs[4] = parsePlace(words[4], "src=", dims)
	c.At, errs[5] = parsePlace(words[5], "at=", dims)
	c.Wrong, errs[6] = strconv.Atoi(strings.TrimPrefix(words[8], "wrong="))
	if err := errors.Join(errs[:]...); err != nil {
		return TakeCase{}, layout.Errorf(device.ErrInvalid, "ParseTake", "%q: %v", name, err)
	}
	for word := range strings.SplitSeq(strings.TrimPrefix(words[7], "by="), ",") {
		x, err := split(word, ":")
		if err != nil || len(x) != 3 {
			return TakeCase{}, layout.Errorf(device.ErrInvalid, "ParseTake", "%q: %q is not of the form offset:extent:stride", name, word)
		}
		c.By = append(c.By, device.Index{Offset: x[0], Extent: x[1], Stride: x[2]})
	}
	return c, nil
}

// RandomTake makes a case that keeps the rules of device.Queue, but that in some
// of them indices are out of range. The same rng state and limits give the same
// case.
func RandomTake(rng *rand.Rand, limits Limits) TakeCase {
	limits = limits.or(Limits{MaxBytes: 1 << 20, MaxRank: 10}, 1<<10)
	g := generator{rng, limits}
	c := TakeCase{Type: limits.Types[g.IntN(len(limits.Types))], AtType: layout.Int64}
	if g.chance(.5) {
		c.AtType = layout.Int32
	}
	if g.chance(.1) {
		c.Wrong = 1 + g.IntN(3)
	}
	for elements := max(min(limits.MaxBytes/16, 1<<12)>>g.IntN(8), 1); ; elements = max(elements/2, 1) {
		if g.placeTake(&c, elements) {
			return c
		}
	}
}

// placeTake chooses extents, layouts and indices; false if they exceed the
// limits.
func (g generator) placeTake(c *TakeCase, elements int64) bool {
	shape := g.shape(mixed, min(int(g.between(0, 5)), g.limits.MaxRank), elements)
	if g.chance(.03) {
		shape = g.shape(tiny, g.limits.MaxRank, elements)
	}
	var ok bool
	if c.Dst, ok = g.side(shape, []side{{}, {}, {order: shuffled, gap: .3, neg: .3}, {crossed: true}}[g.IntN(4)]); !ok {
		return false
	}
	if c.Src, ok = g.side(shape, side{order: []order{rowMajor, shuffled}[g.IntN(2)], gap: .2, neg: .2, zero: .4}); !ok {
		return false
	}
	// The indices of inner axes are often the same: rows are taken.
	at := side{order: shuffled, gap: .2, neg: .2, zero: .3}
	if c.At, ok = g.side(shape, at); !ok {
		return false
	}
	if n := len(shape); n > 0 && g.chance(.5) {
		strides := c.At.Strides()
		for i := g.IntN(n); i < n; i++ {
			strides[i] = 0
		}
		var err error
		if c.At, err = layout.Strided(shape, strides, c.At.Offset()+4096); err != nil {
			return false
		}
	}
	c.By = nil
	for range g.between(1, 3) {
		x := device.Index{Offset: g.Int64N(20), Extent: g.between(1, 40), Stride: g.between(-20, 40)}
		if g.chance(.4) {
			x.Stride = 16 * g.between(0, 8)
		}
		c.By = append(c.By, x)
	}
	// Indices that walk backwards need room before src.
	for _, x := range c.By {
		if x.Stride < 0 {
			if !transform(&c.Src, 1, -x.Stride*(x.Extent-1)) {
				return false
			}
		}
	}
	return g.fits(c.Dst, c.Type) && c.room(c.Src, c.Type, c.By) <= g.limits.MaxBytes && c.atRoom() <= g.limits.MaxBytes
}

// room returns how many bytes, or strings, a buffer needs.
func (c TakeCase) room(l layout.Layout, t layout.DType, by []device.Index) int64 {
	if c.Dst.Count() == 0 {
		return 0
	}
	for _, x := range by {
		if x.Stride > 0 {
			moved, err := l.Rebase(l.Offset() + x.Stride*(x.Extent-1))
			if err != nil {
				return 1 << 40
			}
			l = moved
		}
	}
	return slots(l, t)
}

func (c TakeCase) atRoom() int64 {
	most := int64(0)
	for _, x := range c.By {
		most = max(most, x.Offset)
	}
	return c.room(c.At, c.AtType, []device.Index{{Extent: 2, Stride: most}})
}

// CheckTakeOn runs one case on a queue and compares every bit of the buffers, as
// CheckOn does. If indices are out of range the queue must say so, at the latest
// when it is read from; then it must be fit for use again.
func CheckTakeOn(dev device.Device, q device.Queue, c TakeCase, seed uint64) (err error) {
	defer func() {
		if err != nil && !errors.Is(err, ErrSkipped) {
			err = fmt.Errorf("%v with seed %d: %w", c, seed, err)
		}
	}()
	rng := rand.New(rand.NewPCG(seed, 0))
	if c.Type == layout.String {
		m, err := stringMemory(dev, q, rng)
		if err != nil {
			return err
		}
		return checkTake(dev, q, c, rng, m)
	}
	return checkTake(dev, q, c, rng, byteMemory(dev, q, rng))
}

// CheckTake is CheckTakeOn on a queue of its own.
func CheckTake(dev device.Device, c TakeCase, seed uint64) (err error) {
	q, err := dev.NewQueue()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	return CheckTakeOn(dev, q, c, seed)
}

// indices fills memory with indices, some of them out of range.
func (c TakeCase) indices(rng *rand.Rand, size int64) []byte {
	at := randomBytes(rng, size)
	unit := int64(c.AtType.Bits() / 8)
	all := make([]int64, 0, c.At.Count())
	walk(c.At, c.At, func(p, _ int64) { all = append(all, p) })
	// Indices of several components may lie in one place: in range for all.
	least := map[int64]int64{}
	for _, p := range all {
		for _, x := range c.By {
			if e, ok := least[p+x.Offset]; !ok || x.Extent < e {
				least[p+x.Offset] = x.Extent
			}
		}
	}
	places := make([]int64, 0, len(least))
	for p := range least {
		places = append(places, p)
	}
	slices.Sort(places)
	for _, p := range places {
		writeIndex(at[:size/unit*unit], c.AtType, p, rng.Int64N(2*least[p])-least[p])
	}
	for range c.Wrong {
		if len(all) == 0 {
			break
		}
		x := c.By[rng.IntN(len(c.By))]
		bad := []int64{x.Extent, -x.Extent - 1, 1<<31 - 1, -1 << 31, x.Extent + 1000}
		if c.AtType == layout.Int64 {
			bad = append(bad, 1<<63-1, -1<<63, 1<<32, -1<<32)
		}
		writeIndex(at, c.AtType, all[rng.IntN(len(all))]+x.Offset, bad[rng.IntN(len(bad))])
	}
	return at
}

func checkTake[T comparable](dev device.Device, q device.Queue, c TakeCase, rng *rand.Rand, m memory[T]) (err error) {
	sizes := [3]int64{slots(c.Dst, c.Type) + guard(rng), c.room(c.Src, c.Type, c.By) + guard(rng), c.atRoom() + guard(rng)}
	for _, n := range sizes {
		if n > most/64 {
			return layout.Errorf(device.ErrInvalid, "Check", "buffers of %d bytes or strings are too large to check", sizes)
		}
	}
	var buffers [3]device.Buffer
	for i, alloc := range []func(int64) (device.Buffer, error){m.alloc, m.alloc, dev.Alloc} {
		if buffers[i], err = alloc(sizes[i]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, buffers[i].Free()) }()
	}
	want, from, at := m.random(sizes[0]), m.random(sizes[1]), c.indices(rng, sizes[2])
	got, fromAfter, atAfter := m.random(sizes[0]), m.random(sizes[1]), make([]byte, len(at))
	if err := errors.Join(m.write(buffers[0], want), m.write(buffers[1], from), q.Write(buffers[2], 0, at)); err != nil {
		return err
	}
	err = q.Take(
		device.Operand{Buffer: buffers[0], Layout: c.Dst, Type: c.Type},
		device.Operand{Buffer: buffers[1], Layout: c.Src, Type: c.Type},
		device.Operand{Buffer: buffers[2], Layout: c.At, Type: c.AtType}, c.By...)
	if err == nil {
		err = q.Wait()
	}
	wrong := Take(c.Dst, c.Src, c.At, at, c.AtType, c.By, func(p, s int64) {
		if dst, ok := any(want).([]byte); ok {
			move(dst, p, any(from).([]byte), s, c.Type.Bits())
		} else {
			want[p] = from[s]
		}
	})
	switch {
	case len(wrong) == 0 && err != nil:
		return err
	case len(wrong) > 0 && !errors.Is(err, device.ErrInvalid):
		return fmt.Errorf("%w: the indices %v are out of range, but the error is %v", ErrWrong, wrong, err)
	case len(wrong) > 0 && !slices.ContainsFunc(wrong, func(i int64) bool { return strings.Contains(err.Error(), fmt.Sprintf("index %d ", i)) }):
		return fmt.Errorf("%w: the indices %v are out of range, but the error names another: %v", ErrWrong, wrong, err)
	}
	if err := errors.Join(m.read(got, buffers[0]), m.read(fromAfter, buffers[1]), q.Read(atAfter, buffers[2], 0), q.Wait()); err != nil {
		return err
	}
	if i, n := firstDifference(got, want); n > 0 {
		return fmt.Errorf("%w: dst's buffer differs in %d places, the first at %d: got %v, want %v", ErrWrong, n, i, got[i], want[i])
	}
	if i, n := firstDifference(fromAfter, from); n > 0 {
		return fmt.Errorf("%w: src was changed, in %d places, the first at %d", ErrWrong, n, i)
	}
	if i, n := firstDifference(atAfter, at); n > 0 {
		return fmt.Errorf("%w: the indices were changed, in %d bytes, the first at %d", ErrWrong, n, i)
	}
	return nil
}
