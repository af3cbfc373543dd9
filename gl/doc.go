// Package gl makes tensors of OpenGL's buffers, and brings textures to buffers and back.
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
//	shared   the driver of both has the buffer in common     device.GLSharer
//	mapped   the buffer lies in the host's memory, where     cpu; OpenCL on a processor
//	         the device works on it in place
//	staged   the host copies: two transfers, which Stats     every device
//	         counts
//
// An OpenCL device shares if its context was made for that: opencl.Options.GL.
//
// A [Buffer] is GL's and, between Acquire and Release, the device's:
//
//	runtime.LockOSThread()
//	in, err := gl.New(stream, gl.Options{})
//	frame, err := in.NewBuffer(device.GLRead, layout.Uint8, 1080, 1920, 4)
//	for ... {
//		err = frame.FromTexture(texture, 0)       // on GL's side
//		x, err := frame.Acquire()                 // behind what GL was given so far
//		y, err := x.Transpose(2, 0, 1)            // tensors as ever
//		...
//		err = frame.Release()                     // before what GL is given from now on
//	}
//	err = frame.Close()
//
// # Threads
//
// A GL context belongs to a thread. All calls of this package are made by a goroutine that
// is locked to its thread (runtime.LockOSThread), and with the context current that New
// found. Anywhere else they are device.ErrInvalid and do nothing. Tensors are free of that:
// work on them is queued by any goroutine.
//
// An error that GL has of the program's own calls is returned by the next call here, which
// then does nothing, unless it is Release or Close. GL's bindings and pixel modes stay as
// the program has set them.
//
// Package gl/headless makes contexts without a window. It needs neither the tag nor cgo.
package gl
