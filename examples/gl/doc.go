// Command gl draws frames with OpenGL, without a window, and converts each to a vision model's
// input: normalised planes of float16, [1,3,height,width]. The planes, mirrored instead of
// passed to a model, go back to a texture. Of the last frame it writes frame.png, planes.png
// and result.png.
//
//	go run -tags gogl,egl ./examples/gl --device cpu --out build/gl
//
// The tag gogl builds package gl of this module; see there.
package main
