#!/bin/sh
# Runs random models with functions, Ifs, loops, scans, sequences and optionals, and compares
# every byte with ONNX Runtime's. MODELS of them are made from SEED, which is printed; DEVICES
# lists the devices.
set -eu
cd "$(dirname "$0")/.."
: "${GO:=go}" "${PYTHON:=python3}" "${MODELS:=300}" "${SEED:=$(date +%s)}" "${DEVICES:=cpu}"
lib=$PWD/build/onnx-peers
packages="numpy onnx onnxruntime"
if [ "$(cat "$lib/.packages" 2>/dev/null)" != "$packages" ]; then
	rm -rf "$lib"
	mkdir -p "$lib"
	$PYTHON -m pip install -q --disable-pip-version-check --root-user-action ignore --no-compile --target "$lib" $packages
	echo "$packages" >"$lib/.packages"
fi
$GO build -o build/restride ./cmd/restride
models=$(mktemp -d)
trap 'rm -rf "$models"' EXIT
echo "random models: SEED=$SEED"
PYTHONPATH=$lib $PYTHON scripts/random_control.py "$models" "$MODELS" "$SEED"
build/restride conform "$models" --device "$DEVICES"
