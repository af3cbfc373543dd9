#!/bin/sh
# Runs the samples of make test at length, with new seeds, which are printed: all sweeps of the
# suites, random cases on every device, random input for every device, and every fuzz target,
# the last three for SOAKTIME seconds each.
set -u
: "${GO:=go}" "${SOAKTIME:=300}"
export GO SOAKTIME
failed=0
RESTRIDE_SOAK=1 $GO test -count=1 -timeout 4h ./... || failed=1
sh scripts/devices.sh || failed=1
FAULTS=all WEIGHTFILES=60000 sh scripts/adversary.sh || failed=1
FUZZTIME=${SOAKTIME}s sh scripts/fuzz.sh || failed=1
exit $failed
