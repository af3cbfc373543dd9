"""What the libraries here share: where the elements of a case lie, the check, and how a
pass is measured.

The buffers have the bytes that the request says, and random ones in the sources. They
come from numpy, which asks for huge pages where a buffer has 4 MiB and more: so do
ours. Several pairs of them take turns; warm-up, batches and samples are those of
Go's package bench. A result is compared with what index arithmetic says, bit by bit,
in the first pass.
"""

import os
import time

import numpy as np

CORES = os.cpu_count() or 1
SLOW = 0.3e9  # nanoseconds: of a call, there is no time for many; of those that warm up, it is enough

# By ONNX's names. Other types are below a byte, and most libraries lack them.
TYPES = {
    "uint8": np.uint8,
    "int8": np.int8,
    "float16": np.float16,
    "float": np.float32,
    "double": np.float64,
    "complex128": np.complex128,
}


class Unsupported(Exception):
    """What a library has no way to say."""


class Wrong(Exception):
    """A result that is not what it should be."""


class NotHere(Exception):
    """The library is not for the device."""


class Place:
    """Where elements lie: strides and offset count elements."""

    def __init__(self, raw):
        self.type, self.bits = raw["type"], raw["bits"]
        self.dims, self.strides, self.offset = raw["dims"], raw["strides"], raw["offset"]
        self.recipe = raw["recipe"]
        self.length = raw["length"]
        if self.recipe:  # the whole tensor that this is a part of
            self.length = max(self.length, int(np.prod(self.recipe["dims"])))
        self.bytes = -(-self.length * self.bits // 8)

    @property
    def dtype(self):
        if self.type not in TYPES:
            raise Unsupported("no " + self.type)
        return np.dtype(TYPES[self.type])


class Case:
    def __init__(self, raw):
        self.name, self.op = raw["name"], raw["op"]
        self.cached = raw.get("cached", False)  # one pair of buffers
        if self.op not in ("copy", "convert"):
            raise Unsupported("no " + self.op)
        self.dst, self.src = Place(raw["dst"]), Place(raw["src"])
        if self.op == "convert" and min(self.dst.bits, self.src.bits) >= 8:
            raise Unsupported("no conversion of %s to %s" % (self.src.type, self.dst.type))


class Library:
    """On the processor. Others have memory and a clock of their own. It is made with a
    kind of device and a number, as "cuda", 0, or that raises NotHere."""

    name = device = ""
    footprint = 256 << 20  # from which on caches hold little of what takes turns

    def buffer(self, raw):
        """The library's memory for bytes, and with them."""
        return raw

    def read(self, buffer):
        """What is in it."""
        return buffer

    def operation(self, case, dst, src):
        """A function that carries out the case on buffers. If it allocates what it
        returns, instead, it has that as its result(), of the last run."""
        raise NotImplementedError

    def elapsed(self, work):
        """The nanoseconds that work takes."""
        start = time.perf_counter_ns()
        work()
        return time.perf_counter_ns() - start

    def release(self):
        """After each case."""


def memory(size):
    """Bytes, from the start of a page on."""
    raw = np.empty(size + 4096, np.uint8)
    start = -raw.ctypes.data % 4096
    return raw[start : start + size]


class Noise:
    """Random bytes, made once."""

    def __init__(self):
        self.raw, self.rng = np.empty(0, np.uint8), np.random.default_rng(1)

    def get(self, size):
        if self.raw.size < size:
            self.raw = np.frombuffer(self.rng.bytes(size), np.uint8)
        out = memory(size)
        out[:] = self.raw[:size]
        return out


def packing(left, right, both, either, case, dst, src, scratch):
    """Packs or unpacks integers by a library's shifts and bitwise operators, on its
    arrays of int8. These take an `out`; scratch is as long as what is packed."""
    bits = min(case.dst.bits, case.src.bits)
    per = 8 // bits
    if case.dst.strides != [1] or case.src.strides != [1] or case.dst.offset or case.src.offset or case.src.dims[0] % per:
        raise Unsupported("no " + (case.dst.type if case.dst.bits < 8 else case.src.type))

    def unpack():
        for i in range(per):
            part = dst[i::per]
            left(src, 8 - bits * (i + 1), out=part)
            right(part, 8 - bits, out=part)  # with the sign

    def pack():
        both(src[0::per], (1 << bits) - 1, out=dst)
        for i in range(1, per):
            both(src[i::per], (1 << bits) - 1, out=scratch)
            left(scratch, bits * i, out=scratch)
            either(dst, scratch, out=dst)

    return pack if case.dst.bits < case.src.bits else unpack


# The check: positions of elements, some at a time, and the bits that lie there.

BLOCK = 1 << 18


def positions(dims, strides):
    """Of all elements, in order, from 0."""
    at = np.zeros(1, np.int64)
    for n, stride in zip(dims, strides):
        at = np.add.outer(at, np.arange(n, dtype=np.int64) * stride).ravel()
    return at


def blocks(dst, src):
    """Positions in both, about BLOCK at a time, in a random order: the inner axes as
    they are, a part of the next, and a step of the outer ones."""
    dims = dst.dims or [1]
    both = [(p.strides or [1], p.offset) for p in (dst, src)]
    axis, inner = len(dims) - 1, 1
    while axis > 0 and inner * dims[axis] <= BLOCK:
        inner *= dims[axis]
        axis -= 1
    part = min(max(BLOCK // inner, 1), dims[axis])
    within = [positions([part] + dims[axis + 1 :], strides[axis:]) for strides, _ in both]
    outer = [positions(dims[:axis], strides[:axis]) for strides, _ in both]
    parts = -(-dims[axis] // part)
    for k in np.random.default_rng(2).permutation(parts * outer[0].size):
        first = int(k) % parts * part
        n = min(part, dims[axis] - first) * inner
        yield tuple(
            within[i][:n] + (outer[i][k // parts] + first * strides[axis] + offset) for i, (strides, offset) in enumerate(both)
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


def converted(case, values):
    """What integers of a width are in the other one."""
    if case.dst.bits < case.src.bits:
        return values & np.uint8((1 << case.dst.bits) - 1)
    sign = np.uint8(1 << (case.src.bits - 1))
    return (values ^ sign) - sign


def check(case, dst, src, seconds):
    """Compares as much of a result as there is time for, and says how much."""
    end = time.monotonic() + seconds
    done, total = 0, int(np.prod(case.dst.dims))
    for to, at in blocks(case.dst, case.src):
        want, got = elements(src, case.src.bits, at), elements(dst, case.dst.bits, to)
        if case.op == "convert":
            want = converted(case, want)
        if not np.array_equal(want, got):
            i = int(np.flatnonzero(want != got)[0])
            raise Wrong("wrong result: position %d of dst: %#x, want %#x" % (to[i * to.size // want.size], got[i], want[i]))
        done += to.size
        if time.monotonic() > end:
            break
    return "every bit" if done == total else "%.0f%% of the elements" % (100 * done / total)


def measure(library, case, noise, request):
    """A pass of a case, as package bench does it: see peer_measure.go there."""
    runs, buffers = [], []
    size = case.dst.bytes + case.src.bytes
    turns = 1 if case.cached else min(max(library.footprint // max(size, 1), 2), 256)
    while len(runs) < turns:
        raw = noise.get(case.src.bytes)
        poison = memory(case.dst.bytes)
        poison.fill(0xA5)
        buffers.append((library.buffer(poison), library.buffer(raw)))
        runs.append(library.operation(case, *buffers[-1]))
    turn = 0

    def batch(n):
        nonlocal turn

        def work():
            for i in range(turn, turn + n):
                runs[i % len(runs)]()

        took = library.elapsed(work)
        turn += n
        return took

    warm, answer = batch(1), {}
    fewest = 2 if warm > SLOW else 3
    while turn < turns and warm < SLOW:
        warm += batch(1)
    if request["check"]:
        dst, src = buffers[0]
        if hasattr(runs[0], "result"):
            dst = runs[0].result()
        answer["verified"] = check(case, library.read(dst), library.read(src), request["check"])
    n, calls, enough = request["batch"], 1, max(min(1e6, request["time"] * 1e9), 1)
    while not n:  # until a batch is long enough, or long
        took = batch(calls)
        if took >= 0.9 * enough or calls == 4096:
            n = calls
        calls = min(4096, max(calls + 1, int(calls * enough / max(took, 1)) + 1), 16 * calls)
    samples, start = [], time.monotonic()
    while len(samples) < fewest or len(samples) < 40 and time.monotonic() - start < request["time"]:
        samples.append(max(batch(n) / n, 1e-3))
    return {"samples": samples, "batch": n, **answer}
