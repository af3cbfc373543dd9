#!/bin/sh
# Tests and measures Restride on a machine with an NVIDIA GPU, without Go. This is run.sh of the
# bundle from `make gpu-bundle`:
#
#	./run.sh [--time MINUTES] [--quick] [--list] [CONFORMANCE_DIR] [STEP...]
#
# It runs all steps, or the named ones, in the order of --list, except that steps without
# measurements run in parallel; none lasts 10 minutes. A later call for other steps adds to the
# results of an earlier one. With --time, steps without enough time left are not run; --quick is
# --time 9 with less of each. CONFORMANCE_DIR holds ONNX's backend test cases
# (onnx/backend/test/data/node of an ONNX checkout). Steps that need something the machine lacks
# are not run, and not failures. Results go to the folder $OUT, or ./results:
#
#	summary.txt       PASS, FAIL or "not run" for each step
#	results.json      the machine, the steps, the figures
#	calibration.json  the input of the GPU model (make gpu-model)
#	*.log             the output of each step
#
# The exit status is 1 if a step failed; later steps run even so. More variables: DEVICE
# (cuda:0), VERIFY_CASES, BENCH_SIZE, BENCH_TIME and BENCH_FILTER (see restride bench),
# RESTRIDE_PYTHON, which has PyTorch or others to compare with, and those of Restride's
# docs/devices.md.
set -u

# The steps, and about the most seconds of each: the most important first.
steps='
devices 30      the devices that are found
cold 150        each kernel loaded, and what it takes of a multiprocessor
warm 30         the same anew: the driver kept what it compiled
micro 60        what the model of GPUs assumes, measured
first 60        cases at which that model is to be checked first
verify 300      random copies, fills, conversions and takes against the oracle
cuda 540        the device suite
gl 120          buffers that CUDA and OpenGL have in common, without a window
memcheck 150    the device suite under compute-sanitizer
racecheck 240   the same, for races in shared memory
operators 300   operators on random graphs and types
conform 120     the test cases of ONNX
gpu 150         what the devices of all drivers have in common
bench 300       every case
layouts 300     the layouts of cases.txt, which has those of the model, too
cached 300      every case, with buffers that stay in the second-level cache
peers 540       known cases beside PyTorch and others
variants 540    known cases by variants of the kernels
opencl 540      the device suite on OpenCL
'

usage() {
	sed -n '/^#	.\/run.sh/s/^#	//p' "$0" >&2
	exit 2
}
quick= conform= minutes= only=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 minutes=9 ;;
	--list) echo "$steps" | sed '/^$/d'; exit 0 ;;
	--time)
		[ $# -gt 1 ] || usage
		minutes=$2
		case $minutes in '' | *[!0-9]*) usage ;; esac
		shift ;;
	-*) usage ;;
	*)
		if echo "$steps" | grep -q "^$1 "; then
			only="$only $1"
		elif [ -z "$conform" ] && [ -d "$1" ]; then
			conform=$(cd "$1" && pwd)
		else
			echo "run.sh: $1 is no step (see --list), and no folder" >&2
			exit 2
		fi ;;
	esac
	shift
done
if [ -n "$quick" ]; then : "${VERIFY_CASES:=2000}"; else : "${VERIFY_CASES:=10000}"; fi
: "${OUT:=results}" "${DEVICE:=cuda:0}" "${BENCH_SIZE:=}" "${BENCH_TIME:=}" "${BENCH_FILTER:=}"
mkdir -p "$OUT/steps" || exit 2
out=$(cd "$OUT" && pwd)
cd "$(dirname "$0")" || exit 2

start=$(date +%s)
deadline=$((start + 60 * ${minutes:-1440} - 20))
ran=' devices ' unreached=

say() { echo "$*" | tee -a "$out/summary.txt"; }

# json writes a file's text, or standard input, as a JSON string.
json() {
	printf '"'
	tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g' | awk 'NR > 1 {printf "\\n"} {printf "%s", $0}'
	printf '"'
}

# note adds a step to the results: name, status, exit status, seconds, its message, and more for
# the summary. It writes the entry in one piece, since other steps run in parallel.
note() {
	say "$(printf '%-12s %-8s %4ss  %s%s' "$1" "$2" "$4" "$5" "${6:+
$6}")"
	printf '\t\t{"name": "%s", "status": "%s", "rc": %s, "seconds": %s, "said": %s}' "$1" "$2" "$3" "$4" "$(printf '%s' "$5" | json)" >"$out/steps/$1"
}

skip() { note "$1" "not run" null 0 "$2"; }

# wanted reports whether to run a step now.
wanted() {
	case " $only " in '  ' | *" $1 "*) ;; *) return 1 ;; esac
	[ $((deadline - $(date +%s))) -ge 5 ] || { unreached="$unreached $1"; return 1; }
	ran="$ran$1 "
}

