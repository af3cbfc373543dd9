// Command gl draws frames with OpenGL, without a window, and makes of each what a vision
// model takes: normalised planes of float16, [1,3,height,width]. The planes, mirrored in
// place of a model, go back to a texture. Of the last frame it writes frame.png, planes.png
// and result.png.
//
//	go run -tags gogl,egl ./examples/gl --device cpu --out build/gl
//
// The tag gogl builds package gl of this module; see there.
package main
