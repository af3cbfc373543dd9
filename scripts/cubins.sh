#!/bin/sh
# Compiles the kernels' PTX for the GPUs that cuda/cubin.go lists: the archive
# cuda/cubins.zip, which builds with the tag cubins embed. PTXAS may name another assembler than
# the installed one.
set -eu
: "${GO:=go}" "${PTXAS:=}"
cd "$(dirname "$0")/.."
if [ -z "$PTXAS" ]; then
	sh scripts/ptxas.sh
	PTXAS=build/nvcc/ptxas
fi
$GO run ./cuda/cubins "$PTXAS" cuda/cubins.zip
