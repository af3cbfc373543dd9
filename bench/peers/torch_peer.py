#!/usr/bin/env python3
"""Times PyTorch on the cases of restride bench, for its --peer.

    restride bench --device cuda:0 --list-json > cases.json
    python3 torch_peer.py cases.json > torch.json
    restride bench --device cuda:0 --peer torch.json

Each case is a view of a dense tensor of random bytes, made by as_strided, and
copied by copy_ into memory that is there; PyTorch has no negative strides, so a
reversed view is copied by flip, which allocates. Times are medians: on a GPU of
batches between CUDA events, on buffers that take turns; a case's result is held
against one that was computed on the processor before. Types that PyTorch does not
have (those below a byte) are said to be unsupported.
"""

import argparse
import json
import statistics
import sys
import time

import torch

TYPES = {
    "uint8": torch.uint8,
    "int8": torch.int8,
    "float16": torch.float16,
    "float": torch.float32,
    "double": torch.float64,
    "complex128": torch.complex128,
}


class Unsupported(Exception):
    pass


def tensor(place, storage):
    """The dense elements of a place, and the view of them that the case names."""
    strides = [abs(s) for s in place["strides"]]
    low = place["offset"] + sum((n - 1) * s for n, s in zip(place["dims"], place["strides"]) if s < 0)
    backwards = [axis for axis, s in enumerate(place["strides"]) if s < 0]
    return storage.as_strided(place["dims"], strides, low), backwards


def element_type(place):
    if place["type"] not in TYPES:
        raise Unsupported("no " + place["type"])
    return TYPES[place["type"]]


def noise(place, device):
    """Elements of random bytes: as integers, since that is what is moved."""
    dtype = element_type(place)
    raw = torch.randint(0, 256, (place["length"] * place["bits"] // 8,), dtype=torch.uint8, device=device)
    return raw.view(dtype)


class Copy:
    """One pair of buffers of a case."""

    def __init__(self, case, device):
        if case["op"] != "copy":
            raise Unsupported("no " + case["op"])
        self.storage = noise(case["src"], device)
        src, self.backwards = tensor(case["src"], self.storage)
        into = torch.zeros(case["dst"]["length"], dtype=element_type(case["dst"]), device=device)
        dst, wrong = tensor(case["dst"], into)
        if wrong:
            raise Unsupported("no reversed destination")
        self.src, self.dst = src, dst

    def run(self):
        if self.backwards:
            self.dst = torch.flip(self.src, self.backwards)
        else:
            self.dst.copy_(self.src)

    def check(self, case):
        """Compares the bits of a row along each axis, through the middle."""
        want, _ = tensor(case["src"], self.storage.cpu())
        got = self.dst.cpu()
        if self.backwards:
            want = want.flip(self.backwards)
        for axis in range(want.dim()):
            index = tuple(slice(None) if i == axis else n // 2 for i, n in enumerate(want.shape))
            a, b = (torch.empty(t.shape, dtype=t.dtype).copy_(t).view(torch.uint8) for t in (want[index], got[index]))
            if not torch.equal(a, b):
                raise AssertionError("wrong result along axis %d" % axis)


def batch_time(copies, first, n, gpu):
    """The nanoseconds that n calls take."""
    if gpu:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        for i in range(n):
            copies[(first + i) % len(copies)].run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e6
    begin = time.perf_counter_ns()
    for i in range(n):
        copies[(first + i) % len(copies)].run()
    return time.perf_counter_ns() - begin


def measure(case, device, seconds):
    gpu = device.type == "cuda"
    copies = [Copy(case, device)]
    size = (case["src"]["length"] * case["src"]["bits"] + case["dst"]["length"] * case["dst"]["bits"]) // 8
    footprint = (512 if gpu else 256) << 20
    while len(copies) < min(max(footprint // max(size, 1), 2), 16):
        copies.append(Copy(case, device))
    for c in copies:
        c.run()
    copies[0].check(case)
    n, done = 1, 0
    while n < 4096:  # batches of a millisecond
        took = batch_time(copies, done, n, gpu)
        done += n
        if took >= 0.9e6:
            break
        n = min(max(n + 1, int(n * 1e6 / max(took, 1)) + 1), 16 * n, 4096)
    samples, start = [], time.monotonic()
    while len(samples) < 9 or len(samples) < 201 and time.monotonic() - start < seconds:
        samples.append(batch_time(copies, done, n, gpu) / n)
        done += n
    return {
        "samples": len(samples),
        "batch": n,
        "median_ns": statistics.median(samples),
        "min_ns": min(samples),
        "max_ns": max(samples),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", help="what restride bench --list-json printed; - is standard input")
    parser.add_argument("--device", default="auto", help="cuda, cuda:1, cpu, ...; auto: cuda, or else cpu")
    parser.add_argument("--time", type=float, default=0.2, help="seconds for the samples of a case")
    args = parser.parse_args()
    with sys.stdin if args.cases == "-" else open(args.cases) as file:
        cases = json.load(file)
    name = args.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    result = {
        "peer": "PyTorch " + torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu, %d threads" % torch.get_num_threads(),
        "cases": [],
    }
    failed = 0
    for case in cases:
        entry = {"name": case["name"], "case": case["case"]}
        try:
            entry.update(measure(case, device, args.time))
        except Unsupported as e:
            entry["error"] = str(e)
        except (RuntimeError, AssertionError) as e:
            failed += 1
            entry["error"] = (str(e).splitlines() or [type(e).__name__])[0]
        result["cases"].append(entry)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    json.dump(result, sys.stdout, indent=1)
    print()
    figures = sum("error" not in entry for entry in result["cases"])
    unsupported = len(cases) - figures - failed
    print("%s: %d cases measured, %d failed, %d unsupported" % (result["peer"], figures, failed, unsupported), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