# step runs a command, for at most the time in --list, into a log: step NAME COMMAND... It fails
# if the command does, or if check is set and no line of the log matches.
check=
step() {
	name=$1 log=$out/$1.log limit=$(echo "$steps" | sed -n "s/^$1 \([0-9]*\) .*/\1/p")
	shift
	began=$(date +%s)
	[ -z "$quick" ] || limit=$(((limit + 2) / 3))
	[ "$name" = devices ] || [ "$limit" -le $((deadline - began)) ] || limit=$((deadline - began))
	if command -v timeout >/dev/null; then # a Go program prints where it hangs
		timeout -s QUIT -k 5 "$limit" "$@" >"$log" 2>&1
	else
		"$@" >"$log" 2>&1
	fi
	rc=$?
	took=$(($(date +%s) - began))
	status=PASS
	said=$(tests "$log")
	[ -n "$said" ] || said=$(grep . "$log" | tail -n 1 | cut -c 1-200)
	[ "$name" != devices ] || said="$(grep -c '^cuda:' "$log") of CUDA, $(grep -c '^opencl:' "$log") of OpenCL"
	if [ $rc = 124 ] || [ $rc = 137 ]; then
		said="ran past $limit s; $(tests "$log")"
	elif [ $rc = 0 ] && [ -n "$check" ] && ! grep -Eq "$check" "$log"; then
		rc=1 said="its log lacks: $check"
	fi
	faults=
	if [ $rc != 0 ]; then
		status=FAIL
		faults=$(grep -E '^ *--- FAIL|^FAIL |panic:|^=+ .*(Error|Invalid|hazard)' "$log" | head -n 10 | sed 's/^/    /')
	fi
	note "$name" $status $rc $took "$said" "$faults"
	return $rc
}

# tests counts the results in the output of Go's tests.
tests() {
	grep -Eq '^ *--- (PASS|FAIL|SKIP)' "$1" || return 0
	echo "tests and parts of them: $(grep -Ec '^ *--- PASS' "$1") passed, $(grep -Ec '^ *--- FAIL' "$1") failed, $(grep -Ec '^ *--- SKIP' "$1") skipped"
}

# checked PATTERN COMMAND... runs a step whose log must have a matching line.
checked() {
	check=$1
	shift
	"$@"
	checked=$?
	check=
	return $checked
}

# bench is restride bench with the environment's settings; figures go to NAME.json.
bench() {
	name=$1
	shift
	set -- ./restride bench --device "$DEVICE" --json "$out/$name.json" "$@"
	[ -z "$BENCH_SIZE" ] || set -- "$@" --size "$BENCH_SIZE"
	[ -z "$BENCH_TIME" ] || set -- "$@" --time "$BENCH_TIME"
	rm -f "$out/$name.json"
	checked ' 0 failed' step "$name" "$@"
}

