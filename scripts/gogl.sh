#!/bin/sh
# Tests package gl, which has the tag gogl, with every available device, on the OpenGL that EGL
# finds: here Mesa's llvmpipe. Needs a C compiler, pkg-config and EGL's headers, as go-gl does.
set -eu
: "${GO:=go}" "${DEVICES:=cpu opencl:0 cuda:0}"
packages="./gl/... ./examples/gl"
make -s cuda-sim
export RESTRIDE_LIBCUDA="$PWD/build/cuda-sim/libcuda.so.1" CGO_ENABLED=1
# go-gl finds GL's functions by EGL, or by GLX.
for tags in gogl,egl gogl; do
	$GO vet -tags $tags $packages
done
if [ -x build/staticcheck ]; then # from make lint
	build/staticcheck -tags gogl,egl $packages
else
	echo "staticcheck: skipped, make lint installs it"
fi
RESTRIDE_REQUIRE=${RESTRIDE_REQUIRE:+$RESTRIDE_REQUIRE,}gl
export RESTRIDE_REQUIRE
$GO test -race -count=1 -timeout 20m -tags gogl,egl $packages
$GO build -tags gogl,egl -o build/example-gl ./examples/gl
for device in $DEVICES; do
	build/example-gl --device "$device" --width 640 --height 360 --out build/gl
done
# No OpenCL driver for the processor shares with GL: a library makes them share, with
# cl_khr_gl_event and without.
make -s gl-shim
export RESTRIDE_LIBOPENCL="$PWD/build/glshim/libOpenCL.so"
for event in 0 1; do
	RESTRIDE_GLSHIM_EVENT=$event $GO test -count=1 -tags gogl,egl ./gl ./examples/gl -run '/^opencl:0'
done
build/example-gl --device opencl:0 --width 640 --height 360 --out build/gl
