#!/bin/sh
# Puts ONNX's backend test cases into build/onnx-cases: those of the newest wheel of package onnx
# that has them.
set -u
cd "$(dirname "$0")/.." || exit
: "${PYTHON:=python3}"
wheel="onnx==1.22.0"
into=build/onnx-cases
[ "$(cat $into/.wheel 2>/dev/null)" = "$wheel" ] && exit
rm -rf $into
mkdir -p $into/.download
if $PYTHON -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --dest $into/.download "$wheel" &&
	$PYTHON - $into/.download/*.whl $into <<'END'
import sys, zipfile
folder = "onnx/backend/test/data/"
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for item in wheel.infolist():
        if item.filename.startswith(folder) and item.filename != folder:
            item.filename = item.filename[len(folder):]
            wheel.extract(item, sys.argv[2])
END
then
	echo "$wheel" >$into/.wheel
	rm -r $into/.download
else
	rm -rf $into
	echo "ONNX's backend test cases will be skipped: pip cannot download $wheel."
fi
