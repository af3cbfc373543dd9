#!/bin/sh
# Converts random weights with the command, for SOAKTIME seconds, and makes it inspect and
# convert WEIGHTFILES files of weights, valid and hostile; then tries random input (cmd/soak) on
# every device of the machine, in one process, for SOAKTIME seconds each. The seed is new each
# time, and printed: SEED repeats it.
set -eu
: "${GO:=go}" "${SOAKTIME:=60}" "${SEED:=$(date +%s)}" "${WEIGHTFILES:=2000}" "${FAULTS:=40}"
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
RESTRIDE_SOAK=1 SOAKTIME="$SOAKTIME" SEED="$SEED" $GO test -count=1 -timeout 2h -v -run '^TestRepackRandom$' ./cmd/restride
RESTRIDE_WEIGHT_FILES="$WEIGHTFILES" RESTRIDE_WEIGHT_SEED="$SEED" $GO test -count=1 -timeout 12h -run '^TestWeightFiles$' ./cmd/restride
# Makes calls of the drivers fail, in each way, on each device: FAULTS of them, or all, which
# can last an hour.
RESTRIDE_FAULTS="$FAULTS" $GO test -count=1 -timeout 2h -v -run '^TestFaults$' ./cuda ./opencl
# The simulator needs minutes for a second's copies of a device.
build/soak --deadline 10m --device "$(echo "$devices" | paste -sd, -)" --time "$((count * SOAKTIME))s" --seed "$SEED"
