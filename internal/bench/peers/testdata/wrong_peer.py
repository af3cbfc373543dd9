"""numpy with one wrong bit in each result, and much to say."""

import numpy_peer


class Peer(numpy_peer.Peer):
    def operation(self, case, dst, *sources):
        call = super().operation(case, dst, *sources)
        last = case.dst.offset + sum((n - 1) * s for n, s in zip(case.dst.dims, case.dst.strides))

        def wrong():
            print("what is printed is no answer")
            call()
            dst[last * case.dst.bits // 8] ^= 1

        return wrong
