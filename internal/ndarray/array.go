// Package ndarray is the oracle of layout operators: numpy's rules by plain index
// arithmetic, for tests and the adversary. An array is a list of elements, and knows
// nothing of types, strides or devices.
package ndarray

import (
	"fmt"
	"strings"

	"github.com/restride/restride/layout"
)

// An Array has the elements in row-major order, each as its bytes (below a byte: its bits, in
// the low bits of a byte), or as a string.
type Array struct {
	Dims  []int64
	Elems []string
}

// Count returns how many elements extents have.
func Count(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// Numbered returns an array whose elements differ from their neighbours, within the range of
// the type.
func Numbered(t layout.DType, dims ...int64) Array {
	a := Array{Dims: dims}
	for i := range Count(dims) {
		var e []byte
		switch bits := t.Bits(); {
		case t == layout.String:
			e = fmt.Appendf(nil, "s%d", i)
		case t == layout.Bool:
			e = []byte{byte(i * 5 / 3 % 2)}
		case bits < 8:
			e = []byte{byte(i*7/3+1) & (1<<bits - 1)}
		default:
			for k := range bits / 8 {
				e = append(e, byte(int(i)*3+k*17+1))
			}
		}
		a.Elems = append(a.Elems, string(e))
	}
	return a
}

// Ints returns an array of one axis with integers of type T, little-endian.
func Ints[T int32 | int64](values ...T) Array {
	a := Array{Dims: []int64{int64(len(values))}}
	width := 8
	if _, narrow := any(T(0)).(int32); narrow {
		width = 4
	}
	for _, v := range values {
		e := make([]byte, width)
		for k := range e {
			e[k] = byte(v >> (8 * k))
		}
		a.Elems = append(a.Elems, string(e))
	}
	return a
}

// Zero returns the bytes of a zero, or the empty string.
func Zero(t layout.DType) string { return strings.Repeat("\x00", (t.Bits()+7)/8) }

// Each returns an array of the given extents whose elements f gives.
func Each(dims []int64, f func(index []int64) string) Array {
	out := Array{Dims: dims}
	index := make([]int64, len(dims))
	for range Count(dims) {
		out.Elems = append(out.Elems, f(index))
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < dims[i] {
				break
			}
			index[i] = 0
		}
	}
	return out
}

// Elem returns the element at an index.
func (a Array) Elem(index []int64) string {
	at := int64(0)
	for i, d := range a.Dims {
		at = at*d + index[i]
	}
	return a.Elems[at]
}

// From returns an array of the given extents whose element at an index is a's at the
// index that from sets.
func (a Array) From(dims []int64, from func(index, of []int64)) Array {
	of := make([]int64, len(a.Dims))
	return Each(dims, func(index []int64) string {
		from(index, of)
		return a.Elem(of)
	})
}

// Bytes returns the packed elements of a type that is not String: low bits first.
func (a Array) Bytes(t layout.DType) []byte {
	bits := t.Bits()
	packed := make([]byte, 0, (len(a.Elems)*bits+7)/8)
	if bits >= 8 {
		for _, e := range a.Elems {
			packed = append(packed, e...)
		}
		return packed
	}
	packed = packed[:cap(packed)]
	clear(packed)
	for i, e := range a.Elems {
		packed[i*bits/8] |= e[0] << (i * bits % 8)
	}
	return packed
}

// OfBytes is the array of packed elements.
func OfBytes(t layout.DType, packed []byte, dims ...int64) Array {
	a := Array{Dims: dims}
	bits := t.Bits()
	for i := range int(Count(dims)) {
		if bits < 8 {
			a.Elems = append(a.Elems, string([]byte{packed[i*bits/8] >> (i * bits % 8) & (1<<bits - 1)}))
		} else {
			a.Elems = append(a.Elems, string(packed[i*bits/8:][:bits/8]))
		}
	}
	return a
}
