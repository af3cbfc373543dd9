#!/usr/bin/env python3
"""Writes decoded.gz: what onnx and ml_dtypes make of every bit pattern.

Needs numpy, ml_dtypes and onnx. For each type in TYPES, in that order, the file
has the float64 values of the elements of
  - the bytes 0..255, for types of 8 bits and less (several elements a byte
    below 8 bits, so that the order of packing shows),
  - the patterns 0..65535, for types of 16 bits,
as eight planes: the lowest bytes of all values, then the next ones, and so on,
which is what makes the file small. Every NaN is 0x7ff8000000000001, Go's.
"""
import gzip
import os

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

TYPES = ("FLOAT16 BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ "
         "FLOAT8E8M0 FLOAT4E2M1 UINT4 INT4 UINT2 INT2 UINT8 INT8 UINT16 INT16").split()
WIDE = {"FLOAT16", "BFLOAT16", "UINT16", "INT16"}
ML = {"BFLOAT16": ml_dtypes.bfloat16, "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
      "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "FLOAT8E5M2": ml_dtypes.float8_e5m2,
      "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "FLOAT8E8M0": ml_dtypes.float8_e8m0fnu}

out = b""
for name in TYPES:
    raw = np.arange(65536 if name in WIDE else 256, dtype="<u2" if name in WIDE else "u1").tobytes()
    bits = {"4": 4, "2": 2, "1": 4}.get(name[-1], 8) if name in (
        "FLOAT4E2M1", "UINT4", "INT4", "UINT2", "INT2") else 16 if name in WIDE else 8
    n = len(raw) * 8 // bits
    t = TensorProto(data_type=TensorProto.DataType.Value(name), dims=[n], raw_data=raw)
    v = numpy_helper.to_array(t).astype(np.float64)
    if name in ML:  # without onnx's help
        assert np.array_equal(v, np.frombuffer(raw, ML[name]).astype(np.float64), equal_nan=True)
    b = v.view(np.uint64).copy()
    b[np.isnan(v)] = 0x7FF8000000000001
    out += b.astype("<u8").view(np.uint8).reshape(n, 8).T.tobytes()

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoded.gz")
with open(path, "wb") as f:
    f.write(gzip.compress(out, mtime=0))
print(path, len(out), "->", os.path.getsize(path), "bytes; onnx", onnx.__version__,
      "ml_dtypes", ml_dtypes.__version__, "numpy", np.__version__)
