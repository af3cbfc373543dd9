#!/bin/sh
# Tests and measures Restride on a machine with an NVIDIA GPU, without Go. This is
# run.sh of the bundle that `make gpu-bundle` makes:
#
#	./run.sh [--quick] [CONFORMANCE_DIR]
#
# CONFORMANCE_DIR holds ONNX's backend test cases (onnx/backend/test/data/node of an
# ONNX checkout). --quick takes less than 9 minutes. What the machine lacks is not
# run, and no failure. Results go to the folder $OUT, or ./results:
#
#	summary.txt    PASS, FAIL or "not run" for each step
#	results.json   the machine, the steps, the figures
#	*.log          what each step printed
#
# The exit status is 1 if a step failed; those after it run all the same. More
# variables: DEVICE (cuda:0), VERIFY_CASES, BENCH_SIZE, BENCH_TIME and
# BENCH_FILTER (see restride bench), RESTRIDE_PYTHON, which has PyTorch or others to
# measure beside, and those of Restride's docs/devices.md.
set -u

usage() {
	sed -n '/^#	.\/run.sh/s/^#	//p' "$0" >&2
	exit 2
}
quick= conform=
for arg in "$@"; do
	case $arg in
	--quick) quick=1 ;;
	-*) usage ;;
	*)
		[ -z "$conform" ] || usage
		[ -d "$arg" ] || { echo "run.sh: there is no folder $arg" >&2; exit 2; }
		conform=$(cd "$arg" && pwd) ;;
	esac
done
if [ -n "$quick" ]; then : "${VERIFY_CASES:=2000}"; else : "${VERIFY_CASES:=20000}"; fi
: "${OUT:=results}" "${DEVICE:=cuda:0}" "${BENCH_SIZE:=}" "${BENCH_TIME:=}" "${BENCH_FILTER:=}"
mkdir -p "$OUT" || exit 2
out=$(cd "$OUT" && pwd)
cd "$(dirname "$0")" || exit 2

start=$(date +%s)
deadline=$((start + 86400))
[ -z "$quick" ] || deadline=$((start + 520))
steps=$out/.steps
: >"$steps"
: >"$out/summary.txt"
failed=0

say() { echo "$*" | tee -a "$out/summary.txt"; }

# json writes a file's text, or standard input, as a JSON string.
json() {
	printf '"'
	tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g' | awk 'NR > 1 {printf "\\n"} {printf "%s", $0}'
	printf '"'
}

# note adds a step to the results: name, status, exit status, seconds, what it said.
note() {
	say "$(printf '%-12s %-8s %4ss  %s' "$1" "$2" "$4" "$5")"
	{
		[ ! -s "$steps" ] || printf ',\n'
		printf '\t\t{"name": "%s", "status": "%s", "rc": %s, "seconds": %s, "said": %s}' "$1" "$2" "$3" "$4" "$(printf '%s' "$5" | json)"
	} >>"$steps"
}

skip() { note "$1" "not run" null 0 "$2"; }

# step runs a command for at most so many seconds (in full, with --quick), into a
# log: step NAME SECONDS QUICK COMMAND... It fails if the command does, or if check
# is set and the log has no line that matches.
check=
step() {
	name=$1 limit=$2 log=$out/$1.log
	[ -z "$quick" ] || limit=$3
	shift 3
	began=$(date +%s)
	left=$((deadline - began))
	if [ "$left" -lt 5 ]; then
		failed=1
		note "$name" FAIL null 0 "no time was left for it"
		return 1
	fi
	[ "$limit" -le "$left" ] || limit=$left
	if command -v timeout >/dev/null; then # a Go program says where it hangs
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
	if [ $rc != 0 ]; then
		status=FAIL failed=1
	fi
	note "$name" $status $rc $took "$said"
	[ $rc = 0 ] || grep -E '^ *--- FAIL|^FAIL |panic:|^=+ .*(Error|Invalid|hazard)' "$log" | head -n 10 | sed 's/^/    /' | tee -a "$out/summary.txt"
	return $rc
}

# tests counts what Go's tests print.
tests() {
	grep -Eq '^ *--- (PASS|FAIL|SKIP)' "$1" || return 0
	echo "tests and parts of them: $(grep -Ec '^ *--- PASS' "$1") passed, $(grep -Ec '^ *--- FAIL' "$1") failed, $(grep -Ec '^ *--- SKIP' "$1") skipped"
}

