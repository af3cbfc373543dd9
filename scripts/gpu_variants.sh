#!/bin/sh
# Measures the cases of bench with variants of the kernels, in turn: the folders of the bundle's
# folder variants, and the program's own kernels. This is a step of run.sh, and uses its
# variables; figures go to $OUT/variants.
set -eu
out=$OUT/variants
rm -rf "$out"
mkdir -p "$out"
for round in 1 2; do
	for folder in '' variants/*/; do
		name=$(basename "${folder:-embedded}")
		echo "== $name, round $round"
		RESTRIDE_PTX=$folder ./restride bench --device "$DEVICE" --filter "$BENCH_FILTER" --time "${BENCH_TIME:-60ms}" \
			${BENCH_SIZE:+--size "$BENCH_SIZE"} --json "$out/$name-$round.json"
	done
done
for folder in variants/*/; do
	name=$(basename "$folder")
	echo "== $name beside the embedded"
	./restride bench --from "$out/$name-2.json" --compare "$out/embedded-2.json" || true # slower is not a failure
done
