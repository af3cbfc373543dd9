"""What the libraries here share: where the elements of a case lie, and how a pass is
measured.

The buffers have the bytes that the request says, and random ones in the sources. They
come from numpy, which asks for huge pages where a buffer has 4 MiB and more: so do
ours. Several sets of them rotate; warm-up, batches and samples are those of
Go's package bench. A result is checked in the first pass: see check.py.
"""

import os
import time

import numpy as np

from check import Unsupported, check

THREADS = int(os.environ.get("RESTRIDE_THREADS") or os.cpu_count() or 1)  # for libraries to use
POISON = 0xA5
SLOW = 0.3e9  # nanoseconds: slower calls have few samples, and little warm-up

# By ONNX's names. Other types are below a byte, or floats that numpy lacks.
TYPES = {
    "uint8": np.uint8,
    "int8": np.int8,
    "int64": np.int64,
    "float16": np.float16,
    "float": np.float32,
    "double": np.float64,
    "complex128": np.complex128,
}


class NotHere(Exception):
    """The library is not for the device."""


class Place:
    """Where elements lie: strides and offset count elements."""

    def __init__(self, raw):
        self.type, self.bits = raw["type"], raw["bits"]
        self.dims, self.strides, self.offset = raw["dims"], raw["strides"], raw["offset"]
        self.recipe = raw["recipe"]
        self.length = raw["length"]
        if self.recipe:  # the whole tensor that contains this part
            self.length = max(self.length, int(np.prod(self.recipe["dims"])))
        self.bytes = -(-self.length * self.bits // 8)

    @property
    def dtype(self):
        if self.type not in TYPES:
            raise Unsupported("no " + self.type)
        return np.dtype(TYPES[self.type])


class Case:
    """src of a fill is None. Only a take has indices: where they are, and along which
    axis of src, which is all that there is to take from."""

    def __init__(self, raw):
        self.name, self.op = raw["name"], raw["op"]
        self.rotation = raw["turns"]  # sets of buffers, which rotate
        if self.rotation < 1:
            raise ValueError("%d sets of buffers: want at least 1" % self.rotation)
        if self.op not in ("copy", "convert", "fill", "take"):
            raise Unsupported("no " + self.op)
        self.dst = Place(raw["dst"])
        self.src = None if self.op == "fill" else Place(raw["src"])
        self.indices = None
        if self.op == "take":
            self.indices, self.axis = Place(raw["at"]), raw["at"]["axis"]
            self.own = sum(s != 0 for s in self.indices.strides) > 1  # an index for each element
        self.pattern = np.frombuffer(bytes.fromhex(raw.get("pattern", "")), np.uint8)
        self.places = [p for p in (self.dst, self.src, self.indices) if p]

    @property
    def packs(self):
        """Whether it packs integers below a byte, or unpacks them."""
        return self.op == "convert" and {self.dst.type, self.src.type} <= {"int2", "int4", "int8"}


class Library:
    """On the processor. Others have memory and a clock of their own. It is made with a
    kind of device and a number, as "cuda", 0, or that raises NotHere."""

    name = device = ""

    def buffer(self, raw):
        """The library's memory for bytes, and with them."""
        return raw

    def poisoned(self, size):
        """Its memory, with bytes that no case leaves there."""
        raw = memory(size)
        raw.fill(POISON)
        return self.buffer(raw)

    def random(self, noise, size):
        """Its memory, with noise."""
        return self.buffer(noise.get(size))

    def read(self, buffer):
        """What is in it."""
        return buffer

    def operation(self, case, dst, src=None, indices=None):
        """A function that carries out the case on buffers, of those that it has. If it
        allocates what it returns, instead, it has that as its result(), of the last
        run."""
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

    def indices(self, case):
        """Each as likely as any other. They lie without gaps."""
        place = case.indices
        if place.offset or place.type != "int64":
            raise Unsupported("no such indices")
        out = memory(place.bytes)
        np.copyto(out.view(np.int64), np.random.default_rng(2).integers(0, case.src.dims[case.axis], place.length))
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


def measure(library, case, noise, request):
    """A pass of a case, as package bench does it: see measure.go there."""
    runs, buffers = [], []
    while len(runs) < case.rotation:
        buffers.append([library.poisoned(case.dst.bytes)])
        if case.src:
            buffers[-1].append(library.random(noise, case.src.bytes))
        if case.indices:
            buffers[-1].append(library.buffer(noise.indices(case)))
        runs.append(library.operation(case, *buffers[-1]))
    done = 0

    def batch(n):
        nonlocal done

        def work():
            for i in range(done, done + n):
                runs[i % len(runs)]()

        took = library.elapsed(work)
        done += n
        return took

    warm, answer = batch(1), {}
    fewest = 2 if warm > SLOW else 3
    while done < case.rotation and warm < SLOW:
        warm += batch(1)
    if request["check"]:
        dst, *sources = buffers[0]
        if hasattr(runs[0], "result"):
            dst = runs[0].result()
        answer["verified"] = check(case, request["check"], *(library.read(b) for b in (dst, *sources)))
    n, calls, enough = request["batch"], 1, max(min(1e6, request["time"] * 1e9), 1)
    while not n:  # until a batch is long enough, or has the most calls
        took = batch(calls)
        if took >= 0.9 * enough or calls == 4096:
            n = calls
        calls = min(4096, max(calls + 1, int(calls * enough / max(took, 1)) + 1), 16 * calls)
    samples, start = [], time.monotonic()
    while len(samples) < fewest or len(samples) < 40 and time.monotonic() - start < request["time"]:
        samples.append(max(batch(n) / n, 1e-3))
    return {"samples": samples, "batch": n, **answer}
