"""Writes random models of one node whose outputs have the types that onnx.shape_inference says,
as FOLDER/node/NUMBER/model.onnx:

    python3 testdata/random_models.py FOLDER SEED COUNT
    RESTRIDE_ONNX_TESTS=FOLDER go test -run BackendCases .
"""
import os, random, sys
import onnx
from onnx import TensorProto as T, helper as h, shape_inference

folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed)
some = lambda n, low=1, high=4: [r.randint(low, high) for _ in range(n)]
maybe = lambda f: f() if r.random() < .5 else None


class Node:
    def __init__(self, op, opset, domain=""):
        self.op, self.opset, self.domain = op, opset, domain
        self.inputs, self.names, self.consts, self.attrs, self.outputs = [], [], [], {}, 1

    def add(self, dims, elem=T.FLOAT):
        self.names.append("x%d" % len(self.names))
        self.inputs.append(h.make_tensor_value_info(self.names[-1], elem, dims))
        return self

    def const(self, values, elem=T.INT64, scalar=False):
        self.names.append("c%d" % len(self.names))
        self.consts.append(h.make_tensor(self.names[-1], elem, [] if scalar else [len(values)], values))
        return self

    def skip(self):
        self.names.append("")
        return self

    def set(self, **attrs):
        self.attrs.update({k: v for k, v in attrs.items() if v is not None})
        return self


