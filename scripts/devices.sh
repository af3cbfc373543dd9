#!/bin/sh
# Holds every device of the machine against the oracle, and against ONNX's backend
# test cases, where the folder CASES has them.
set -eu
: "${GO:=go}" "${CASES:=../shared/onnx-node-tests}"
mkdir -p build
$GO build -o build/restride ./cmd/restride
list=$(build/restride devices)
echo "$list"
seed=1
for device in $(echo "$list" | awk '/^(cpu|opencl:|cuda:)/ {print $1}'); do
	cases=20000
	case $(echo "$list" | grep "^$device ") in *llvmpipe*) cases=2000 ;; esac
	build/restride verify --device "$device" --cases $cases --seed $seed
	seed=$((seed + 1))
	if [ -d "$CASES" ]; then
		build/restride conform "$CASES" --device "$device"
	fi
done
# Without a GPU, the CUDA device runs on a simulated driver.
if ! echo "$list" | grep -q '^cuda:' && command -v g++ >/dev/null; then
	make -s cuda-sim
	export RESTRIDE_LIBCUDA=$PWD/build/cuda-sim/libcuda.so.1
	build/restride verify --device cuda:0 --cases 5000 --seed $seed
	if [ -d "$CASES" ]; then
		build/restride conform "$CASES" --device cuda:0
	fi
fi
[ -d "$CASES" ] || echo "conform: skipped, there is no folder $CASES; name one with CASES="
