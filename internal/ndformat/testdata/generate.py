#!/usr/bin/env python3
"""Writes numpy.json: arrays, and what numpy's str makes of them.

Usage: generate.py [random cases [seed [file]]]. Needs numpy, ml_dtypes. Types that numpy
lacks are converted first, as the doc of package ndformat says: floats of 8 bits
and less to float32, integers below a byte to int8 or uint8. bfloat16 has no
counterpart in numpy and is not here. Of arrays with more than 1000 elements
only those that numpy shows are given.
"""
import json
import os
import random
import sys

import ml_dtypes
import numpy as np

count = int(sys.argv[1]) if len(sys.argv) > 1 else 150
rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
pick = random.Random(int(rng.integers(1 << 30)))
here = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[3] if len(sys.argv) > 3 else os.path.join(here, "numpy.json")

NATIVE = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_,
          "complex64": np.complex64, "complex128": np.complex128, "string": object}
for w in (8, 16, 32, 64):
    NATIVE[f"int{w}"], NATIVE[f"uint{w}"] = np.dtype(f"int{w}").type, np.dtype(f"uint{w}").type
BYTE_FLOATS = {"float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
               "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
               "float8e8m0": ml_dtypes.float8_e8m0fnu, "float4e2m1": ml_dtypes.float4_e2m1fn}
BELOW_BYTE = {"uint4": (4, np.uint8), "int4": (4, np.int8), "uint2": (2, np.uint8), "int2": (2, np.int8)}

cases = []


def corners(a):
    if a.size > 1000:
        for axis, d in enumerate(a.shape):
            if d > 6:
                a = np.take(a, [0, 1, 2, d - 3, d - 2, d - 1], axis)
    return a


def pack(codes, bits):
    """codes: one element a byte."""
    per = 8 // bits
    codes = np.concatenate([codes, np.zeros(-len(codes) % per, np.uint8)]).reshape(-1, per) & ((1 << bits) - 1)
    return np.bitwise_or.reduce(codes.astype(np.uint8) << (np.arange(per, dtype=np.uint8) * bits), axis=1).tobytes()


def add(dtype, a, packed=None):
    case = {"dtype": dtype, "shape": list(a.shape)}
    text = str(a)
    kept = corners(a)
    if dtype == "string":
        case["strs"] = kept.ravel().tolist()
        if a.shape == ():
            text = repr(a.item())  # ndformat quotes these, numpy does not
    else:
        case["packed"] = (np.ascontiguousarray(kept).tobytes() if packed is None else packed).hex()
    case["want"] = text
    cases.append(case)


def native(dtype, values, shape=None):
    with np.errstate(all="ignore"):
        a = np.array(values, NATIVE[dtype])
    add(dtype, a if shape is None else a.reshape(shape))


def codes(dtype, c, shape):
    """A case of a type of 8 bits or less, from bit patterns."""
    c = np.asarray(c, np.uint8)
    if dtype in BYTE_FLOATS:
        bits = 4 if dtype == "float4e2m1" else 8
        with np.errstate(all="ignore"):
            v = c.view(BYTE_FLOATS[dtype]).astype(np.float32)
    else:
        bits, t = BELOW_BYTE[dtype]
        v = c.astype(t)
        if t is np.int8:
            v = np.where(v >= 1 << (bits - 1), v - (1 << bits), v).astype(t)
    add(dtype, v.reshape(shape), pack(c, bits))


inf, nan = np.inf, np.nan
RATIO = [26.2, 0.0262]  # as float16: 1000.14, which rounds to 1000
ITEMS = {
    "tie to even": [1e23, 9007199254740993.0, 2.0**-44],
    "plain": [1, 2, 3], "fractions": [0.1, 0.25, 1 / 3], "one": [1.5], "negative": [-1, 2.5, -30.25],
    "zeros": [0, -0.0, 0], "nan": [nan, nan], "inf": [1, inf], "minus inf": [1, -inf], "only minus inf": [-inf, nan],
    "mixed": [nan, -inf, inf, 1.25, 100], "mixed wide": [nan, 0.123456789, 123.456],
    "large": [1e8, 2e8], "below large": [99999999, 99999998], "small": [1e-4, 2e-4], "smaller": [9.9e-5, 1e-3],
    "ratio 1000": [1000, 1], "ratio above": [1001, 1], "ratio rounds": RATIO, "million": [1e6, 1e5], "below million": [999999, 999998],
    "thousand": [1000, 999], "exponent": [1e-10, 1e10, 3.25e-5], "long exponent": [1e-100, 1e200], "exponent nan": [1e10, nan, -inf],
    "minus exponent": [-1e10, 1.5], "carry": [0.999999999, 9.99999999999], "precision": [np.pi, np.e, 1e-3], "digits": [123456.789, 12345.6789, 0.5e3],
    "least": [5e-324, 1e-45, 6e-8], "most": [1.7e308, 3.4e38, 65504.0][-1:], "half ties": [0.5, 2.5, 0.000000005, 1.000000005],
    "powers": [2.0**k for k in range(-10, 11)], "wrap": [k / 7 for k in range(40)], "wrap e": [10.0 ** (k - 10) for k in range(21)],
}
for dtype in ("float", "double", "float16"):
    for v in ITEMS.values():
        native(dtype, v)
        for x in v[:4]:
            native(dtype, x)
    for x in (999, 999.9, 1000, 1001, 99999, 999999, 1e6, 1234567, 1e7, 1e8, 9.999e15, 1e16, 1e17, 1e-4, 9.999e-5):
        native(dtype, x)
        native(dtype, -x)
