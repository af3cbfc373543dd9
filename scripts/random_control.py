"""Writes random models with functions, Ifs, loops, scans, sequences and optionals as cases for
restride conform, with the outputs of ONNX Runtime, and says how many of them that refuses.

    python3 scripts/random_control.py DIR COUNT SEED
"""

import os
import random
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def tensor(name, elem=FLOAT, rank=None):
    dims = None if rank is None else [None] * rank
    return helper.make_tensor_value_info(name, elem, dims)


def sequence(name, elem=FLOAT):
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(elem, None)))


class Names:
    def __init__(self):
        self.count = 0

    def __call__(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"


class Graph:
    """A graph in the making: values by kind, each with its rank or, of ints, its length."""

    def __init__(self, r, names, functions, depth, around=None):
        self.r, self.names, self.functions, self.depth = r, names, functions, depth
        self.nodes, self.inits = [], []
        self.floats = list(around.floats) if around else []
        self.ints = list(around.ints) if around else []
        self.sequences = list(around.sequences) if around else []

    def const(self, values, dims=None):
        name = self.names("k")
        value = np.array(values, dtype=np.int64)
        if dims is not None:
            value = value.reshape(dims)
        if self.r.random() < 0.5:
            self.inits.append(numpy_helper.from_array(value, name))
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        return name

    def flag(self, value):
        name = self.names("b")
        self.inits.append(numpy_helper.from_array(np.array(value), name))
        return name

    def add(self, op, inputs, n=1, domain="", **attrs):
        outs = [self.names("v") for _ in range(n)]
        self.nodes.append(helper.make_node(op, inputs, outs, domain=domain, **attrs))
        return outs[0] if n == 1 else outs

    def keeps_rank(self, x, rank):
        """A float of the same rank."""
        r = self.r
        kind = r.randrange(6)
        if kind == 0 and rank:
            return self.add("Transpose", [x], perm=r.sample(range(rank), rank))
        if kind == 1 and rank:
            return self.add("Concat", [x, x], axis=r.randrange(-rank, rank))
        if kind == 2 and rank:
            axis = r.randrange(rank)
            return self.add("Slice", [x, self.const([0]), self.const([r.randrange(1, 4)]), self.const([axis])])
        if kind == 3 and rank:
            axis = r.randrange(rank)
            return self.add("Slice", [x, self.const([-1]), self.const([-(1 << 40)]), self.const([axis]), self.const([-1])])
        if kind == 4 and self.functions:
            f = r.choice(self.functions)
            return self.add(f, [x], domain="local", **({"axis": r.randrange(max(rank, 1))} if r.random() < 0.5 else {}))
        return self.add("Identity", [x])

    def any_float(self):
        return self.r.choice(self.floats)

    def statement(self):
        r = self.r
        x, rank = self.any_float()
        kind = r.randrange(14 if self.depth < 2 else 9)
        if kind == 0:
            self.floats.append((self.add("Unsqueeze", [x, self.const([0])]), rank + 1)) if rank < 5 else None
        elif kind == 1:
            self.floats.append((self.add("Flatten", [x], axis=r.randrange(0, rank + 1)), 2))
        elif kind == 2:
            self.floats.append((self.add("Reshape", [x, self.const([-1])]), 1))
        elif kind == 3:
            self.ints.append((self.add("Shape", [x]), rank))
        elif kind == 4 and rank:
            at = self.const(r.choice([0, -1]), [])
            self.floats.append((self.add("Gather", [x, at], axis=r.randrange(rank)), rank - 1))
        elif kind == 5 and self.ints:
            a, n = r.choice(self.ints)
            self.ints.append((self.add(r.choice(["Add", "Mul"]), [a, self.const([r.randrange(1, 3)])]), max(n, 1) if n != 0 else 0))
        elif kind == 6:
            self.sequence_statement(x, rank)
        elif kind == 7:
            o = self.add("Optional", [x])
            self.floats.append((self.add("OptionalGetElement", [o]), rank))
        elif kind == 9:
            self.branch()
        elif kind in (10, 11):
            self.loop()
        elif kind == 12:
            self.scan()
        elif kind == 13 and self.sequences:
            self.map()
        else:
            self.floats.append((self.keeps_rank(x, rank), rank))

    def sequence_statement(self, x, rank):
        r = self.r
        kind = r.randrange(7)
        if kind == 0 or not self.sequences:
            self.sequences.append((self.add("SequenceConstruct", [x, x]), rank, 2))
            return
        s, of, n = r.choice(self.sequences)
        if kind == 1 and of == rank:
            at = [self.const(r.randrange(-n, n + 1), [])] if r.random() < 0.7 else []
            self.sequences.append((self.add("SequenceInsert", [s, x] + at), of, n + 1))
        elif kind == 2 and n > 1:
            at = [self.const(r.randrange(-n, n), [])] if r.random() < 0.7 else []
            self.sequences.append((self.add("SequenceErase", [s] + at), of, n - 1))
        elif kind == 3:
            self.floats.append((self.add("SequenceAt", [s, self.const(r.randrange(-n, n), [])]), of))
        elif kind == 4 and rank:
            keep = r.randrange(2)
            split = self.add("SplitToSequence", [x], axis=r.randrange(-rank, rank), keepdims=keep)
            self.sequences.append((split, rank - 1 + keep, 1))  # at least
        elif kind == 5:
            i = self.add("SequenceLength", [s])
            self.ints.append((self.add("Unsqueeze", [i, self.const([0])]), 1))
        else:
            y = self.add("SequenceAt", [s, self.const(0, [])])
            self.floats.append((self.add("ConcatFromSequence", [self.add("SequenceConstruct", [y, y])], axis=0, new_axis=1), of + 1))

    def body(self, around=True):
        g = Graph(self.r, self.names, self.functions, self.depth + 1, self if around else None)
        return g

    def fill(self, n):
        for _ in range(n):
            self.statement()

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, outputs, initializer=self.inits)

    def condition(self):
        r = self.r
        if self.ints and r.random() < 0.5:
            a, n = r.choice(self.ints)
            if n:
                one = self.add("Gather", [a, self.const(0, [])], axis=0)
                return self.add("Less", [one, self.const(r.randrange(1, 4), [])])
        return self.flag(r.random() < 0.5) if r.random() < 0.7 else "flag"

    def branch(self):
        x, rank = self.any_float()
        bodies = []
        for _ in range(2):
            g = self.body()
            g.fill(self.r.randrange(3))
            y = g.keeps_rank(x, rank)
            shape = g.add("Shape", [y])
            bodies.append(g.graph(self.names("g"), [], [tensor(y), tensor(shape, INT64)]))
        y, shape = self.add("If", [self.condition()], 2, then_branch=bodies[0], else_branch=bodies[1])
        self.floats.append((y, rank))
        self.ints.append((shape, rank))

    def loop(self):
        r = self.r
        x, rank = self.any_float()
        g = self.body()
        i, cond, state, count, items = (self.names("p") for _ in range(5))
        g.floats.append((state, rank))
        g.fill(r.randrange(3))
        nxt = g.keeps_rank(state, rank)
        # Some number that is carried on, and a condition of it.
        more = g.add("Add", [count, g.const([r.randrange(1, 3)])])
        on = g.add("Identity", [cond])
        # Without a condition, the text ignores the body's, and ONNX Runtime does not.
        conditional = r.random() < 0.7
        if conditional and r.random() < 0.5:
            on = g.add("Squeeze", [g.add("Less", [more, g.const([r.randrange(2, 6)])])])
        kept = g.add("SequenceInsert", [items, state])
        seen = g.add("Unsqueeze", [i, g.const([0])]) if r.random() < 0.5 else g.add("Concat", [more, count], axis=0)
        outs = [tensor(on, TensorProto.BOOL), tensor(nxt), tensor(more, INT64), sequence(kept), tensor(seen, INT64)]
        outer = r.choice(self.floats)
        picked = g.add("Identity", [outer[0]])
        outs.append(tensor(picked))
        ins = [tensor(i, INT64, 0), tensor(cond, TensorProto.BOOL, 0), tensor(state), tensor(count, INT64), sequence(items)]
        start = self.const([0]) if r.random() < 0.5 or not self.ints else self.add(
            "Slice", [self.add("Concat", [r.choice(self.ints)[0], self.const([1])], axis=0), self.const([0]), self.const([1])])
        trips = self.const(r.randrange(1, 4), []) if r.random() < 0.8 else self.const([r.randrange(1, 4)])
        given = [trips, self.flag(r.random() < 0.9) if conditional else "", x, start, self.add("SequenceEmpty", [])]
        y, n, s, counts, all_outer = self.add("Loop", given, 5, body=g.graph(self.names("g"), ins, outs))
        self.floats += [(y, rank), (all_outer, outer[1] + 1)]
        self.ints.append((n, 1))
        self.ints.append((self.add("Reshape", [counts, self.const([-1])]), 1))
        self.sequences.append((s, rank, 1))

    def scan(self):
        r = self.r
        x, rank = self.any_float()
        if not rank:
            return
        g = self.body()
        state, piece = self.names("p"), self.names("p")
        other, of = self.any_float()
        g.floats += [(state, of), (piece, rank - 1)]
        nxt = g.add("Transpose", [state], perm=list(range(of))) if of else g.add("Identity", [state])
        out = g.add("Transpose", [piece]) if r.random() < 0.5 else g.add("Identity", [piece])
        attrs = {"num_scan_inputs": 1}
        if r.random() < 0.7:
            attrs["scan_input_axes"] = [r.randrange(-rank, rank)]
        if r.random() < 0.5:
            attrs["scan_input_directions"] = [r.randrange(2)]
        if r.random() < 0.5:
            attrs["scan_output_axes"] = [r.randrange(-rank, rank)]
        if r.random() < 0.5:
            attrs["scan_output_directions"] = [r.randrange(2)]
        body = g.graph(self.names("g"), [tensor(state, FLOAT, of), tensor(piece, FLOAT, rank - 1)], [tensor(nxt, FLOAT, of), tensor(out, FLOAT, rank - 1)])
        y, z = self.add("Scan", [other, x], 2, body=body, **attrs)
        self.floats += [(y, of), (z, rank)]

    def map(self):
        s, of, n = self.r.choice(self.sequences)
        g = Graph(self.r, self.names, self.functions, self.depth + 1)
        item = self.names("p")
        out = g.keeps_rank(item, of)
        body = g.graph(self.names("g"), [tensor(item)], [tensor(out)])
        self.sequences.append((self.add("SequenceMap", [s], body=body), of, n))


