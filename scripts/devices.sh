#!/bin/sh
# Compares every device of the machine with the oracle, the operators on it with models of them,
# and with ONNX's backend test cases, those of build/onnx-cases and CASES; and converts quantised
# weights, if VECTORS has some. Random cases have a new seed each time, which is printed: SEED
# repeats them. With SOAKTIME, each device has more of them for that many seconds.
set -eu
: "${GO:=go}" "${CASES:=../shared/onnx-node-tests}" "${VECTORS:=$PWD/../shared/quant/vectors}" "${SEED:=$(date +%s)}" "${SOAKTIME:=0}"
mkdir -p build
$GO build -o build/restride ./cmd/restride

# verify runs cases of restride verify, once or until SOAKTIME has passed.
verify() {
	end=$(($(date +%s) + SOAKTIME))
	seed=$SEED
	while :; do
		build/restride verify --device "$1" --cases "$2" --seed "$seed"
		seed=$((seed + 1))
		[ "$(date +%s)" -lt "$end" ] || break
	done
}

# operators tests ONNX's operators on a device. Package onnx itself tests them on the cpu
# device; OpenCL on a processor compiles kernels for a minute.
operators() {
	if [ "$2" = fast ] || [ "$SOAKTIME" -gt 0 ] && [ "$1" != cpu ]; then
		RESTRIDE_TEST_DEVICE=$1 $GO test ./onnx -count=1 -timeout 1h -run 'Random|^TestTypes|GatherTypes|ScatterTypes|InPlace|Attention'
	fi
	for cases in "$CASES" build/onnx-cases; do
		[ ! -d "$cases" ] || build/restride conform "$cases" --device "$1"
	done
}

# weights converts quantised weights on a device, if the folder VECTORS has some.
weights() {
	if [ -d "$VECTORS" ]; then
		RESTRIDE_QUANT_VECTORS=$VECTORS RESTRIDE_TEST_DEVICE=$1 $GO test ./quant -count=1 -timeout 20m -run Vectors
	else
		echo "quantised weights on $1: skipped, there is no folder $VECTORS"
	fi
}

# Background tests end with the script.
begun=
stop() {
	for one in $begun; do kill "${one##*=}" 2>/dev/null || :; done
}
trap stop EXIT
trap 'exit 130' INT TERM

# exchange allocates a GPU's memory, and frees it.
exchange() {
	[ "$1" = cpu ] || RESTRIDE_TEST_DEVICE=$1 $GO test ./dlpack -count=1 -run '^TestDevice'
}

# check starts the tests of a device, in parallel with others': check DEVICE CASES SPEED.
check() {
	(
		verify "$1" "$2"
		operators "$1" "$3"
		weights "$1"
		exchange "$1"
	) >"build/devices.$1.log" 2>&1 &
	begun="$begun $1=$!"
}

list=$(build/restride devices)
echo "$list"
for device in $(echo "$list" | awk '/^(cpu|opencl:|cuda:)/ {print $1}'); do
	case $(echo "$list" | grep "^$device ") in
	*llvmpipe*) check "$device" 500 slow ;;
	*" cpu "*) check "$device" 5000 slow ;;
	*) check "$device" 5000 fast ;;
	esac
done
# Without a GPU, the CUDA device runs on a simulated driver.
if ! echo "$list" | grep -q '^cuda:' && command -v g++ >/dev/null; then
	make -s cuda-sim
	export RESTRIDE_LIBCUDA=$PWD/build/cuda-sim/libcuda.so.1
	check cuda:0 5000 fast
fi
failed=0
for one in $begun; do
	wait "${one##*=}" || failed=1
	cat "build/devices.${one%=*}.log"
done
[ -d "$CASES" ] || echo "conform: skipped, there is no folder $CASES; name one with CASES="
exit $failed
