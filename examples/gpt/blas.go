package main

import (
	"errors"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// blas is cuBLAS on the stream of a CUDA device.
type blas struct {
	stream      *tensor.Stream
	device      *cuda.Device
	lib, driver *dl.Library
	handle      uintptr
	workspace   *tensor.Tensor // so that captured work allocates nothing
}

// openBLAS opens cuBLAS: the library of a name, or for "" the one that the system finds. nil: it
// finds none, the device is not CUDA's, or the name is none.
func openBLAS(s *tensor.Stream, library string) (*blas, error) {
	d, ok := device.As[*cuda.Device](s.Device())
	if !ok || library == "none" {
		return nil, nil
	}
	path, _, err := cuda.Library()
	names := []string{library}
	if library == "" {
		if filepath.Base(path) != path { // cuBLAS uses the driver that the system finds
			return nil, nil
		}
		names = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll"}
	}
	b := &blas{stream: s, device: d}
	if b.lib, err = dl.Open(names...); err != nil && library == "" {
		return nil, nil
	}
	if err == nil {
		b.driver, err = dl.Open(path)
	}
	if err == nil {
		err = b.call("cublasCreate_v2", uintptr(unsafe.Pointer(&b.handle)))
	}
	if err == nil {
		err = b.call("cublasSetStream_v2", b.handle, cuda.StreamOf(s.Queue()))
	}
	if err == nil {
		b.workspace, err = tensor.Empty(s, layout.Float32, 8<<20) // of 32 MiB, the most that a GPU needs
	}
	if err == nil {
		err = b.call("cublasSetWorkspace_v2", b.handle, b.at(b.workspace), 32<<20)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// close waits for the work and closes cuBLAS.
func (b *blas) close() error {
	err := b.stream.Wait()
	if b.handle != 0 {
		err = errors.Join(err, b.call("cublasDestroy_v2", b.handle))
	}
	if b.workspace != nil {
		err = errors.Join(err, b.workspace.Release())
	}
	return err
}

// call calls a function in the device's context, which is a thread's.
func (b *blas) call(name string, args ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	current, err := b.driver.Lookup("cuCtxSetCurrent")
	if err != nil {
		return err
	}
	f, err := b.lib.Lookup(name)
	if err != nil {
		return err
	}
	status := dl.Call(current, b.device.Handles().Context)
	if status == 0 {
		status = dl.Call(f, args...)
	}
	if status != 0 {
		return layout.Errorf(device.ErrDriver, name, "status %d", int32(status))
	}
	return nil
}

// at returns the address of a tensor of floats.
func (b *blas) at(x *tensor.Tensor) uintptr {
	l := x.Layout()
	return b.device.HandleOf(x.Buffer()) + uintptr(4*l.Offset())
}

// can reports whether cuBLAS can multiply by a matrix: of floats, in dense rows or columns.
func (b *blas) can(w *tensor.Tensor) bool {
	l := w.Layout()
	down, right := l.Stride(0), l.Stride(1)
	return w.DType() == layout.Float32 && (down == 1 && right >= w.Dim(0) || right == 1 && down >= w.Dim(1))
}

var one, zero float32 = 1, 0

// multiply writes x times w to y. For cuBLAS, whose matrices lie in columns, each is transposed,
// and the order is the other.
func (b *blas) multiply(y, x, w *tensor.Tensor, rows int64) error {
	l, inner, columns := w.Layout(), uintptr(w.Dim(0)), uintptr(w.Dim(1))
	transpose, pitch := uintptr(0), l.Stride(0)
	if pitch == 1 {
		transpose, pitch = 1, l.Stride(1)
	}
	err := b.call("cublasSgemm_v2", b.handle, transpose, 0, columns, uintptr(rows), inner,
		uintptr(unsafe.Pointer(&one)), b.at(w), uintptr(pitch), b.at(x), inner,
		uintptr(unsafe.Pointer(&zero)), b.at(y), columns)
	q, _ := device.As[device.Sharer](b.stream.Queue())
	return errors.Join(err, q.MarkUsed(y.Buffer(), x.Buffer(), w.Buffer()))
}
