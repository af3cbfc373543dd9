#!/bin/sh
# Installs, on Debian and Ubuntu as root, the optional tools of the tests besides Go: two OpenCL
# drivers for the processor (PoCL, Mesa's rusticl), Oclgrind, which checks kernels for bad
# accesses and races, compilers for the kernels, OpenGL on the processor (Mesa's llvmpipe)
# without a window, numpy, which is measured and shares memory with Restride, and a browser, in
# which a benchmark's page is tested; and named packages: setup.sh [PACKAGE...]. Elsewhere it
# lists the tests that will be skipped.
set -eu
packages="pocl-opencl-icd mesa-opencl-icd oclgrind ocl-icd-libopencl1 clang-16 g++ libc6-dev libegl1 libgl1-mesa-dri xvfb python3-numpy libpython3-dev chromium $*"

missing=
for p in $packages; do
	if ! dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed'; then
		missing="$missing $p"
	fi
done
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
	echo "Tests that need an OpenCL device, Oclgrind, a C compiler, OpenGL, numpy or a browser will be skipped."
	echo "On Debian or Ubuntu, this installs them: sudo apt-get install$missing"
fi
