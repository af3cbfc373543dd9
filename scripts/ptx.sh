#!/bin/sh
# Compiles the kernels to PTX: the archive internal/cudakernels/ptx.zip, one file for each kernel.
# clang 16 needs no CUDA installation for that, and writes the same text every time. A
# product and a sum must not be fused: they are rounded each, as on other devices.
set -eu
: "${GO:=go}" "${CLANG:=clang-16}"
cd "$(dirname "$0")/.."
rm -rf build/ptx
$GO run ./kernels/emit -split build/ptx cuda
compile() {
	# compute_70 loads on every GPU since Volta.
	$CLANG -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -ffp-contract=off \
		-Wall -Werror -Wno-unused-function -O3 -S -o "$2" "$1"
}
for source in build/ptx/*.cu; do
	compile "$source" "${source%.cu}.ptx"
done
$GO run ./cuda/ptxzip build/ptx internal/cudakernels/ptx.zip
# The kernels of measurements, of which the library has none.
mkdir -p build/micro
cat kernels/source/cuda.h kernels/source/common.h cuda/micro/micro.h | sed '/^#include\|^#pragma once/d' >build/micro/micro.cu
compile build/micro/micro.cu build/micro/micro.ptx
sed '/^[[:space:]]*\/\//d; /^[[:space:]]*$/d' build/micro/micro.ptx >cuda/micro/micro.ptx
