"""PyTorch: a case is a copy_ between two views that as_strided makes, which converts, too, a
fill_, an index_select or, of single elements, a gather. It has no negative
strides: elements of less than 4 bytes are reversed by flip, which allocates what it
returns, and others by index_select, which need not, and is quicker at these. It has
no types below a byte either: packing and unpacking are shifts and masks. On a GPU,
times are by the GPU's clock.
"""

import torch

import common

# By ONNX's names. Some versions lack some.
TYPES = {
    "uint8": "uint8",
    "int8": "int8",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float": "float32",
    "double": "float64",
    "complex128": "complex128",
}


class Peer(common.Library):
    def __init__(self, kind, number):
        self.name, self.gpu = "PyTorch " + torch.__version__, kind == "cuda"
        if kind != "cpu" and not self.gpu:
            raise common.NotHere("PyTorch runs on cpu and cuda here")
        if self.gpu and number >= torch.cuda.device_count():
            raise common.NotHere("PyTorch sees %d GPUs" % torch.cuda.device_count())
        self.on, self.noise = torch.device(kind, number), None
        torch.set_num_threads(common.THREADS)
        self.device = "cpu, %d threads" % torch.get_num_threads()
        if self.gpu:
            torch.cuda.set_device(self.on)
            self.device = torch.cuda.get_device_name(self.on)

    def buffer(self, raw):
        return torch.from_numpy(raw).to(self.on)  # on the processor, the same memory

    # On a GPU, noise is sent once.

    def poisoned(self, size):
        if not self.gpu:
            return super().poisoned(size)
        return torch.full((size,), common.POISON, dtype=torch.uint8, device=self.on)

    def random(self, noise, size):
        if not self.gpu:
            return super().random(noise, size)
        if self.noise is None or len(self.noise) < size:
            self.noise = self.buffer(noise.get(size))
        return self.noise[:size].clone()

    def read(self, buffer):
        return buffer.cpu().numpy()

    def operation(self, case, dst, src=None, indices=None):
        if case.packs:
            dst, src = dst.view(torch.int8), src.view(torch.int8)
            scratch = torch.empty_like(min(dst, src, key=len))
            return common.packing(
                torch.bitwise_left_shift, torch.bitwise_right_shift, torch.bitwise_and, torch.bitwise_or, case, dst, src, scratch
            )
        to, wrong = view(case.dst, dst)
        if case.op == "fill":
            value = torch.from_numpy(case.pattern.copy()).view(to.dtype).item()
            return lambda: to.fill_(value)
        at, backwards = view(case.src, src)
        if wrong or len(backwards) > 1 or backwards and not to.is_contiguous():
            raise common.Unsupported("no reversed destination, and one reversed axis at most")
        if case.op == "take" and not backwards:
            indices, axis = indices.view(torch.int64), case.axis
            if case.own:
                indices = indices.view(case.dst.dims)
                return lambda: torch.gather(at, axis, indices, out=to)
            return lambda: torch.index_select(at, axis, indices, out=to)
        if not backwards:
            return lambda: to.copy_(at)
        if at.element_size() < 4:
            return Flip(at, backwards)
        axis = backwards[0]
        order = torch.arange(at.shape[axis] - 1, -1, -1, device=self.on)
        return lambda: torch.index_select(at, axis, order, out=to)

    def elapsed(self, work):
        if not self.gpu:
            return super().elapsed(work)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e6

    def release(self):
        if self.gpu:
            torch.cuda.empty_cache()


class Flip:
    """An operation that allocates its result, and holds the last one."""

    def __init__(self, at, axes):
        self.at, self.axes, self.last = at, axes, None

    def __call__(self):
        self.last = torch.flip(self.at, self.axes)

    def result(self):
        return self.last.reshape(-1).view(torch.uint8)


def view(place, buffer):
    """The elements of a place, and the axes along which they are to be reversed."""
    dtype = getattr(torch, TYPES.get(place.type, ""), None)
    if dtype is None:
        raise common.Unsupported("no " + place.type)
    low = place.offset + sum((n - 1) * s for n, s in zip(place.dims, place.strides) if s < 0)
    backwards = [axis for axis, s in enumerate(place.strides) if s < 0]
    return buffer.view(dtype).as_strided(place.dims, [abs(s) for s in place.strides], low), backwards
