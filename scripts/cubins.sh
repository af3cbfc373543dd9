#!/bin/sh
# Compiles the kernels' PTX for the GPUs that cuda/cubin.go lists: the archive
# cuda/cubins.zip, which builds with the tag cubins embed. ptxas comes from NVIDIA's
# Python wheel, unless PTXAS names another.
set -eu
: "${GO:=go}" "${PYTHON:=python3}" "${PTXAS:=}"
cd "$(dirname "$0")/.."
if [ -z "$PTXAS" ]; then
	PTXAS=build/nvcc/ptxas
	if [ ! -x "$PTXAS" ]; then
		rm -rf build/nvcc
		$PYTHON -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: \
			-d build/nvcc nvidia-cuda-nvcc-cu12==12.9.86
		$PYTHON -m zipfile -e build/nvcc/*.whl build/nvcc
		chmod +x build/nvcc/nvidia/cuda_nvcc/bin/ptxas
		ln -s nvidia/cuda_nvcc/bin/ptxas "$PTXAS"
	fi
fi
$GO run ./cuda/cubins "$PTXAS" cuda/cubins.zip
