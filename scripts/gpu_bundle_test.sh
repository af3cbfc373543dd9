#!/bin/sh
# Runs the bundle's run.sh on the CUDA simulator, as on a machine without Go and this
# repository: once normally, with a stand-in for compute-sanitizer, and once with a fault in the
# driver, which it must report and continue. Sizes are small.
set -eu
cd "$(dirname "$0")/.."
: "${CASES:=../shared/onnx-node-tests}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=
[ ! -d "$CASES" ] || cases=$(cd "$CASES" && pwd)
tar -C "$work" -xzf build/gpu-bundle.tar.gz
[ -s "$work/gpu-bundle/cases.txt" ] || { echo "gpu_bundle_test: there are no cases.txt" >&2; exit 1; }
echo 'rows/8 copy/uint8/64x100/dst=100,1@0/src=128,1@3' >"$work/gpu-bundle/cases.txt" # the others are for GPUs
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
	(cd "$work/gpu-bundle" && PATH="$work/bin:/usr/bin:/bin" ./run.sh "$@")
}

for text in '^===== gonum.org/v1/plot ' 'SIL OPEN FONT LICENSE' '^===== Go go1'; do
	grep -q "$text" "$work/gpu-bundle/NOTICES" || fail "NOTICES lacks $text"
done

run right --quick ${cases:+"$cases"} || fail "it fails on the simulator"
for step in devices cold warm micro first verify cuda gl bench layouts cached peers memcheck racecheck variants operators gpu; do
	grep -q "^$step  *PASS" "$work/right/summary.txt" || fail "step $step did not pass"
done
[ -z "$cases" ] || grep -q "^conform  *PASS" "$work/right/summary.txt" || fail "step conform did not pass"
grep -q '^opencl  *not run .*no OpenCL device' "$work/right/summary.txt" || fail "what is not there is to be said"
grep -q '^a-transpose/32 ' "$work/right/summary.txt" || fail "the summary lacks the benchmark's figures"
for library in numpy torch onnxruntime cupy; do # there is no GPU for them
	grep -q "^peer: $library is not beside cuda:0: " "$work/right/peers.log" || fail "what is not measured beside is to be said"
done
# The results are JSON, with figures: Go parses them, and finds that they are more than a report
# of the benchmark.
"$work/gpu-bundle/restride" bench --from "$work/right/results.json" 2>&1 | grep -q 'its format is 0; ' || fail "results.json is no JSON"
grep -q '"name": "rows/8"' "$work/right/results.json" || fail "results.json lacks the layouts of cases.txt"
grep -q '"median_ns"' "$work/right/results.json" || fail "results.json lacks figures"

grep -q '"latency"' "$work/right/calibration.json" || fail "there is no calibration"
ls "$work/right/variants/blocks-4-2.json" >/dev/null || fail "a variant was not measured"

__EGL_VENDOR_LIBRARY_FILENAMES=/no/such run right gl || fail "a machine without OpenGL fails"
grep -q '^gl  *not run .*EGL' "$work/right/summary.txt" || fail "OpenGL that is not there is to be said"

# A single step adds to the results of an earlier call.
run right warm || fail "a step by itself fails"
grep -q '^warm  *PASS' "$work/right/summary.txt" || fail "a step by itself is not told"
grep -q '"name": "verify"' "$work/right/results.json" || fail "a later call loses what an earlier one found"
if run right none-such 2>/dev/null; then
	fail "an unknown step passes"
fi
run late --time 0 || fail "steps without time fail"
grep -q '^no time was left for: cold warm ' "$work/late/summary.txt" || fail "steps without time are to be said"

if RESTRIDE_SIM_PLANT=oob run wrong --quick devices verify memcheck racecheck cuda; then
	fail "a faulty driver passes"
fi
for step in cuda verify; do
	grep -q "^$step  *FAIL" "$work/wrong/summary.txt" || fail "step $step passes on a faulty driver"
done
grep -q '^racecheck ' "$work/wrong/summary.txt" || fail "it ends at the first step that fails"
echo "gpu_bundle_test: ok"
