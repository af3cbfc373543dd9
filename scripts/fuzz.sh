#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME each. Inputs are not
# minimised: that would take most of a short run.
set -eu
: "${GO:=go}" "${FUZZTIME:=20s}"
for pkg in $($GO list ./...); do
	for target in $($GO test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "== $pkg $target"
		$GO test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 1x "$pkg"
	done
done
