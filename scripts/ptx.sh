#!/bin/sh
# Compiles the kernels to PTX: the archive internal/cudakernels/ptx.zip, one file for each kernel,
# and those of measurements and of examples/gpt.
# clang 16 needs no CUDA installation for that, and writes the same text every time. A
# product and a sum must not be fused: they are rounded each, as on other devices.
set -eu
: "${GO:=go}" "${CLANG:=clang-16}"
cd "$(dirname "$0")/.."
rm -rf build/ptx
$GO run ./kernels/emit -split build/ptx cuda
# compute_70 loads on every GPU since Volta.
flags='-x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -ffp-contract=off
	-Wall -Werror -Wno-unused-function -O3 -S'
compile() {
	from=$1 to=$2
	shift 2
	# shellcheck disable=SC2086
	$CLANG $flags -o "$to" "$from" "$@"
}
plain() { sed '/^[[:space:]]*\/\//d; /^[[:space:]]*$/d' "$1"; } # without comments
printf '%s\n' build/ptx/*.cu | xargs -n 1 -P "$(nproc)" sh -c '$0 '"$(echo $flags)"' -o "${1%.cu}.ptx" "$1"' "$CLANG"
$GO run ./cuda/ptxzip build/ptx internal/cudakernels/ptx.zip
# The kernels of measurements, of which the library has none.
mkdir -p build/micro
cat kernels/source/cuda.h kernels/source/common.h cuda/micro/micro.h | sed '/^#include\|^#pragma once/d' >build/micro/micro.cu
compile build/micro/micro.cu build/micro/micro.ptx
plain build/micro/micro.ptx >cuda/micro/micro.ptx
# Those of the example, for floats and halves.
cat examples/gpt/cuda.h examples/gpt/kernels.cl >build/micro/gpt.cu
compile build/micro/gpt.cu build/micro/gpt.ptx -ffp-contract=fast
plain build/micro/gpt.ptx >examples/gpt/kernels.ptx
compile build/micro/gpt.cu build/micro/gpt.ptx -ffp-contract=fast -DHALF
plain build/micro/gpt.ptx >examples/gpt/kernels16.ptx
