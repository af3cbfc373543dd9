#!/usr/bin/env python3
"""Times CuPy on the cases of restride bench, for its --peer:

    python3 cupy_peer.py cases.json > cupy.json

It does what numpy_peer.py does, on a GPU, by the GPU's clock.
"""

import cupy

import common
import numpy_peer


class CuPy(numpy_peer.Numpy):
    arrays = cupy
    footprint = 512 << 20

    def __init__(self, device):
        kind, _, number = device.partition(":")
        if kind != "cuda":
            raise SystemExit("CuPy runs on cuda alone")
        cupy.cuda.Device(int(number or 0)).use()
        properties = cupy.cuda.runtime.getDeviceProperties(int(number or 0))
        self.name, self.device = "CuPy " + cupy.__version__, properties["name"].decode()
        self.beside = "cuda:%d" % int(number or 0)

    def buffer(self, raw):
        return cupy.asarray(raw)

    def read(self, buffer):
        return cupy.asnumpy(buffer)

    def elapsed(self, work):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.get_current_stream().synchronize()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) * 1e6

    def release(self):
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    common.run(__doc__, CuPy, device="cuda:0")
