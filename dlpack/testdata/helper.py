"""The Python side of the tests of package dlpack: python_test.go runs it in its process."""

import ctypes
import threading
import weakref

import numpy

try:
    import torch
except ImportError:
    torch = None

has_torch = torch is not None
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Names of capsules must live as long as these.
NAMES = {n: ctypes.create_string_buffer(n) for n in (b"dltensor", b"dltensor_versioned", b"used_dltensor", b"used_dltensor_versioned")}


def tell(*values):
    """Puts numbers where the Go side reads them."""
    mail = (ctypes.c_int64 * 4).from_address(mail_at)
    for i, v in enumerate(values):
        mail[i] = int(v)


def versioned(library):
    """Whether a library speaks DLPack 1.0."""
    x = make(library, "int8")
    try:
        return "versioned" in repr(x.__dlpack__(max_version=(1, 1)))
    except TypeError:
        return False


def exchanges(library, dtype):
    """Whether a library exchanges arrays of a type."""
    try:
        make(library, dtype).__dlpack__()
        return True
    except (TypeError, BufferError, RuntimeError):
        return False


def writable(x):
    return not isinstance(x, numpy.ndarray) or x.flags.writeable


class Producer:
    """What from_dlpack of a library is given."""

    def __init__(self, pointer, name):
        self.pointer, self.name = pointer, name

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return api.PyCapsule_New(self.pointer, ctypes.cast(NAMES[self.name.encode()], ctypes.c_char_p), None)


def take(library, pointer, name):
    """An array over a capsule of Restride's."""
    if library == "torch":
        return torch.from_dlpack(Producer(pointer, name))
    return numpy.from_dlpack(Producer(pointer, name))


def give(x, new):
    """Consumes a capsule of an array, in Restride's name, and tells the pointer."""
    capsule = x.__dlpack__(max_version=(1, 1)) if new else x.__dlpack__()
    name = b"dltensor_versioned" if new else b"dltensor"
    pointer = api.PyCapsule_GetPointer(capsule, name)
    api.PyCapsule_SetName(capsule, ctypes.cast(NAMES[b"used_" + name], ctypes.c_char_p))
    tell(pointer)


def make(library, dtype):
    """A 3x4 array of small numbers, with memory of numpy's."""
    global made
    a = numpy.arange(12).reshape(3, 4)
    a = (a % 2 == 0) if dtype == "bool" else a.astype(dtype)
    made = weakref.ref(a)
    return torch.from_numpy(a) if library == "torch" else a


def check(x, dtype, shape, data):
    """Compares an array with what it must be, as hexadecimal bytes."""
    assert str(x.dtype).removeprefix("torch.") == dtype, x.dtype
    assert list(x.shape) == list(shape), (x.shape, shape)
    got = numpy.asarray(x).tobytes().hex()
    assert got == data, (got, data)


def alive():
    """Whether the memory is held that make made last."""
    return made() is not None


def in_thread(code):
    """Runs code in a thread of its own, as consumers delete."""
    t = threading.Thread(target=lambda: exec(code, globals()))
    t.start()
    t.join()
