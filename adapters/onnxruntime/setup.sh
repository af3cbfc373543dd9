#!/bin/sh
# Installs what the tests need beside Go, by pip, into build/onnxruntime: ONNX Runtime, whose
# library is in its package, and packages that have models. Where pip cannot, it says
# what the tests will skip.
set -u
cd "$(dirname "$0")/../.." || exit
: "${PYTHON:=python3}"
packages="onnxruntime==1.32.0 silero-vad==6.2.3 rapidocr-onnxruntime==1.4.4"
into=build/onnxruntime
[ "$(cat $into/.packages 2>/dev/null)" = "$packages" ] && exit
rm -rf $into
mkdir -p $into
# It is their files that are wanted, not what they need in Python.
if $PYTHON -m pip install -q --disable-pip-version-check --root-user-action ignore --no-compile --no-deps --target $into $packages; then
	echo "$packages" >$into/.packages
else
	echo "Tests that need ONNX Runtime will be skipped: pip cannot install it."
fi
