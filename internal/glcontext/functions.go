package glcontext

import (
	"fmt"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// The constants of GL in use.
const (
	copyReadBuffer    = 0x8F36 // and its binding
	bufferSize        = 0x8764
	bufferMapped      = 0x88BC
	bufferAccessFlags = 0x911F
	mapPersistent     = 0x0040
)

// Functions are the functions of a context, to be called where it is current.
type Functions struct {
	finish, isBuffer, getInteger, bindBuffer, bufferParameter uintptr
}

// Functions loads them: the context must be current.
func (c Context) Functions() (*Functions, error) {
	f := &Functions{}
	for name, at := range map[string]*uintptr{
		"glFinish": &f.finish, "glIsBuffer": &f.isBuffer, "glGetIntegerv": &f.getInteger, "glBindBuffer": &f.bindBuffer,
		"glGetBufferParameteri64v": &f.bufferParameter,
	} {
		var err error
		if *at, err = c.Lookup(name); err != nil {
			return nil, fmt.Errorf("GL 3.2 or GL ES 3.0 is needed: %w", err)
		}
	}
	return f, nil
}

// Lookup returns the address of a GL function, for use where the context is current.
func (c Context) Lookup(name string) (uintptr, error) {
	for _, open := range systems {
		if l, err := open(); err == nil && l.system == c.System {
			return l.lookup(name)
		}
	}
	return 0, ErrNone
}

// Finish waits until GL has done all its work.
func (f *Functions) Finish() { dl.Call(f.finish) }

// Buffer is GL's description of a buffer object.
type Buffer struct {
	Bytes int64
	// Mapped: GL's client has it mapped, and not persistently, so that it is unusable
	// otherwise.
	Mapped bool
}

// Buffer queries GL about a buffer object. It returns false if the name does not exist.
func (f *Functions) Buffer(name uint32) (b Buffer, is bool) {
	if name == 0 || dl.Call(f.isBuffer, uintptr(name))&0xff == 0 {
		return b, false
	}
	before := new(int32)
	dl.Call(f.getInteger, copyReadBuffer, uintptr(unsafe.Pointer(before)))
	dl.Call(f.bindBuffer, copyReadBuffer, uintptr(name))
	b.Bytes = f.parameter(bufferSize)
	b.Mapped = f.parameter(bufferMapped) != 0 && f.parameter(bufferAccessFlags)&mapPersistent == 0
	dl.Call(f.bindBuffer, copyReadBuffer, uintptr(uint32(*before)))
	return b, true
}

func (f *Functions) parameter(key uintptr) int64 {
	v := new(int64)
	dl.Call(f.bufferParameter, copyReadBuffer, key, uintptr(unsafe.Pointer(v)))
	return *v
}
