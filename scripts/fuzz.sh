#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME each.
set -eu
: "${GO:=go}" "${FUZZTIME:=20s}"
for pkg in $($GO list ./...); do
	for target in $($GO test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "== $pkg $target"
		$GO test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" "$pkg"
	done
done
