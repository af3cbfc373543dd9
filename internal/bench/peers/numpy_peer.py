"""numpy: a case is a copyto between two strided views, which converts, too, a fill, a take
or, of single elements, take_along_axis, which has a result of its own. numpy has no types
below a byte: packing and unpacking are shifts and masks. It has no threads either.
"""

import numpy as np

import common


class Peer(common.Library):
    arrays = np  # the module
    trusting = {"mode": "clip"}  # with checks, it gathers into a buffer first

    def __init__(self, kind, number):
        if kind != "cpu":
            raise common.NotHere("numpy runs on cpu alone")
        np.seterr(all="ignore")  # overflows are expected
        self.name, self.device = "numpy " + np.__version__, "cpu, 1 thread"

    def operation(self, case, dst, src=None, indices=None):
        xp = self.arrays
        if case.packs:
            dst, src = dst.view(np.int8), src.view(np.int8)
            scratch = xp.empty_like(min(dst, src, key=len))
            return common.packing(xp.left_shift, xp.right_shift, xp.bitwise_and, xp.bitwise_or, case, dst, src, scratch)
        to = self.view(case.dst, dst)
        if case.op == "fill":
            value = case.pattern.view(case.dst.dtype)[0]
            return lambda: to.fill(value)
        at = self.view(case.src, src)
        if case.op == "take":
            return self.take(case, to, at, indices.view(np.int64))
        return lambda: xp.copyto(to, at, casting="unsafe")

    def take(self, case, to, at, indices):
        xp, axis = self.arrays, case.axis
        if not case.own:
            return lambda: xp.take(at, indices, axis=axis, out=to, **self.trusting)
        indices = indices.reshape(case.dst.dims)
        return lambda: xp.copyto(to, xp.take_along_axis(at, indices, axis))

    def view(self, place, buffer):
        size = place.dtype.itemsize
        start = buffer.view(place.dtype)[place.offset :]
        return self.arrays.lib.stride_tricks.as_strided(start, place.dims, [s * size for s in place.strides])