def function(r, names, name, others, opset):
    g = Graph(r, names, others, 3)
    y = "x"
    for _ in range(r.randrange(1, 4)):
        if others and r.random() < 0.4:
            node = helper.make_node(r.choice(others), [y], [names("f")], domain="local")
            if r.random() < 0.5:
                a = node.attribute.add()
                a.name, a.ref_attr_name, a.type = "axis", "axis", onnx.AttributeProto.INT
        elif r.random() < 0.3:
            node = helper.make_node("Flatten", [y], [names("f")])
            shape = helper.make_node("Shape", [y], [names("f")])
            g.nodes += [shape, helper.make_node("Reshape", [y, shape.output[0]], [names("f")])]
            y = g.nodes[-1].output[0]
            continue
        else:
            a, b = names("f"), names("f")
            g.nodes.append(helper.make_node("Identity", [y], [a]))
            node = helper.make_node("Identity", [a], [b])
        g.nodes.append(node)
        y = g.nodes[-1].output[0]
    if r.random() < 0.5:
        out = names("f")
        node = helper.make_node("Concat", [y, y], [out])
        a = node.attribute.add()
        a.name, a.ref_attr_name, a.type = "axis", "axis", onnx.AttributeProto.INT
        # Scalars cannot be joined: a Reshape to at least one axis, and back, would hide that.
        g.nodes.append(helper.make_node("Identity", [y], [out]))
        y = out
    g.nodes.append(helper.make_node("Identity", [y], ["y"]))
    return helper.make_function("local", name, ["x"], ["y"], g.nodes, [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)],
                                attributes=[], attribute_protos=[helper.make_attribute("axis", 0)])


