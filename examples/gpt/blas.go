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

// blas is cuBLAS on a CUDA stream, for float32: cublasGemmEx has more arguments than dl.Call passes.
type blas struct {
	stream         *tensor.Stream
	device         *cuda.Device
	cublas, driver *dl.Library
	handle         uintptr
}

// openBLAS opens cuBLAS: of a path or, for "", where the system finds it. nil: it finds none, the
// device is not CUDA's, or the path is none. What it returns must be closed, also after an error.
func openBLAS(s *tensor.Stream, path string) (b *blas, err error) {
	d, ok := device.As[*cuda.Device](s.Device())
	driver, _, _ := cuda.Library()
	if !ok || path == "none" || path == "" && filepath.Base(driver) != driver { // cuBLAS uses the system's driver
		return nil, nil
	}
	names := []string{path}
	if path == "" {
		names = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "cublas64_13.dll", "cublas64_12.dll"}
	}
	b = &blas{stream: s, device: d}
	if b.cublas, err = dl.Open(names...); err != nil && path == "" {
		return nil, nil
	}
	if err == nil {
		b.driver, err = dl.Open(driver)
	}
	if err == nil {
		err = b.call("cublasCreate_v2", uintptr(unsafe.Pointer(&b.handle)))
	}
	if err != nil {
		return nil, err
	}
	return b, b.call("cublasSetStream_v2", b.handle, cuda.StreamOf(s.Queue()))
}

// close waits for the work and closes cuBLAS.
func (b *blas) close() error {
	return errors.Join(b.stream.Wait(), b.call("cublasDestroy_v2", b.handle))
}

// call calls a function of cuBLAS. The device's context is made current on the thread.
func (b *blas) call(name string, args ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f, err := b.cublas.Lookup(name)
	enter, missing := b.driver.Lookup("cuCtxSetCurrent")
	if err = errors.Join(err, missing); err != nil {
		return err
	}
	status := dl.Call(enter, b.device.Handles().Context)
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

// can reports whether there is a cuBLAS, and a matrix is one of its: floats, in rows or columns.
func (b *blas) can(s *tensor.Stream, w *tensor.Tensor) bool {
	l := w.Layout()
	down, right := l.Stride(0), l.Stride(1)
	return b != nil && s == b.stream && w.DType() == layout.Float32 && (down == 1 && right >= w.Dim(0) || right == 1 && down >= w.Dim(1))
}

var one, zero float32 = 1, 0

// multiply returns x times w. For cuBLAS, whose matrices lie in columns, all are transposed, and
// so the order is the other.
func (b *blas) multiply(dims []int64, x, w *tensor.Tensor) (*tensor.Tensor, error) {
	y, err := tensor.Empty(b.stream, x.DType(), dims...)
	if err != nil {
		return nil, err
	}
	l, inner, columns := w.Layout(), w.Dim(0), w.Dim(1)
	transpose, pitch := uintptr(0), l.Stride(0)
	if pitch == 1 {
		transpose, pitch = 1, l.Stride(1)
	}
	err = b.call("cublasSgemm_v2", b.handle, transpose, 0, uintptr(columns), uintptr(x.Count()/inner), uintptr(inner),
		uintptr(unsafe.Pointer(&one)), b.at(w), uintptr(pitch), b.at(x), uintptr(inner),
		uintptr(unsafe.Pointer(&zero)), b.at(y), uintptr(columns))
	q, _ := device.As[device.Sharer](b.stream.Queue())
	return y, errors.Join(err, q.MarkUsed(y.Buffer(), x.Buffer(), w.Buffer()))
}
