#!/bin/sh
# Runs the bundle's run.sh on the CUDA simulator, as on a machine without Go and
# this repository: once as it is, with a stand-in for compute-sanitizer, and once
# with a fault in the driver, which it must report and go on. Sizes are small.
set -eu
cd "$(dirname "$0")/.."
: "${CASES:=../shared/onnx-node-tests}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=
[ ! -d "$CASES" ] || cases=$(cd "$CASES" && pwd)
tar -C "$work" -xzf build/gpu-bundle.tar.gz
mkdir "$work/bin"
cat >"$work/bin/compute-sanitizer" <<'END'
#!/bin/sh
while [ "${1#--}" != "$1" ]; do
	case $1 in *=*) shift ;; *) shift 2 ;; esac
done
"$@" || exit
echo "========= ERROR SUMMARY: 0 errors"
END
chmod +x "$work/bin/compute-sanitizer"
export RESTRIDE_LIBCUDA="$PWD/build/cuda-sim/libcuda.so.1" RESTRIDE_LIBOPENCL=/no/such/library.so
export VERIFY_CASES=200 BENCH_SIZE=16K BENCH_TIME=1ms BENCH_FILTER='^(a-transpose|odd-|kv-cache-|pack|unpack|e-reversed)'
unset RESTRIDE_REQUIRE

fail() {
	echo "gpu_bundle_test: $*" >&2
	exit 1
}
run() { # OUT, then arguments
	OUT=$work/$1
	export OUT
	shift
	(cd "$work/gpu-bundle" && PATH="$work/bin:/usr/bin:/bin" ./run.sh --quick "$@")
}

for text in '^===== gonum.org/v1/plot ' 'SIL OPEN FONT LICENSE' '^===== Go go1'; do
	grep -q "$text" "$work/gpu-bundle/NOTICES" || fail "NOTICES lacks $text"
done

run right ${cases:+"$cases"} || fail "it fails on the simulator"
for step in devices cuda gpu operators verify bench memcheck racecheck; do
	grep -q "^$step  *PASS" "$work/right/summary.txt" || fail "step $step did not pass"
done
[ -z "$cases" ] || grep -q "^conform  *PASS" "$work/right/summary.txt" || fail "step conform did not pass"
grep -q '^opencl  *not run .*no OpenCL device' "$work/right/summary.txt" || fail "what is not there is to be said"
grep -q '^a-transpose/32 ' "$work/right/summary.txt" || fail "the summary lacks the benchmark's figures"
for library in numpy torch onnxruntime cupy; do # there is no GPU for them
	grep -q "^peer: $library is not beside cuda:0: " "$work/right/bench.log" || fail "what is not measured beside is to be said"
done
# The results are JSON, with figures: Go reads them, and says that they are no report
# of the benchmark alone.
"$work/gpu-bundle/restride" bench --from "$work/right/results.json" 2>&1 | grep -q 'its format is 1; ' || fail "results.json is no JSON"
grep -q '"median_ns"' "$work/right/results.json" || fail "results.json lacks figures"

if RESTRIDE_SIM_PLANT=oob run wrong; then
	fail "a faulty driver passes"
fi
for step in cuda verify; do
	grep -q "^$step  *FAIL" "$work/wrong/summary.txt" || fail "step $step passes on a faulty driver"
done
grep -q '^racecheck ' "$work/wrong/summary.txt" || fail "it ends at the first step that fails"
echo "gpu_bundle_test: ok"
