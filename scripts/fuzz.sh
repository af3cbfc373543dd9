#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME each, or with FUZZONE one of each package,
# by the time of day. Inputs are not minimised: that would
# use up most of a short run. Go's fuzzer sometimes reports the end of its time as a failure,
# without an input that fails: then it runs again.
set -eu
: "${GO:=go}" "${FUZZTIME:=20s}" "${FUZZONE:=}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for pkg in $($GO list ./...); do
	targets=$($GO test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true)
	if [ -n "$FUZZONE" ] && [ -n "$targets" ]; then
		all=$(echo "$targets" | wc -l)
		targets=$(echo "$targets" | sed -n "$(($(date +%s) % all + 1))p")
	fi
	for target in $targets; do
		echo "== $pkg $target"
		fuzz() { $GO test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 1x "$pkg" >"$log" 2>&1; }
		if ! fuzz && { ! grep -q 'context deadline exceeded' "$log" || grep -q 'Failing input' "$log" || ! fuzz; }; then
			cat "$log"
			exit 1
		fi
		tail -n 2 "$log"
	done
done