short=${quick:+-test.short} soak=1
[ -z "$quick" ] || soak=
say "Restride on $(uname -n), $(date -u '+%Y-%m-%d %H:%M:%S') UTC${quick:+, quick}"
if command -v nvidia-smi >/dev/null; then
	nvidia-smi >"$out/nvidia-smi.txt" 2>&1
	smi=$(nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap,pcie.link.gen.current,pcie.link.width.current,clocks.max.mem,clocks.max.sm,power.limit --format=csv 2>&1)
else
	smi="there is no nvidia-smi"
fi
say "$smi"
say

step devices 60 30 ./restride devices
sed 's/^/    /' "$out/devices.log" | tee -a "$out/summary.txt"
has() { grep -q "^$1" "$out/devices.log"; }

step cuda 1800 150 env RESTRIDE_REQUIRE=cuda RESTRIDE_SOAK=$soak ./cuda.test -test.v $short
step gpu 600 60 ./gpu.test -test.v $short
if has opencl:; then
	step opencl 1800 90 env RESTRIDE_REQUIRE=opencl RESTRIDE_SOAK=$soak ./opencl.test -test.v $short
else
	skip opencl "no OpenCL device"
fi

step operators 600 60 env RESTRIDE_TEST_DEVICE="$DEVICE" ./onnx.test -test.v $short -test.run 'Random|^TestTypes|GatherTypes|ScatterTypes|InPlace|Attention'

check=' 0 failed'
step verify 900 60 ./restride verify --device "$DEVICE" --cases "$VERIFY_CASES"
if [ -n "$conform" ]; then
	step conform 600 60 ./restride conform --device "$DEVICE" "$conform"
else
	skip conform "no folder of test cases was named"
fi
check=

# bench is restride bench with what the environment says.
bench() {
	set -- ./restride bench --device "$DEVICE" "$@"
	[ -z "$BENCH_SIZE" ] || set -- "$@" --size "$BENCH_SIZE"
	[ -z "$BENCH_TIME" ] || set -- "$@" --time "$BENCH_TIME"
	[ -z "$BENCH_FILTER" ] || set -- "$@" --filter "$BENCH_FILTER"
	step bench 1800 230 "$@"
}

# The libraries that python3 has are measured beside, quickly in the best-known cases
# alone; what it lacks is in the log.
rm -f "$out/bench.json"
check=' 0 failed'
bench --peer "auto${quick:+=^[a-f]-.*/(16|32)\$}" --json "$out/bench.json"
check=

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -n "$sanitizer" ]; then
	# Calls that the driver refuses are part of the suite: memory that is not there.
	export RESTRIDE_SUITE=small RESTRIDE_REQUIRE=cuda
	check='SUMMARY: 0 (errors|hazards)'
	step memcheck 1800 120 "$sanitizer" --tool memcheck --report-api-errors no --error-exitcode 99 ./cuda.test -test.v -test.short -test.run '^TestDevice$'
	# Races in shared memory: that is what it sees.
	step racecheck 1800 120 "$sanitizer" --tool racecheck --racecheck-report all --error-exitcode 99 ./cuda.test -test.v -test.short -test.run '^TestDevice$/^0$/^(Runs|Edges|Sweep|Random|Convert)$'
	check=
else
	skip memcheck "no compute-sanitizer"
	skip racecheck "no compute-sanitizer"
fi

seconds=$(($(date +%s) - start))
{
	printf '{\n\t"format": 1,\n\t"date": "%s",\n\t"quick": %s,\n\t"seconds": %s,\n\t"passed": %s,\n' \
		"$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$([ -n "$quick" ] && echo true || echo false)" "$seconds" "$([ $failed = 0 ] && echo true || echo false)"
	printf '\t"machine": {\n\t\t"system": %s,\n\t\t"processor": %s,\n\t\t"nvidia_smi": %s,\n\t\t"devices": %s\n\t},\n' \
		"$(uname -srm | json)" "$(grep -m 1 'model name' /proc/cpuinfo 2>/dev/null | sed 's/.*: //' | json)" "$(printf '%s' "$smi" | json)" "$(json <"$out/devices.log")"
	printf '\t"steps": [\n'
	cat "$steps"
	printf '\n\t],\n\t"bench": '
	if [ -s "$out/bench.json" ]; then cat "$out/bench.json"; else echo null; fi
	printf '}\n'
} >"$out/results.json"
rm -f "$steps"
say
if [ -s "$out/bench.log" ]; then
	cat "$out/bench.log" >>"$out/summary.txt"
	say
fi
if [ $failed = 0 ]; then say "PASS in $seconds s: $out/results.json"; else say "FAIL in $seconds s: $out/*.log"; fi
exit $failed
