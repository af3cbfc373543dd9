#!/bin/sh
# Writes the table of docs/gpu-model.md. The assembler, which says how many registers a
# kernel has, is NVIDIA's, from PyPI; without it, registers are assumed.
set -eu
: "${GO:=go}"
cd "$(dirname "$0")/.."
ptxas=build/ptxas/nvidia/cuda_nvcc/bin/ptxas
if [ ! -x "$ptxas" ]; then
	python3 -m pip install --quiet --no-deps --target build/ptxas nvidia-cuda-nvcc-cu12 ||
		echo "there is no ptxas: registers are assumed" >&2
fi
[ -x "$ptxas" ] || ptxas=
$GO run ./kernels/model --ptxas "$ptxas" --page docs/gpu-model.md
