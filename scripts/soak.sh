#!/bin/sh
# Runs at length what make test samples, with new seeds, which are printed: all sweeps
# of the suites, random cases on every device, and every fuzz target, these for SOAKTIME
# seconds each.
set -eu
: "${GO:=go}" "${SOAKTIME:=300}"
export GO SOAKTIME
RESTRIDE_SOAK=1 $GO test -count=1 -timeout 4h ./...
sh scripts/devices.sh
FUZZTIME=${SOAKTIME}s sh scripts/fuzz.sh