short=${quick:+-test.short} known='^[a-f]-.*/(16|32)$'
if [ -z "$only" ]; then
	rm -f "$out"/steps/* "$out/summary.txt"
fi
say "Restride on $(uname -n), $(date -u '+%Y-%m-%d %H:%M:%S') UTC${quick:+, quick}${only:+:$only}"
if command -v nvidia-smi >/dev/null; then
	nvidia-smi >"$out/nvidia-smi.txt" 2>&1
	smi=$(nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap,pcie.link.gen.current,pcie.link.width.current,clocks.max.mem,clocks.max.sm,power.limit --format=csv 2>&1)
else
	smi="there is no nvidia-smi"
fi
say "$smi"
say

step devices ./restride devices
sed 's/^/    /' "$out/devices.log" | tee -a "$out/summary.txt"
has() { grep -q "^$1" "$out/devices.log"; }

# The driver's cache of kernels is in a separate folder, empty at first.
export CUDA_CACHE_PATH="$out/.cache"
if wanted cold; then
	rm -rf "$CUDA_CACHE_PATH"
	step cold env RESTRIDE_MEASURE="$out/cold.json" ./cuda.test -test.v -test.run '^TestLoading$'
fi
! wanted warm || step warm env RESTRIDE_MEASURE="$out/warm.json" ./cuda.test -test.v -test.run '^TestLoading$'
! wanted micro || step micro env RESTRIDE_MEASURE="$out/calibration.json" ./cuda.test -test.v -test.run '^TestMicro$'
! wanted first || bench first --filter '^(odd-byte/8|a-transpose/2|flip-nhwc/8|half-to-float4/4)$'

# Steps without measurements run in parallel.
if wanted verify; then
	checked ' 0 failed' step verify ./restride verify --device "$DEVICE" --cases "$VERIFY_CASES" &
fi
if wanted cuda; then
	step cuda env RESTRIDE_REQUIRE=cuda ./cuda.test -test.v $short &
fi
gl() { # one of its tests reports whether the GPU has OpenGL without a window
	absent=$(./cuda.test -test.v -test.run '^TestShareGL$/^Copy$' 2>&1 | grep -B 99 -- '--- SKIP' | grep -m 1 '_test.go:' | sed 's/^[^:]*:[0-9]*: //' | cut -c 1-200)
	if [ -n "$absent" ]; then
		skip gl "$absent"
	else
		step gl ./cuda.test -test.v -test.run '^TestShareGL$'
	fi
}
if wanted gl; then
	gl &
fi
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
sanitize() { # STEP TOOL-AND-FLAGS TESTS
	[ -n "$sanitizer" ] || { skip "$1" "no compute-sanitizer"; return 0; }
	checked 'SUMMARY: 0 (errors|hazards)' step "$1" env RESTRIDE_SUITE=small RESTRIDE_REQUIRE=cuda "$sanitizer" --tool $2 --error-exitcode 99 ./cuda.test -test.v -test.short -test.run "$3"
}
if wanted memcheck; then # calls that the driver refuses are part of the suite, such as lack of memory
	sanitize memcheck 'memcheck --report-api-errors no' '^TestDevice$' &
fi
if wanted racecheck; then # the tool checks races in shared memory only
	sanitize racecheck 'racecheck --racecheck-report all' '^TestDevice$/^0$/^(Runs|Edges|Sweep|Random|Convert)$' &
fi
if wanted operators; then
	step operators env RESTRIDE_TEST_DEVICE="$DEVICE" ./onnx.test -test.v $short -test.run 'Random|^TestTypes|GatherTypes|ScatterTypes|InPlace|Attention' &
fi
if wanted conform; then
	if [ -n "$conform" ]; then
		checked ' 0 failed' step conform ./restride conform --device "$DEVICE" "$conform" &
	else
		skip conform "no folder of test cases was named"
	fi
fi
if wanted gpu; then
	step gpu ./gpu.test -test.v $short &
fi
wait

! wanted bench || bench bench --filter "$BENCH_FILTER"
! wanted layouts || bench layouts --cases cases.txt
! wanted cached || bench cached --cached --filter "${BENCH_FILTER:-${quick:+$known}}"
# The libraries of python3; the log has the missing ones.
! wanted peers || bench peers --peer auto --filter "${BENCH_FILTER:-${quick:+$known}}"
! wanted variants || checked ' 0 failed' step variants env OUT="$out" DEVICE="$DEVICE" BENCH_FILTER="${BENCH_FILTER:-$known}" BENCH_TIME="$BENCH_TIME" BENCH_SIZE="$BENCH_SIZE" ./variants.sh

if wanted opencl; then
	if has opencl:; then
		step opencl env RESTRIDE_REQUIRE=opencl ./opencl.test -test.v $short
	else
		skip opencl "no OpenCL device"
	fi
fi

failed=0
for name in $ran; do
	! grep -q '"status": "FAIL"' "$out/steps/$name" || failed=1
done
seconds=$(($(date +%s) - start))
{
	printf '{\n\t"bundle": 2,\n\t"date": "%s",\n\t"quick": %s,\n\t"seconds": %s,\n\t"passed": %s,\n' \
		"$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$([ -n "$quick" ] && echo true || echo false)" "$seconds" "$(! grep -q '"status": "FAIL"' "$out"/steps/* && echo true || echo false)"
	printf '\t"machine": {\n\t\t"system": %s,\n\t\t"processor": %s,\n\t\t"nvidia_smi": %s,\n\t\t"devices": %s\n\t},\n' \
		"$(uname -srm | json)" "$(grep -m 1 'model name' /proc/cpuinfo 2>/dev/null | sed 's/.*: //' | json)" "$(printf '%s' "$smi" | json)" "$(json <"$out/devices.log")"
	printf '\t"steps": ['
	comma=
	for name in $(echo "$steps" | cut -d ' ' -f 1); do
		[ -f "$out/steps/$name" ] || continue
		printf '%s\n' "$comma"
		cat "$out/steps/$name"
		comma=,
	done
	printf '\n\t]'
	for name in calibration cold warm first bench layouts cached peers; do
		printf ',\n\t"%s": ' $name
		if [ -s "$out/$name.json" ]; then cat "$out/$name.json"; else echo null; fi
	done
	printf '}\n'
} >"$out/results.json"
say
for name in bench layouts peers; do
	case $ran in
	*" $name "*)
		cat "$out/$name.log" >>"$out/summary.txt"
		say ;;
	esac
done
[ -z "$unreached" ] || say "no time was left for:$unreached"
if [ $failed = 0 ]; then say "PASS in $seconds s: $out/results.json"; else say "FAIL in $seconds s: $out/*.log"; fi
exit $failed
