#!/bin/sh
# Compiles the kernels' PTX for the GPUs that internal/cudakernels/cubin.go lists: the archive
# internal/cudakernels/cubins.zip, which builds with the tag cubins embed. PTXAS may name another
# assembler than the one that is installed.
set -eu
: "${GO:=go}" "${PTXAS:=}"
cd "$(dirname "$0")/.."
if [ -z "$PTXAS" ]; then
	sh scripts/ptxas.sh
	PTXAS=build/nvcc/ptxas
fi
$GO run ./cuda/cubins "$PTXAS" internal/cudakernels/cubins.zip
