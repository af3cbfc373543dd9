"""Quantises models by onnxruntime.quantization: QDQ, QDQ per channel, QOperator, dynamic.

Calibration is by noise: the models are for measurements of time, not of accuracy.
"""

import os
import sys

import numpy
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

MODELS = {
    "cls": ("ch_ppocr_mobile_v2.0_cls_infer", [1, 3, 48, 192]),
    "ppocrv4_rec": ("ch_PP-OCRv4_rec_infer", [1, 3, 48, 160]),
    "nudenet": ("nudenet_320n", [1, 3, 320, 320]),
    "magika": ("magika", None),
    "tashkeel": ("piper_tashkeel", None),
    "ddddocr_det": ("ddddocr_common_det", [1, 3, 416, 416]),
    "basic_pitch": ("basic_pitch", None),
    "nakdimon": ("piper_nakdimon", None),
}


class Noise(CalibrationDataReader):
    """Two sets of inputs."""

    def __init__(self, path, shape):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        rng = numpy.random.default_rng(1)
        self.sets = [{i.name: self.value(rng, i, shape) for i in session.get_inputs()} for _ in range(2)]

    @staticmethod
    def value(rng, i, shape):
        shape = shape or [n if isinstance(n, int) else 1 for n in i.shape]
        if "float" in i.type:
            return (rng.random(shape) - 0.5).astype(numpy.float32)
        return numpy.ones(shape, numpy.int32 if "int32" in i.type else numpy.int64)

    def get_next(self):
        return self.sets.pop() if self.sets else None


def main(folder):
    onnxruntime.set_default_logger_severity(4)
    for name, (file, shape) in MODELS.items():
        path = f"{folder}/{file}.onnx"
        static = lambda out, **options: quantize_static(path, out, Noise(path, shape), **options)
        forms = {
            "qdq": lambda out: static(out, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8),
            "qdq_pc": lambda out: static(out, per_channel=True, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8),
            "qop": lambda out: static(out, quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8),
            "dyn": lambda out: quantize_dynamic(path, out, weight_type=QuantType.QUInt8),
        }
        for form, quantise in forms.items():
            out = f"{folder}/q_{name}_{form}.onnx"
            if os.path.exists(out):
                continue
            try:
                quantise(out)
            except Exception as error:  # some models have forms that the package refuses
                print(f"{name} {form}: {error}", file=sys.stderr)


main(sys.argv[1])
