"""numpy: a case is a copyto between two strided views. numpy has no types below a byte:
packing and unpacking are shifts and masks. It has no threads either.
"""

import numpy as np

import common


class Peer(common.Library):
    arrays = np  # the module

    def __init__(self, kind, number):
        if kind != "cpu":
            raise common.NotHere("numpy runs on cpu alone")
        self.name, self.device = "numpy " + np.__version__, "cpu, 1 thread"

    def operation(self, case, dst, src):
        xp = self.arrays
        if case.op == "convert":
            dst, src = dst.view(np.int8), src.view(np.int8)
            scratch = xp.empty_like(min(dst, src, key=len))
            return common.packing(xp.left_shift, xp.right_shift, xp.bitwise_and, xp.bitwise_or, case, dst, src, scratch)
        to, at = self.view(case.dst, dst), self.view(case.src, src)
        return lambda: xp.copyto(to, at)

    def view(self, place, buffer):
        size = place.dtype.itemsize
        start = buffer.view(place.dtype)[place.offset :]
        return self.arrays.lib.stride_tricks.as_strided(start, place.dims, [s * size for s in place.strides])
