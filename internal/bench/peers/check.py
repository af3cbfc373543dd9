"""The check of a result: positions of elements, some at a time, and the bits that lie
there, beside what index arithmetic says. What a conversion makes of a NaN is to be a
NaN, and may be any: libraries differ in which.
"""

import functools
import time

import numpy as np

BLOCK = 1 << 18

FLOATS = {"float16": np.float16, "float": np.float32}
SMALL = {"float8e4m3fn": (4, 3), "float4e2m1": (2, 1)}  # bits of the exponent and the mantissa


class Unsupported(Exception):
    """What a library has no way to say, or nobody here can check."""


class Wrong(Exception):
    """A result that is not what it should be."""


def positions(dims, strides):
    """Of all elements, in order, from 0."""
    at = np.zeros(1, np.int64)
    for n, stride in zip(dims, strides):
        at = np.add.outer(at, np.arange(n, dtype=np.int64) * stride).ravel()
    return at


def blocks(dims, *places):
    """Positions in all places (strides and an offset), about BLOCK at a time, in a
    random order: the inner axes as they are, a part of the next, and a step of the
    outer ones."""
    dims = dims or [1]
    places = [(strides or [1], offset) for strides, offset in places]
    axis, inner = len(dims) - 1, 1
    while axis > 0 and inner * dims[axis] <= BLOCK:
        inner *= dims[axis]
        axis -= 1
    part = min(max(BLOCK // inner, 1), dims[axis])
    within = [positions([part] + dims[axis + 1 :], strides[axis:]) for strides, _ in places]
    outer = [positions(dims[:axis], strides[:axis]) for strides, _ in places]
    parts = -(-dims[axis] // part)
    for k in np.random.default_rng(2).permutation(parts * outer[0].size):
        first = int(k) % parts * part
        n = min(part, dims[axis] - first) * inner
        yield tuple(
            within[i][:n] + (outer[i][k // parts] + first * strides[axis] + offset) for i, (strides, offset) in enumerate(places)
        )


def elements(raw, bits, at):
    """The bits of elements, as unsigned integers."""
    if bits < 8:
        at = at * bits
        return raw[at >> 3] >> (at & 7).astype(np.uint8) & np.uint8((1 << bits) - 1)
    whole = raw[: raw.size // (bits // 8) * (bits // 8)]
    if bits == 128:
        return whole.view(np.complex128)[at].view(np.uint64)
    return whole.view("u%d" % (bits // 8))[at]


def numbers(type, bits):
    """What elements mean, as float64."""
    if type in FLOATS:
        with np.errstate(invalid="ignore"):  # of a NaN that signals
            return bits.view(FLOATS[type]).astype(np.float64)
    if type == "bfloat16":
        return numbers("float", bits.astype(np.uint32) << 16)
    if type in SMALL:
        return small(type)[bits]
    if not type.startswith("int"):
        raise Unsupported("nobody here can check " + type)
    sign = np.uint8(1 << (int(type[3:]) - 1))
    return ((bits ^ sign) - sign).view(np.int8).astype(np.float64)


@functools.cache
def small(type):
    """The numbers of a type that has no infinity, in the order of their bits."""
    exponent, mantissa = SMALL[type]
    bias, values = (1 << (exponent - 1)) - 1, []
    for bits in range(1 << (exponent + mantissa)):
        power, fraction = bits >> mantissa, bits & ((1 << mantissa) - 1)
        whole = fraction + ((1 << mantissa) if power else 0)
        values.append(whole * 2.0 ** (max(power, 1) - bias - mantissa))
    if type == "float8e4m3fn":
        values[-1] = np.nan
    return np.array(values + [-v for v in values])


def encoded(type, values):
    """The bits of numbers: floats are rounded to the nearest, or the even one of two."""
    if type in FLOATS:
        with np.errstate(all="ignore"):
            return values.astype(FLOATS[type]).view("u%d" % np.dtype(FLOATS[type]).itemsize)
    if type == "bfloat16":  # of floats, for which the first rounding is exact
        bits = encoded("float", values).astype(np.uint64)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if not type.startswith("int"):
        raise Unsupported("nobody here can check " + type)
    return values.astype(np.int64).astype(np.uint8) & np.uint8((1 << int(type[3:])) - 1)


def converted(case, values, got):
    """What elements are in another type; of a NaN it is what was got, if that is one."""
    real = numbers(case.src.type, values)
    want = encoded(case.dst.type, real)
    lost = np.isnan(real)
    if lost.any():
        lost &= np.isnan(numbers(case.dst.type, got))
        want = np.where(lost, got, want)
    return want


def check(case, seconds, dst, src=None, indices=None):
    """Compares as much of a result as there is time for, and says how much."""
    end = time.monotonic() + seconds
    done, total = 0, int(np.prod(case.dst.dims))
    places = [(p.strides, p.offset) for p in case.places]
    if case.op == "take":  # from the place for index 0
        places[1] = [s * (i != case.axis) for i, s in enumerate(case.src.strides)], case.src.offset
    for to, *at in blocks(case.dst.dims, *places):
        got = elements(dst, case.dst.bits, to)
        if case.op == "fill":
            want = np.resize(elements(case.pattern, case.dst.bits, np.zeros(1, np.int64)), got.size)
        elif case.op == "take":
            index = elements(indices, case.indices.bits, at[1]).astype(np.int64)
            want = elements(src, case.src.bits, at[0] + index * case.src.strides[case.axis])
        else:
            want = elements(src, case.src.bits, at[0])
        if case.op == "convert":
            want = converted(case, want, got)
        if not np.array_equal(want, got):
            i = int(np.flatnonzero(want != got)[0])
            raise Wrong("wrong result: position %d of dst: %#x, want %#x" % (to[i * to.size // want.size], got[i], want[i]))
        done += to.size
        if time.monotonic() > end:
            break
    return "every bit" if done == total else "%.0f%% of the elements" % (100 * done / total)
