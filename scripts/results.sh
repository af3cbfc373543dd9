#!/bin/sh
# Measures DEVICES with other libraries beside them (bench_peers.sh), keeps that in the
# folder RESULTS, and writes the READMEs' tables: results.sh DEVICES RESULTS. A folder
# that is not bench/results begins as a copy of that, with the project's README as
# PROJECT.md: so all of this can be tried. FILTER, SIZE and TIME are those of bench_peers.sh.
set -eu
cd "$(dirname "$0")/.."
: "${GO:=go}" "${FILTER:=}" "${SIZE:=}" "${TIME:=}"
devices=$1 results=$2

readme=README.md
if [ "$results" != bench/results ]; then
	mkdir -p "$results"
	readme=$results/PROJECT.md
	cp README.md "$readme"
	cp bench/results/*.json bench/results/README.md "$results"
elif [ -n "$FILTER$SIZE$TIME" ]; then
	echo "results: the README's figures are of all cases, as restride bench measures them: no FILTER, SIZE or TIME" >&2
	exit 1
fi
GO=$GO DEVICE=$devices sh scripts/bench_peers.sh --json build/results.json
$GO run ./bench/results -folder "$results" -readme "$readme" build/results.json
