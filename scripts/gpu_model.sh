#!/bin/sh
# Writes the table of docs/gpu-model.md. The number of a kernel's registers comes from the
# assembler; without it, it is assumed.
set -eu
: "${GO:=go}"
cd "$(dirname "$0")/.."
ptxas=build/nvcc/ptxas
sh scripts/ptxas.sh || {
	echo "there is no ptxas: registers are assumed" >&2
	ptxas=
}
$GO run ./kernels/model --ptxas "$ptxas" --page docs/gpu-model.md
