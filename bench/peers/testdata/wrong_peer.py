"""numpy with one wrong bit in each result."""

import common
import numpy_peer


class Wrong(numpy_peer.Numpy):
    def operation(self, case, dst, src):
        call = super().operation(case, dst, src)
        last = case.dst.offset + sum((n - 1) * s for n, s in zip(case.dst.dims, case.dst.strides))

        def wrong():
            call()
            dst[last * case.dst.bits // 8] ^= 1

        return wrong


common.run(__doc__, Wrong)
