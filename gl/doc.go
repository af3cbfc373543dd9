// Package gl makes tensors of OpenGL's buffers, and copies textures to buffers and back.
//
// It is built with the tag gogl, over github.com/go-gl/gl/v4.3-core/gl, and needs cgo; without
// the tag it is empty, and nothing of that module is built:
//
//	go build -tags gogl        with GLX on Linux, WGL on Windows
//	go build -tags gogl,egl    with EGL
//
// With a context of OpenGL 4.3 or newer current on the thread, [New] finds the way between
// a stream's device and the context:
//
//	shared   the driver shares the buffer between both       device.GLSharer
//	mapped   the buffer lies in the host's memory, where     cpu; OpenCL on a processor
//	         the device works on it in place
//	staged   the host copies: two transfers, which Stats     every device
//	         counts
//
// An OpenCL device shares if its context was made for that: opencl.Options.GL.
//
// A [Buffer] belongs to GL and, between Acquire and Release, to the device:
//
//	runtime.LockOSThread()
//	in, err := gl.New(stream, gl.Options{})
//	frame, err := in.NewBuffer(device.GLRead, layout.Uint8, 1080, 1920, 4)
//	for ... {
//		err = frame.FromTexture(texture, 0)       // on GL's side
//		x, err := frame.Acquire()                 // after all work given to GL so far
//		y, err := x.Transpose(2, 0, 1)            // an ordinary tensor
//		...
//		err = frame.Release()                     // before GL's later work
//	}
//	err = frame.Close()
//
// # Threads
//
// A GL context belongs to a thread. All calls of this package must be made by a goroutine that
// is locked to its thread (runtime.LockOSThread), with the context current that New found.
// Otherwise they are device.ErrInvalid and do nothing. Tensors are exempt: any goroutine can
// queue work on them.
//
// A GL error of the program's own calls is returned by the next call of this package, which
// then does nothing, unless it is Release or Close. GL's bindings and pixel modes are
// preserved.
//
// Package gl/headless makes contexts without a window. It needs neither the tag nor cgo.
package gl
