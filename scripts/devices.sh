#!/bin/sh
# Holds every device of the machine against the oracle, the operators on it against
# models of them, and against ONNX's backend test cases, where the folder CASES has
# them.
set -eu
: "${GO:=go}" "${CASES:=../shared/onnx-node-tests}"
mkdir -p build
$GO build -o build/restride ./cmd/restride

# operators tests ONNX's operators on a device.
operators() {
	if [ "$2" = fast ]; then
		RESTRIDE_TEST_DEVICE=$1 $GO test ./onnx -count=1 -run 'Random|^TestTypes|GatherTypes|ScatterTypes|InPlace|Attention'
	fi
	if [ -d "$CASES" ]; then
		build/restride conform "$CASES" --device "$1"
	fi
}

list=$(build/restride devices)
echo "$list"
seed=1
for device in $(echo "$list" | awk '/^(cpu|opencl:|cuda:)/ {print $1}'); do
	cases=20000 speed=fast
	case $(echo "$list" | grep "^$device ") in *llvmpipe*) cases=2000 speed=slow ;; esac
	build/restride verify --device "$device" --cases $cases --seed $seed
	seed=$((seed + 1))
	operators "$device" $speed
done
# Without a GPU, the CUDA device runs on a simulated driver.
if ! echo "$list" | grep -q '^cuda:' && command -v g++ >/dev/null; then
	make -s cuda-sim
	export RESTRIDE_LIBCUDA=$PWD/build/cuda-sim/libcuda.so.1
	build/restride verify --device cuda:0 --cases 5000 --seed $seed
	operators cuda:0 fast
fi
[ -d "$CASES" ] || echo "conform: skipped, there is no folder $CASES; name one with CASES="
