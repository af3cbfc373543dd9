#!/bin/sh
# Tests the CPU device's kernels for arm64, and Go's loops beside them, in an emulator:
# qemu-aarch64-static, which make setup installs. What takes longest there is left out:
# large casts, writes past the caches, which these kernels do not do, and the kernels'
# cases at the level without any, which is the same Go as elsewhere. The processor is one of
# the first version, without the instructions that came later.
set -eu
: "${GO:=go}"

if ! command -v qemu-aarch64-static >/dev/null; then
	echo "emulated: skipped, there is no qemu-aarch64-static"
	case ",${RESTRIDE_REQUIRE:-}," in *,emulator,*) exit 1 ;; esac
	exit 0
fi
export GOARCH=arm64 CGO_ENABLED=0 RESTRIDE_SUITE=small
$GO test -count=1 -timeout 10m -exec "qemu-aarch64-static -cpu cortex-a53" ./internal/simd
$GO test -count=1 -timeout 10m -exec "qemu-aarch64-static -cpu cortex-a53" -short -skip '^TestKernels$/^go$|^TestLargeCasts$|^TestStream$' ./cpu