for dtype in ("complex64", "complex128"):
    native(dtype, [1 + 2j, 3 - 4j])
    native(dtype, [0.1 + 2j, 3.25 - 4j, complex(nan, -inf), complex(-inf, nan)])
    native(dtype, [1e10 + 2j, 3 - 1e-10j])
    native(dtype, [complex(inf, inf), complex(nan, nan)])
    native(dtype, [1j, complex(1, inf)])
    native(dtype, [[1j], [-0.0 - 0.5j]])
    for re in (0, -0.0, 1, 1 / 3, nan, -inf, 1e7, -2.5, 1e16):
        for im in (0, -0.0, 1, -1 / 3, nan, -inf, 1e6, 1e15, -1e16):
            native(dtype, complex(re, im))
for dtype, t in NATIVE.items():
    if dtype.lstrip("u").startswith("int"):
        i = np.iinfo(t)
        native(dtype, [0, i.min, i.max, 1])
        native(dtype, [i.max] * 12, (3, 2, 2))
        native(dtype, i.min)
        native(dtype, np.arange(60) % 100, (4, 15))
        native(dtype, np.arange(60) % 100)
native("bool", [True, False, True])
native("bool", [[True], [False]])
native("bool", True)
native("bool", False)
native("bool", [k % 3 == 0 for k in range(40)])
for strs in (["a", "bc"], ["it's", 'say "x"', "both ' and \""], ["", "tab\t", "nl\n\r", "\\"],
             ["caf\u00e9", "\u4e2d\u6587", "\U0001f600", "\u200b", "\x00\x7f\x9f\u00ad", "\ue000", "\U000e0001"],
             ["word" * (k % 5 + 1) for k in range(30)], ["\u4e2d" * 10] * 7, ["x" * 100, "y"], ["x" * 80, "y" * 80]):
    native("string", strs)
native("string", ["a", "bc", "def", "g"], (2, 2))
native("string", "scalar's")
for shape in ((0,), (0, 3), (3, 0), (2, 0, 4), (2000, 0, 9)):
    for dtype in ("float", "int64", "bool", "string", "complex64"):
        native(dtype, np.zeros(shape))
for dtype in ("int32", "float", "bool", "complex64", "float16"):
    for shape in ((1, 1, 1), (2, 3), (2, 2, 3), (2, 1, 2, 2), (1001,), (1000,), (40, 50), (11, 10, 10), (2, 600), (600, 2), (3, 7, 7, 7), (2, 2, 2, 2, 80)):
        n = int(np.prod(shape))
        if n == 1000 and dtype != "int32":
            continue
        native(dtype, np.arange(n) % 1999, shape)
native("double", np.linspace(-1, 1, 33 * 37), (33, 37))
native("string", [f"s{k}" for k in range(1100)], (55, 20))
for dtype in BYTE_FLOATS:
    n = 16 if dtype == "float4e2m1" else 256
    codes(dtype, range(n), (n,))
    codes(dtype, range(n // 4), (n // 8, 2))
    for c in range(0, n, n // 16):
        codes(dtype, [c], ())
for dtype, (bits, _) in BELOW_BYTE.items():
    n = 1 << bits
    codes(dtype, range(n), (n,))
    codes(dtype, list(range(n))[: n - 1], (n - 1, 1))
    codes(dtype, [n - 1], ())


def random_floats(t, n):
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(t).itemsize]
    how = pick.randrange(5)
    with np.errstate(all="ignore"):
        if how == 0:
            v = rng.integers(0, np.iinfo(bits).max, n, bits, endpoint=True).view(t)
        elif how == 1:
            v = rng.normal(size=n).astype(t)
        elif how == 2:
            v = (rng.integers(-999, 999, n) / pick.choice([1, 2, 8, 10, 100, 1000])).astype(t)
        elif how == 3:
            v = (10 ** rng.uniform(-4, 3, n) * 10.0 ** pick.randrange(-1, 6)).astype(t)
        else:
            v = np.exp2(rng.integers(-14, 15, n).astype(np.float64)).astype(t)
        if pick.random() < 0.2:
            v[pick.randrange(n)] = pick.choice([nan, inf, -inf, 0.0, -0.0])
    return v


def random_shape():
    return tuple(pick.choice([1, 2, 2, 3, 4, 5, 9]) for _ in range(pick.choice([0, 1, 1, 2, 2, 3])))


for _ in range(count):
    shape = random_shape()
    n = int(np.prod(shape))
    dtype = pick.choice(list(NATIVE) + ["float", "double", "float16"])
    t = NATIVE[dtype]
    if dtype in ("float", "double", "float16"):
        a = random_floats(t, n)
    elif dtype in ("complex64", "complex128"):
        part = np.float32 if dtype == "complex64" else np.float64
        a = np.stack([random_floats(part, n), random_floats(part, n)], 1).view(t)[:, 0]
    elif dtype == "bool":
        a = rng.integers(0, 2, n).astype(t)
    elif dtype == "string":
        a = np.array(["".join(pick.choices("ab c'\"\\\n\u00e9\u4e2d", k=pick.randrange(9))) for _ in range(n)], object)
    else:
        i = np.iinfo(t)
        top = min(i.max, 10 ** pick.randrange(1, 19))
        a = rng.integers(max(i.min, -top), top, n, t, endpoint=True)
    add(dtype, a.reshape(shape))

with open(path, "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(path, len(cases), "cases,", os.path.getsize(path), "bytes; numpy", np.__version__, "ml_dtypes", ml_dtypes.__version__)
