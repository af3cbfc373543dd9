#!/bin/sh
# Measures DEVICES and other libraries (bench_peers.sh), keeps the report in the folder
# RESULTS, and writes the tables of docs/speed.md and bench/results/README.md: results.sh
# DEVICES RESULTS. A trial in any other folder begins as a copy of bench/results and
# docs/speed.md. FILTER, SIZE and TIME are bench_peers.sh's; MACHINE replaces the processor's
# name in the report's name.
set -eu
cd "$(dirname "$0")/.."
: "${GO:=go}" "${FILTER:=}" "${SIZE:=}" "${TIME:=}" "${MACHINE:=}"
devices=$1 results=$2

page=docs/speed.md
if [ "$results" != bench/results ]; then
	mkdir -p "$results"
	page=$results/speed.md
	cp docs/speed.md "$page"
	cp bench/results/*.json bench/results/README.md "$results"
elif [ -n "$FILTER$SIZE$TIME" ]; then
	echo "results: the figures of docs/speed.md are of all cases, as restride bench measures them: no FILTER, SIZE or TIME" >&2
	exit 1
fi
GO=$GO DEVICE=$devices sh scripts/bench_peers.sh --json build/results.json
$GO run ./bench/results -folder "$results" -page "$page" ${MACHINE:+-machine "$MACHINE"} build/results.json