def model(seed):
    r, names = random.Random(seed), Names()
    functions, made = [], []
    for i in range(r.randrange(4)):
        made.append(function(r, names, f"F{i}", list(functions), OPSET))
        functions.append(f"F{i}")
    g = Graph(r, names, functions, 0)
    shapes = [[r.randrange(1, 4) for _ in range(r.randrange(1, 4))] for _ in range(2)]
    for i, shape in enumerate(shapes):
        g.floats.append((f"x{i}", len(shape)))
    g.fill(r.randrange(3, 9))
    outs = [tensor(n) for n, _ in g.floats[2:]] + [tensor(n, INT64) for n, _ in g.ints] + [sequence(n) for n, _, _ in g.sequences]
    outs += [tensor(g.add("Identity", ["x0"]))]
    ins = [tensor(f"x{i}", FLOAT, len(s)) for i, s in enumerate(shapes)] + [tensor("flag", TensorProto.BOOL, 0)]
    m = helper.make_model(g.graph("g", ins, outs), opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)],
                          functions=made, ir_version=9)
    count = iter(range(1, 1 << 20))
    values = {f"x{i}": np.array([next(count) for _ in range(int(np.prod(s)))], dtype=np.float32).reshape(s) for i, s in enumerate(shapes)}
    values["flag"] = np.array(r.random() < 0.5)
    return m, values


def expected(m, values):
    """The outputs of ONNX Runtime, or why it has none."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, values), None
    except Exception as e:  # noqa: BLE001: its refusals have many types
        return None, str(e).splitlines()[0][:100]


def write(path, m, values, outs):
    os.makedirs(f"{path}/test_data_set_0", exist_ok=True)
    onnx.save(m, f"{path}/model.onnx")
    for i, v in enumerate(m.graph.input):
        with open(f"{path}/test_data_set_0/input_{i}.pb", "wb") as f:
            f.write(numpy_helper.from_array(values[v.name], v.name).SerializeToString())
    for i, (v, y) in enumerate(zip(m.graph.output, outs)):
        with open(f"{path}/test_data_set_0/output_{i}.pb", "wb") as f:
            if v.type.HasField("sequence_type"):
                f.write(numpy_helper.from_list([np.asarray(a) for a in y], v.name).SerializeToString())
            else:
                f.write(numpy_helper.from_array(np.asarray(y), v.name).SerializeToString())


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    refused = {}
    for i in range(count):
        m, values = model(seed + i)
        outs, why = expected(m, values)
        if why:
            refused[why] = refused.get(why, 0) + 1
        else:
            write(f"{folder}/{seed + i}", m, values, outs)
    print(f"{count} models; ONNX Runtime refuses {sum(refused.values())}")
    for why, n in sorted(refused.items()):
        print(f"{n:6d} {why}")
    if 10 * sum(refused.values()) > count:
        sys.exit("ONNX Runtime refuses too many of them")


main()
