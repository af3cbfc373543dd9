package adversary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	register(Generator{
		Name: "sequences", About: "calls on tensors in any order, against plain arrays that know which memory is shared",
		Try: trySequence,
	})
}

// A sequence is calls on tensors, with the expected contents.
type sequence struct {
	rng     *rand.Rand
	streams []*tensor.Stream // two of the device, and the host's
	live    []*handle
	gone    []*handle // released
	trail   []string
}

// memory of a tensor: its elements by their position.
type cells struct{ elems []string }

// A handle is a tensor: where its elements are in which memory.
type handle struct {
	x     *tensor.Tensor
	of    layout.DType
	mem   *cells
	where ndarray.Array // of positions, as ndarray.Ints has them
}

// longestSequence and mostLive bound a try.
const (
	longestSequence = 40
	mostLive        = 12
	mostElements    = 2000
)

func trySequence(t *Trial) (err error) {
	second, err := tensor.NewStream(t.Stream.Device())
	if err != nil {
		return err
	}
	s := &sequence{rng: t.Rand, streams: []*tensor.Stream{t.Stream, second, tensor.Host()}}
	defer func() {
		for _, h := range s.live {
			err = errors.Join(err, h.x.Release())
		}
		err = errors.Join(err, second.Wait(), second.Close())
		if err != nil {
			err = fmt.Errorf("%s: %w", strings.Join(s.trail, "; "), err)
		}
	}()
	for range 1 + s.rng.IntN(longestSequence) {
		if err := s.step(); err != nil {
			return err
		}
	}
	return s.compareAll()
}

// step is one call, or a few.
func (s *sequence) step() error {
	if len(s.live) == 0 {
		return s.make()
	}
	if len(s.live) > mostLive {
		return s.release()
	}
	h := s.pick()
	switch s.rng.IntN(19) {
	case 0:
		return s.make()
	case 1, 2, 3, 4:
		return s.walk(h)
	case 5, 6:
		return s.copyFrom(h)
	case 7, 8:
		return s.overwrite(h)
	case 9:
		return s.assemble(h)
	case 10:
		return s.convert(h)
	case 11:
		return s.gather(h)
	case 12:
		return s.to(h)
	case 13:
		return s.release()
	case 14:
		return s.invalid(h)
	case 15:
		return s.choose(h)
	case 16:
		return s.fillWhere(h)
	case 17:
		return s.put(h)
	}
	return s.together()
}

func (s *sequence) pick() *handle { return s.live[s.rng.IntN(len(s.live))] }

func (s *sequence) note(format string, args ...any) {
	s.trail = append(s.trail, fmt.Sprintf(format, args...))
}

// add keeps a tensor that a call made, after checking it.
func (s *sequence) add(x *tensor.Tensor, of layout.DType, mem *cells, where ndarray.Array) (*handle, error) {
	h := &handle{x, of, mem, where}
	s.live = append(s.live, h)
	if err := h.checkLayout(); err != nil {
		return nil, err
	}
	if s.rng.IntN(2) == 0 {
		return h, h.compare()
	}
	return h, nil
}

// fresh is add for a tensor with memory of its own.
func (s *sequence) fresh(x *tensor.Tensor, of layout.DType, a ndarray.Array) (*handle, error) {
	if x.Verdict().Kind == tensor.View {
		return nil, errors.Join(errors.New("the result is a view; it must have memory of its own"), x.Release())
	}
	return s.add(x, of, &cells{slices.Clone(a.Elems)}, run(a.Dims))
}

// run is the positions of a contiguous tensor.
func run(dims []int64) ndarray.Array {
	all := make([]int64, ndarray.Count(dims))
	for i := range all {
		all[i] = int64(i)
	}
	return ndarray.Ints(all...).Reshape(dims...)
}

// position reads one position.
func position(elem string) int64 { return int64(binary.LittleEndian.Uint64([]byte(elem))) }

// array is the expected content of the tensor.
func (h *handle) array() ndarray.Array {
	a := ndarray.Array{Dims: h.where.Dims, Elems: make([]string, len(h.where.Elems))}
	for i, p := range h.where.Elems {
		a.Elems[i] = h.mem.elems[position(p)]
	}
	return a
}

func (h *handle) String() string { return fmt.Sprintf("%v%v", h.of, h.x.Layout()) }

func (h *handle) compare() error { return h.array().Compare(h.of, h.x) }

// checkLayout compares the tensor's layout with the positions.
func (h *handle) checkLayout() error {
	l := h.x.Layout()
	if !slices.Equal(l.Shape(), h.where.Dims) || h.x.DType() != h.of {
		return fmt.Errorf("the result is %v%v; it must be %v%v", h.x.DType(), l.Shape(), h.of, h.where.Dims)
	}
	i := 0
	var wrong error
	ndarray.Each(h.where.Dims, func(index []int64) string {
		if want := position(h.where.Elems[i]); l.At(index...) != want && wrong == nil {
			wrong = fmt.Errorf("element %v of %v is at %d; it must be at %d", index, l, l.At(index...), want)
		}
		i++
		return ""
	})
	return wrong
}

func (s *sequence) compareAll() error {
	for i, h := range s.live {
		if err := h.compare(); err != nil {
			return fmt.Errorf("tensor %d of %d, %v: %w", i, len(s.live), h, err)
		}
	}
	return nil
}

// settle waits for all streams: before and after writes to memory that others see, which only
// the caller can order.
func (s *sequence) settle() error {
	var err error
	for _, stream := range s.streams {
		err = errors.Join(err, stream.Wait())
	}
	return err
}

// write is for calls that set elements of existing memory.
func (s *sequence) write(call func() error) error {
	if err := s.settle(); err != nil {
		return err
	}
	err := call()
	if late := s.settle(); err == nil {
		err = late
	}
	return err
}

// expect compares an error with the expected one: nil, or of a kind.
func expect(err, kind error) error {
	switch {
	case kind == nil && err != nil:
		return fmt.Errorf("an error of what is valid: %w", err)
	case kind != nil && !errors.Is(err, kind):
		return fmt.Errorf("the error is %v; it must be %v", err, kind)
	}
	return nil
}

// refuse checks that a call returned an error of a kind, and no result.
func refuse(x *tensor.Tensor, err, kind error) error {
	if x != nil {
		return errors.Join(fmt.Errorf("an invalid call made a %v (error: %v)", x.Layout(), err), x.Release())
	}
	return expect(err, kind)
}

// affine reports whether an offset and strides can express positions.
func affine(w ndarray.Array) bool {
	if len(w.Elems) == 0 {
		return true
	}
	index := make([]int64, len(w.Dims))
	first := position(w.Elem(index))
	strides := make([]int64, len(w.Dims))
	for i, d := range w.Dims {
		if d > 1 {
			index[i] = 1
			strides[i] = position(w.Elem(index)) - first
			index[i] = 0
		}
	}
	i, ok := 0, true
	ndarray.Each(w.Dims, func(index []int64) string {
		at := first
		for axis, k := range index {
			at += k * strides[axis]
		}
		ok = ok && at == position(w.Elems[i])
		i++
		return ""
	})
	return ok
}

// distinct reports whether no position occurs twice, or in other.
func distinct(w ndarray.Array, other []string) bool {
	seen := make(map[string]bool, len(w.Elems))
	for _, p := range w.Elems {
		if seen[p] {
			return false
		}
		seen[p] = true
	}
	return !slices.ContainsFunc(other, func(p string) bool { return seen[p] })
}
