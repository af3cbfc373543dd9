#!/bin/sh
# Compiles the kernels to PTX: the archive cuda/ptx.zip, one file for each kernel.
# clang 16 needs no CUDA installation for that, and writes the same text every time.
set -eu
: "${GO:=go}" "${CLANG:=clang-16}"
cd "$(dirname "$0")/.."
rm -rf build/ptx
$GO run ./kernels/emit -split build/ptx cuda
for source in build/ptx/*.cu; do
	# compute_70 loads on every GPU since Volta.
	$CLANG -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 \
		-Wall -Werror -Wno-unused-function -O3 -S -o "${source%.cu}.ptx" "$source"
done
$GO run ./cuda/ptxzip build/ptx cuda/ptx.zip
