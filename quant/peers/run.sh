#!/bin/sh
# Compares what restride repack makes with what other packages make, or read: check.py;
# and which files are read at all.
# What pip can install small is, once, into build/quant-peers; what is not there is said,
# and skipped. PyTorch, for some of them, is that of bench_peers.sh, or of the machine.
set -eu
cd "$(dirname "$0")/../.."
: "${GO:=go}" "${PYTHON:=python3}"
lib=$PWD/build/quant-peers
packages="numpy gguf onnx onnxruntime safetensors ml_dtypes"
if [ "$(cat "$lib/.packages" 2>/dev/null)" != "$packages" ]; then
	rm -rf "$lib"
	mkdir -p "$lib"
	$PYTHON -m pip install -q --disable-pip-version-check --root-user-action ignore --no-compile --target "$lib" $packages
	# Without what they depend on, which is PyTorch and more.
	for package in compressed-tensors torchao mlx mlx-cpu xllamacpp; do
		$PYTHON -m pip install -q --disable-pip-version-check --root-user-action ignore --no-compile --no-deps --target "$lib" $package ||
			echo "peers of quant: pip cannot install $package"
	done
	echo "$packages" >"$lib/.packages"
fi
$GO build -o build/restride ./cmd/restride
export PYTHONPATH=$lib:$PWD/build/peers/lib/torch${PYTHONPATH:+:$PYTHONPATH}
# Which headers of files the reader of safetensors refuses.
RESTRIDE_REQUIRE=safetensors RESTRIDE_SOAK=1 $GO test -count=1 -run TestOfficialReader ./checkpoint
$PYTHON quant/peers/check.py build/restride "$@"
# Whether llama.cpp loads what becomes GGUF, and computes the same with it.
$PYTHON quant/peers/llama.py build/restride
