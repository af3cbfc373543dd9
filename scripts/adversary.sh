#!/bin/sh
# Tries random input (cmd/soak) on every device of the machine, in one process, for
# SOAKTIME seconds each; and WEIGHTFILES random files of weights, with the command itself,
# which is a package that its own tests alone can call. The seed is new each time, and printed: SEED repeats it.
set -eu
: "${GO:=go}" "${SOAKTIME:=60}" "${SEED:=$(date +%s)}" "${WEIGHTFILES:=5000}"
mkdir -p build
$GO build -o build/restride ./cmd/restride
$GO build -o build/soak ./cmd/soak
devices=$(build/restride devices | awk '/^(cpu|opencl:|cuda:)/ {print $1}')
# Without a GPU, the CUDA device runs on a simulated driver.
if ! echo "$devices" | grep -q '^cuda:' && command -v g++ >/dev/null; then
	make -s cuda-sim
	export RESTRIDE_LIBCUDA="$PWD/build/cuda-sim/libcuda.so.1"
	devices="$devices
cuda:0"
fi
count=$(echo "$devices" | wc -l)
# The simulator takes minutes for what a device copies in a second.
build/soak --deadline 10m --device "$(echo "$devices" | paste -sd, -)" --time "$((count * SOAKTIME))s" --seed "$SEED"
$GO test -c -o build/weights.test ./cmd/restride
cd cmd/restride
RESTRIDE_WEIGHT_FILES=$WEIGHTFILES RESTRIDE_WEIGHT_SEED=$SEED ../../build/weights.test -test.run '^TestWeightFiles$' -test.timeout 0
