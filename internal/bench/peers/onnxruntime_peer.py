"""ONNX Runtime: a case is a model of the operators that make it of a dense tensor:
Slice, Transpose, Expand, most often one of them, Cast, Gather or GatherElements. Inputs
and outputs are bound to memory that is there. No operator writes into a part of a
tensor, and what types each has is for the library to say. On cuda, with
onnxruntime-gpu, calls wait for their results, and times are by the processor's clock.
"""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

import common

FIRST = -(1 << 63)  # the end of a slice that goes backwards through its first element


class Peer(common.Library):
    def __init__(self, kind, number):
        self.kind, self.number = kind, number
        self.name, self.case = "ONNX Runtime " + ort.__version__, None
        if self.kind == "cpu":
            self.provider, self.device = "CPUExecutionProvider", "cpu, %d threads" % common.THREADS
        elif self.kind == "cuda":
            self.provider, self.device = "CUDAExecutionProvider", "cuda:%d" % number
        else:
            raise common.NotHere("ONNX Runtime runs on cpu and cuda here")
        if self.provider not in ort.get_available_providers():
            raise common.NotHere("this ONNX Runtime has no " + self.provider)

    def buffer(self, raw):
        return ort.OrtValue.ortvalue_from_numpy(raw, self.kind, self.number)  # on the processor, the same memory

    def read(self, buffer):
        return buffer.numpy()

    def operation(self, case, dst, src=None, indices=None):
        if case.op == "fill":
            raise common.Unsupported("no operator writes into a part of a tensor")
        if self.case is not case:
            self.case, self.session = case, self.load(case)
        session = self.session  # which must outlive its bindings
        binding = session.io_binding()
        bound = [
            (binding.bind_input, "x", case.src, case.src.recipe["dims"], src),
            (binding.bind_output, "y", case.dst, case.dst.dims, dst),
        ]
        if indices:
            bound.append((binding.bind_input, "indices", case.indices, shape_of_indices(case), indices))
        for bind, name, place, dims, buffer in bound:
            bind(name, self.kind, self.number, element_type(place), dims, buffer.data_ptr())
        return lambda: session.run_with_iobinding(binding)

    def release(self):
        self.case = self.session = None

    def load(self, case):
        options = ort.SessionOptions()
        options.intra_op_num_threads = common.THREADS
        options.log_severity_level = 4
        provider = (self.provider, {} if self.kind == "cpu" else {"device_id": self.number})
        text = model(case).SerializeToString()
        try:
            return ort.InferenceSession(text, options, providers=[provider])
        except Exception as e:  # it has no kernel for the type
            raise common.Unsupported(" ".join(str(e).split())[:200]) from e


def shape_of_indices(case):
    return case.dst.dims if case.own else [case.dst.dims[case.axis]]


def element_type(place):
    return onnx.TensorProto.DataType.Value(place.type.upper())


def model(case):
    """The operators that make a case."""
    src, dst = case.src, case.dst
    if not src.recipe or not dst.recipe or dst.strides != dense(dst.dims) or dst.offset:
        raise common.Unsupported("no operator writes into a part of a tensor")
    nodes, constants = [], {}

    def last():
        return nodes[-1].output[0] if nodes else "x"

    def add(op, inputs=(), **attributes):
        names = [last()]
        for values in inputs:
            name = "c%d" % len(constants)
            constants[name] = helper.make_tensor(name, onnx.TensorProto.INT64, [len(values)], values)
            names.append(name)
        nodes.append(helper.make_node(op, names, ["y%d" % len(nodes)], **attributes))

    dims, low, high, step = (src.recipe[k] for k in ("dims", "low", "high", "step"))
    axes = [i for i, n in enumerate(dims) if (low[i], high[i], step[i]) != (0, n, 1)]
    if axes:
        ranges = [(low[i], high[i], step[i]) for i in axes]
        ranges = [(a, b, s) if s > 0 else (b - 1, a - 1 if a else FIRST, s) for a, b, s in ranges]
        starts, ends, steps = zip(*ranges)
        add("Slice", (starts, ends, axes, steps))
    perm, straight = src.recipe["perm"], list(range(len(dims)))
    if case.op == "take":
        if case.own and perm != straight:
            raise common.Unsupported("no operator takes in another order")
        nodes.append(helper.make_node("GatherElements" if case.own else "Gather", [last(), "indices"], ["taken"], axis=perm[case.axis]))
    if perm != straight:
        add("Transpose", perm=perm)
    counts = [-(-(b - a) // abs(s)) for a, b, s in zip(low, high, step)]
    if [counts[i] for i in perm] != src.dims:
        add("Expand", (src.dims,))
    if case.op == "convert":
        add("Cast", to=element_type(dst))
    if not nodes:
        add("Identity")
    nodes[-1].output[0] = "y"
    inputs = [helper.make_tensor_value_info("x", element_type(src), dims)]
    if case.indices:
        inputs.append(helper.make_tensor_value_info("indices", element_type(case.indices), shape_of_indices(case)))
    output = helper.make_tensor_value_info("y", element_type(dst), dst.dims)
    graph = helper.make_graph(nodes, case.name, inputs, [output], list(constants.values()))
    newest = "int2" in (src.type, dst.type)  # other types do not need them, and older versions lack them
    newer = "float4e2m1" in (src.type, dst.type)
    opset = helper.make_opsetid("", 25 if newest else 23 if newer else 21)
    return helper.make_model(graph, opset_imports=[opset], ir_version=13 if newest else 11 if newer else 10)


def dense(dims):
    return [int(np.prod(dims[i + 1 :])) for i in range(len(dims))]
