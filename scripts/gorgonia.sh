#!/bin/sh
# Tests the CUDA device of builds with the tag gorgonia like the default one, on the simulated
# driver, which is also linked: with the headers of CUDA 11 and 12, which come from NVIDIA's
# Python wheels. Needs a C and C++ compiler, and Python with pip.
set -eu
: "${GO:=go}" "${PYTHON:=python3}" "${CASES:=../shared/onnx-node-tests}"

make -s cuda-sim
sim=$PWD/build/cuda-sim
export LD_LIBRARY_PATH="$sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export RESTRIDE_LIBCUDA="$sim/libcuda.so.1" # tells tests which driver this is: it is not loaded by this path
export CGO_ENABLED=1 CGO_LDFLAGS="-L$sim"

# headers fetches a wheel, once, and prints the folder with cuda.h.
headers() {
	dir=$PWD/build/headers/$1
	if [ ! -f "$dir/done" ]; then
		rm -rf "$dir"
		$PYTHON -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$dir" "$1" >&2
		$PYTHON -m zipfile -e "$dir"/*.whl "$dir"
		touch "$dir/done"
	fi
	dirname "$dir"/nvidia/*/include/cuda.h
}

# The kernels are the default build's: with the older headers, the small suite suffices.
for wheel in nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-runtime-cu12==12.9.79; do
	include=$(headers $wheel)
	export CGO_CFLAGS="-I$include"
	echo "$wheel: $(grep '#define CUDA_VERSION' "$include/cuda.h")"
	suite=small
	case $wheel in *12.*) suite= ;; esac
	RESTRIDE_SUITE=$suite $GO test -count=1 -timeout 20m -tags gorgonia ./cuda
done
$GO vet -tags gorgonia ./cuda ./cmd/restride
if [ -x build/staticcheck ]; then # from make lint
	build/staticcheck -tags gorgonia ./cuda
else
	echo "staticcheck: skipped, make lint installs it"
fi
$GO build -tags gorgonia -o build/restride-gorgonia ./cmd/restride
$GO version -m build/restride-gorgonia | grep gorgonia.org/cu
build/restride-gorgonia devices
build/restride-gorgonia verify --device cuda:0 --cases 1000 --seed "$(date +%s)"
if [ -d "$CASES" ]; then
	build/restride-gorgonia conform "$CASES" --device cuda:0
else
	echo "conform: skipped, there is no folder $CASES; name one with CASES="
fi
