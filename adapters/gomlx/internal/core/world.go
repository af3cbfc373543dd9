// Package core is a backend for GoMLX without GoMLX's types: it records a computation, plans
// which operations run on a Restride device and which on GoMLX's own Go backend, and runs the
// plan. The packages that implement GoMLX's interfaces describe theirs by World.
package core

import (
	"fmt"
	"reflect"

	"github.com/restride/restride/layout"
)

// World is a version of GoMLX: its types, and its Go backend, which runs what the device does
// not.
type World interface {
	// Array describes an array of a type that both have.
	Array(t layout.DType, dims []int64) Array
	// Builder begins a computation of the Go backend. A sequential one runs one operation after
	// another; the work of each may still be divided.
	Builder(name string, sequential bool) Computation
	// Memory returns a buffer of the Go backend whose elements are undefined.
	Memory(of Array) (Buffer, error)
	// Flat returns a buffer's memory, as a slice of Go numbers.
	Flat(Buffer) (any, error)
	// Describe describes a buffer.
	Describe(Buffer) (Array, error)
	// Recycle gives back a buffer that nothing uses.
	Recycle(Buffer)
	// NotImplemented is the error, or is wrapped by the errors, for what a backend lacks.
	NotImplemented() error
}

// Buffer is a buffer of the Go backend.
type Buffer = any

// Value is an operand or a result in a computation of the Go backend.
type Value = any

// Computation is a computation that the Go backend builds.
type Computation interface {
	Parameter(name string, of Array) (Value, error)
	// Describe describes a value.
	Describe(Value) (Array, error)
	// Compile ends the computation. Its results are distinct.
	Compile(results []Value) (Program, error)
}

// Program is a compiled computation of the Go backend.
type Program interface {
	Execute(in []Buffer, donate []bool) ([]Buffer, error)
}

// Array describes an array.
type Array struct {
	Shape fmt.Stringer // GoMLX's own
	Elem  reflect.Type // of the slices that hold its elements: bytes, if these are packed
	DType layout.DType // 0: a type that Restride lacks
	Dims  []int64      // -1: an open dimension
}

// Open reports whether an array has open dimensions.
func (a Array) Open() bool {
	for _, n := range a.Dims {
		if n < 0 {
			return true
		}
	}
	return false
}

// bytes returns the bytes of an array, or 0 where that is unknown.
func (a Array) bytes() int64 {
	n, err := layout.Shape(a.Dims).Bytes(a.DType)
	if err != nil {
		return 0
	}
	return n
}

// length returns the length of a slice that holds an array.
func (a Array) length() int {
	if bits := a.DType.Bits(); bits > 0 && bits < 8 {
		return int(a.bytes())
	}
	n := 1
	for _, d := range a.Dims {
		n *= int(d)
	}
	return n
}
