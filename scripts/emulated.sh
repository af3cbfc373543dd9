#!/bin/sh
# Tests the CPU device on arm64 in an emulator, qemu-aarch64-static, which `make emulated`
# installs: as a processor of the first version, without later instructions. The slowest tests
# are omitted: large casts, writes that bypass the caches, which arm64 does not have, and the
# many cases at the level without kernels.
set -eu
: "${GO:=go}"

if ! command -v qemu-aarch64-static >/dev/null; then
	case ",${RESTRIDE_REQUIRE:-}," in *,emulator,*)
		echo "RESTRIDE_REQUIRE names emulator, but there is no qemu-aarch64-static"
		exit 1
		;;
	esac
	echo "emulated: skipped, there is no qemu-aarch64-static"
	exit 0
fi
GOARCH=arm64 CGO_ENABLED=0 RESTRIDE_SUITE=small $GO test -count=1 -timeout 30m -short \
	-exec "qemu-aarch64-static -cpu cortex-a53" \
	-skip '^TestKernels$/^go$|^TestTakes$/^go$|^TestLargeCasts$|^TestStream$' ./internal/simd ./cpu
