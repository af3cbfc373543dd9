#!/bin/sh
# Compiles the kernels to PTX, one file each, into cuda/ptx. clang 16 needs no
# CUDA installation for that, and writes the same text every time.
set -eu
: "${GO:=go}" "${CLANG:=clang-16}"
cd "$(dirname "$0")/.."
rm -rf build/ptx cuda/ptx
mkdir -p build/ptx cuda/ptx
$GO run ./kernels/emit -split build/ptx cuda
for source in build/ptx/*.cu; do
	name=$(basename "$source" .cu)
	# compute_70 loads on every GPU since Volta. Comments and blank lines say nothing.
	$CLANG -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -O3 -S -o "build/ptx/$name.ptx" "$source"
	grep -v -e '^[[:space:]]*//' -e '^[[:space:]]*$' "build/ptx/$name.ptx" >"cuda/ptx/$name.ptx"
done