def window(n, spatial, kernel=None):
    n.set(strides=maybe(lambda: some(spatial, 1, 3)))
    if kernel:
        n.set(kernel_shape=kernel)
    auto = r.choice(["", "", "", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if auto:
        return n.set(auto_pad=auto)
    return n.set(pads=maybe(lambda: some(2 * spatial, 0, 1)), dilations=maybe(lambda: some(spatial, 1, 2)))


def conv():
    s, c, m = r.randint(1, 3), r.randint(1, 3), r.randint(1, 5)
    k = some(s, 1, 3)
    n = Node("Conv", r.choice([1, 11, 22])).add([2, c] + some(s, 7, 14)).add([m, c] + k)
    return window(n, s, maybe(lambda: k))


def conv_transpose():
    s, c, m, g = r.randint(1, 3), 4, r.randint(1, 3), r.choice([1, 2])
    k = some(s, 1, 3)
    n = Node("ConvTranspose", r.choice([11, 22])).add([2, c] + some(s, 4, 9)).add([c, m] + k).set(group=g)
    n.set(output_padding=maybe(lambda: [0] * s))
    return window(n, s, maybe(lambda: k))


def pool():
    s = r.randint(1, 3)
    op = r.choice(["MaxPool", "AveragePool", "LpPool"])
    n = Node(op, {"MaxPool": 12, "AveragePool": 19, "LpPool": 18}[op]).add([2, 3] + some(s, 7, 14))
    if op == "MaxPool":
        n.outputs = r.choice([1, 2])
    return window(n, s, some(s, 1, 3)).set(ceil_mode=r.choice([0, 1]))


def matmul():
    k = r.randint(1, 4)
    batch = some(r.randint(0, 2))
    a = batch + some(1) + [k] if r.random() < .7 else [k]
    b = [1 if r.random() < .3 else d for d in batch] + [k] + some(1) if r.random() < .7 else [k]
    return Node("MatMul", 13).add(a).add(b)


def gemm():
    ta, tb, (m, k, p) = r.choice([0, 1]), r.choice([0, 1]), some(3)
    return Node("Gemm", 13).add([k, m] if ta else [m, k]).add([p, k] if tb else [k, p]).set(transA=ta, transB=tb)


def reduce():
    rank = r.randint(1, 4)
    axes = [a - rank if r.random() < .3 else a for a in r.sample(range(rank), r.randint(0, rank))]
    op = r.choice(["ReduceMean", "ReduceMax", "ReduceL2", "ReduceSum", "ReduceProd"])
    new = op == "ReduceSum" or r.random() < .5
    n = Node(op, 18 if new else 11).add(some(rank)).set(keepdims=maybe(lambda: r.choice([0, 1])))
    if not new:
        return n.set(axes=axes or None)
    n.set(noop_with_empty_axes=maybe(lambda: r.choice([0, 1])))
    return n.const(axes) if axes or r.random() < .5 else n


def resize():
    rank = r.randint(1, 4)
    n = Node("Resize", r.choice([11, 13, 19])).add(some(rank, 1, 20)).skip()
    if r.random() < .5:
        return n.const([r.choice([.5, .3, 1, 2, 2.5, 3.7, r.random() * 3 + .2]) for _ in range(rank)], T.FLOAT)
    return n.skip().const(some(rank, 1, 20))


def rnn():
    op = r.choice(["LSTM", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    d, (x, hidden) = r.choice([1, 2]), some(2)
    n = Node(op, 14).add(some(2) + [x]).add([d, gates * hidden, x]).add([d, gates * hidden, hidden])
    n.outputs = r.randint(1, 3 if op == "LSTM" else 2)
    return n.set(direction="bidirectional" if d == 2 else None, hidden_size=hidden, layout=r.choice([0, 1]))


def einsum():
    letters = {c: r.randint(1, 4) for c in "abcd"}
    terms = ["".join(r.sample("abcd", r.randint(1, 3))) for _ in range(r.randint(1, 3))]
    used = sorted(set("".join(terms)))
    dots = [r.random() < .3 for _ in terms]
    eq = ",".join(("..." if x else "") + t for x, t in zip(dots, terms))
    if r.random() < .6:
        eq += "->" + ("..." if any(dots) else "") + "".join(r.sample(used, r.randint(0, len(used))))
    n = Node("Einsum", 12).set(equation=eq)
    for x, t in zip(dots, terms):
        n.add(([5] if x else []) + [letters[c] for c in t])
    return n


def elementwise():
    full = some(r.randint(0, 4))
    cut = lambda: [1 if r.random() < .3 else d for d in full[r.randint(0, len(full)):]]
    op = r.choice(["Add", "Pow", "Less", "Where", "Max"])
    n = Node(op, 16)
    if op == "Where":
        return n.add(cut(), T.BOOL).add(cut()).add(full)
    return n.add(cut()).add(full)


def layout():
    rank = r.randint(1, 4)
    dims, axis = some(rank, 2, 9), r.randint(-rank, rank - 1)
    op = r.choice(["Slice", "Concat", "Gather", "Split", "Pad", "Transpose", "Unsqueeze", "Flatten", "Reshape", "ArgMax", "TopK", "Tile"])
    n = Node(op, 13).add(dims)
    if op == "Slice":
        step = r.choice([1, 1, 2, -1, -2])
        start, end = r.randint(-dims[axis], 12), r.choice([r.randint(-12, 12), 2**63 - 1, -2**63])
        return n.const([start]).const([end]).const([axis]).const([step])
    if op == "Concat":
        other = list(dims)
        other[axis] = r.randint(1, 5)
        return n.add(other).set(axis=axis)
    if op == "Gather":
        return n.add(some(r.randint(0, 2)), T.INT64).set(axis=axis)
    if op == "Split":
        n.outputs = 2
        if dims[axis] % 2:
            return n.const([1, dims[axis] - 1]).set(axis=axis)
        return n.set(axis=axis)
    if op == "Pad":
        return n.const(some(2 * rank, -1, 3))
    if op == "Transpose":
        return n.set(perm=maybe(lambda: r.sample(range(rank), rank)))
    if op == "Unsqueeze":
        return n.const(r.sample(range(rank + 2), 2))
    if op == "Reshape":
        return n.const(r.choice([[-1], [0, -1], [-1, dims[0]], dims[::-1]]))
    if op == "TopK":
        return n.const([1]).set(axis=axis)
    if op == "Tile":
        return n.const(some(rank))
    return n.set(axis=axis)


kinds = [conv, conv_transpose, pool, matmul, gemm, reduce, resize, rnn, einsum, elementwise, layout]
made = 0
while made < count:
    n = r.choice(kinds)()
    outs = ["y%d" % i for i in range(2 if n.op == "TopK" else n.outputs)]
    g = h.make_graph([h.make_node(n.op, n.names, outs, domain=n.domain, **n.attrs)], "g", n.inputs,
                     [h.make_empty_tensor_value_info(o) for o in outs], n.consts)
    m = h.make_model(g, opset_imports=[h.make_opsetid("", n.opset)])
    try:
        m = shape_inference.infer_shapes(m, check_type=True, strict_mode=True, data_prop=True)
    except Exception:
        continue  # the combination is not valid
    if not m.graph.output[0].type.tensor_type.HasField("shape"):
        continue
    path = os.path.join(folder, "node", str(made))
    os.makedirs(path, exist_ok=True)
    onnx.save(m, os.path.join(path, "model.onnx"))
    made += 1
