"""CuPy: what numpy_peer.py does, on a GPU, by the GPU's clock."""

import cupy

import common
import numpy_peer


class Peer(numpy_peer.Peer):
    arrays = cupy
    trusting = {}
    noise = None  # on the GPU, sent once

    def __init__(self, kind, number):
        if kind != "cuda":
            raise common.NotHere("CuPy runs on cuda alone")
        cupy.cuda.Device(number).use()
        properties = cupy.cuda.runtime.getDeviceProperties(number)
        self.name, self.device = "CuPy " + cupy.__version__, properties["name"].decode()

    def buffer(self, raw):
        return cupy.asarray(raw)

    def poisoned(self, size):
        return cupy.full(size, common.POISON, cupy.uint8)

    def random(self, noise, size):
        if self.noise is None or self.noise.size < size:
            self.noise = self.buffer(noise.get(size))
        return self.noise[:size].copy()

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
