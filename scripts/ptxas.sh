#!/bin/sh
# Installs NVIDIA's assembler of PTX, from its Python wheel: build/nvcc/ptxas.
set -eu
: "${PYTHON:=python3}"
cd "$(dirname "$0")/.."
[ ! -x build/nvcc/ptxas ] || exit 0
rm -rf build/nvcc
$PYTHON -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: \
	-d build/nvcc nvidia-cuda-nvcc-cu12==12.9.86
$PYTHON -m zipfile -e build/nvcc/*.whl build/nvcc
chmod +x build/nvcc/nvidia/cuda_nvcc/bin/ptxas
ln -s nvidia/cuda_nvcc/bin/ptxas build/nvcc/ptxas
