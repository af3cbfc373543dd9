"""Writes random models with functions, Ifs, loops, scans, sequences and optionals as cases for
restride conform, with the outputs of ONNX Runtime, and says how many of them that refuses.

    python3 scripts/random_control.py DIR COUNT SEED
"""

import os
import pickle
import random
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

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

    def __init__(self, r, names, opset, functions, depth, around=None):
        self.r, self.names, self.opset, self.functions, self.depth = r, names, opset, functions, depth
        self.nodes, self.inits = [], []
        self.floats = list(around.floats) if around else []
        self.ints = list(around.ints) if around else []
        self.sequences = list(around.sequences) if around else []
        self.flags = list(around.flags) if around else []

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

    def unsqueeze(self, x):
        """x with a new first axis."""
        return self.add("Unsqueeze", [x, self.const([0])]) if self.opset >= 13 else self.add("Unsqueeze", [x], axes=[0])

    def call(self, x, rank):
        """A float of the same rank, made by a function of two inputs and two outputs, both of which may be left out."""
        r = self.r
        f = r.choice(self.functions)
        attrs = {}
        if r.random() < 0.5:
            attrs["axis"] = r.randrange(max(rank, 1))
        if rank and r.random() < 0.5:
            attrs["perm"] = r.sample(range(rank), rank)
        inputs = [x] + r.choice([[], [""], [r.choice(self.floats or [(x, rank)])[0]]])
        # ONNX Runtime fails for calls with fewer outputs, but not for outputs without a name.
        y, shape = self.add(f, inputs, 2, domain="local", **attrs)
        left = r.randrange(4)
        if left < 2:
            self.nodes[-1].output[left] = ""
        if left != 1:
            self.ints.append((shape, rank))
        return y if left else self.add("Identity", [x])

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
            return self.call(x, rank)
        return self.add("Identity", [x])

    def any_float(self):
        return self.r.choice(self.floats)

    def statement(self):
        r = self.r
        x, rank = self.any_float()
        kind = r.randrange(14 if self.depth < 2 else 9)
        if kind == 0:
            self.floats.append((self.unsqueeze(x), rank + 1)) if rank < 5 else None
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
        elif kind == 7 and self.opset >= 15:
            self.optional(x, rank)
        elif kind == 9:
            self.branch()
        elif kind in (10, 11):
            self.loop()
        elif kind == 12:
            self.scan()
        elif kind == 13 and self.sequences and self.opset >= 17:
            self.map()
        else:
            self.floats.append((self.keeps_rank(x, rank), rank))

    def optional(self, x, rank):
        """An optional of a float or a sequence, and what is in it."""
        if self.sequences and self.r.random() < 0.5:
            s, of, n = self.r.choice(self.sequences)
            o = self.add("Optional", [s])
            self.sequences.append((self.add("OptionalGetElement", [o]), of, n))
        else:
            o = self.add("Optional", [x])
            self.floats.append((self.add("OptionalGetElement", [o]), rank))
        self.flags.append(self.add("OptionalHasElement", [o]))

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
            self.ints.append((self.unsqueeze(i), 1))
        else:
            y = self.add("SequenceAt", [s, self.const(0, [])])
            self.floats.append((self.add("ConcatFromSequence", [self.add("SequenceConstruct", [y, y])], axis=0, new_axis=1), of + 1))

    def body(self, around=True):
        return Graph(self.r, self.names, self.opset, self.functions, self.depth + 1, self if around else None)

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
        return self.flag(r.random() < 0.5) if r.random() < 0.5 else r.choice(self.flags)

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
        alone = r.random() < 0.5
        seen = g.unsqueeze(i) if alone else g.add("Concat", [more, count], axis=0)
        outs = [tensor(on, TensorProto.BOOL), tensor(nxt), tensor(more, INT64)]
        ins = [tensor(i, INT64, 0), tensor(cond, TensorProto.BOOL, 0), tensor(state), tensor(count, INT64)]
        sequences = self.opset >= 13
        if sequences:
            ins.append(sequence(items))
            outs.append(sequence(g.add("SequenceInsert", [items, state])))
        # Without iterations the extents are 0: those of an input are not known to ONNX Runtime either.
        begins = r.random() < 0.9
        outer = r.choice(self.floats) if begins or not conditional else self.floats[0]
        picked = g.add("Identity", [outer[0]])
        outs += [helper.make_tensor_value_info(seen, INT64, [1 if alone else 2]), tensor(picked, FLOAT, outer[1])]
        start = self.const([0]) if r.random() < 0.5 or not self.ints else self.add(
            "Slice", [self.add("Concat", [r.choice(self.ints)[0], self.const([1])], axis=0), self.const([0]), self.const([1])])
        trips = self.const(r.randrange(1, 4), []) if r.random() < 0.8 else self.const([r.randrange(1, 4)])
        given = [trips, self.flag(begins) if conditional else "", x, start]
        if sequences:
            given.append(self.add("SequenceEmpty", []))
        y, n, *s, counts, all_outer = self.add("Loop", given, len(outs) - 1, body=g.graph(self.names("g"), ins, outs))
        self.floats += [(y, rank), (all_outer, outer[1] + 1)]
        self.ints.append((n, 1))
        self.ints.append((self.add("Reshape", [counts, self.const([-1])]), 1))
        if sequences:
            self.sequences.append((s[0], rank, 1))

    def scan(self):
        """A Scan of one or two inputs, the second of which is the first turned, and of up to two states."""
        r = self.r
        x, rank = self.any_float()
        if not rank:
            return
        g = self.body()
        n, states = r.randrange(1, 3), [self.any_float() for _ in range(r.randrange(3))]
        ins, outs, made = [], [], []
        for _, of in states:
            state = self.names("p")
            g.floats.append((state, of))
            ins.append(tensor(state, FLOAT, of))
            nxt = g.add("Transpose", [state], perm=list(range(of))) if of else g.add("Identity", [state])
            outs.append(tensor(nxt, FLOAT, of))
        pieces = [self.names("p") for _ in range(n)]
        g.floats += [(piece, rank - 1) for piece in pieces]
        g.fill(r.randrange(2))
        for piece in pieces:
            ins.append(tensor(piece, FLOAT, rank - 1))
            out = g.add("Transpose", [piece]) if r.random() < 0.5 else g.add("Identity", [piece])
            outs.append(tensor(out, FLOAT, rank - 1))
        axis = r.randrange(-rank, rank)
        last = -1 - axis if axis < 0 else rank - 1 - axis  # the same axis of x turned
        attrs = {"num_scan_inputs": n}
        if axis % rank or n > 1:
            attrs["scan_input_axes"] = [axis, last][:n]
        for name in ("scan_input_directions", "scan_output_directions"):
            if r.random() < 0.5:
                attrs[name] = [r.randrange(2) for _ in range(n)]
        if r.random() < 0.5:
            attrs["scan_output_axes"] = [r.randrange(-rank, rank) for _ in range(n)]
        given = [s for s, _ in states] + [x, self.add("Transpose", [x])][:n]
        made = self.add("Scan", given, len(outs), body=g.graph(self.names("g"), ins, outs), **attrs)
        made = [made] if len(outs) == 1 else made
        self.floats += [(y, of) for y, (_, of) in zip(made, states)] + [(z, rank) for z in made[len(states):]]

    def map(self):
        s, of, n = self.r.choice(self.sequences)
        g = Graph(self.r, self.names, self.opset, self.functions, self.depth + 1)
        item = self.names("p")
        out = g.keeps_rank(item, of)
        body = g.graph(self.names("g"), [tensor(item)], [tensor(out)])
        self.sequences.append((self.add("SequenceMap", [s], body=body), of, n))


def refers(node, *names):
    """A node with attributes of the function, each handed on under its own name."""
    kinds = {"axis": onnx.AttributeProto.INT, "perm": onnx.AttributeProto.INTS}
    for name in names:
        a = node.attribute.add()
        a.name, a.ref_attr_name, a.type = name, name, kinds[name]
    return node


def function(r, names, name, others, opset):
    """A function of a float and, perhaps, another, that makes one of the same rank, and its shape."""
    nodes, y = [], "x"

    def add(op, inputs, domain="", refer=(), n=1, **attrs):
        outs = [names("f") for _ in range(n)]
        nodes.append(refers(helper.make_node(op, inputs, outs, domain=domain, **attrs), *refer))
        return outs[0]

    for _ in range(r.randrange(1, 4)):
        kind = r.randrange(5)
        if kind == 0 and others:
            refer = [a for a in ("axis", "perm") if r.random() < 0.5]
            y = add(r.choice(others), [y] + r.choice([[], ["z"]]), "local", refer, n=2)
        elif kind == 1:
            shape = add("Shape", [y])
            y = add("Reshape", [add("Flatten", [y], refer=["axis"] if r.random() < 0.5 else []), shape])
        elif kind == 2:
            y = add("Transpose", [y], refer=["perm"])
        elif kind == 3:  # names in graphs are apart from those around the calls
            size = add("Size", [y])
            few = add("Less", [size, add("Constant", [], value_int=4)]) if opset >= 12 else None
            if few:
                bodies = [helper.make_graph([helper.make_node("Identity", [y], [out])], out, [], [tensor(out)]) for out in ("x0", "v1")]
                y = add("If", [few], then_branch=bodies[0], else_branch=bodies[1])
        else:
            y = add("Identity", [y])
    nodes += [helper.make_node("Identity", [y], ["y"]), helper.make_node("Shape", ["y"], ["shape"])]
    return helper.make_function("local", name, ["x", "z"], ["y", "shape"], nodes, [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)],
                                attributes=["perm"], attribute_protos=[helper.make_attribute("axis", 0)])


def model(seed):
    r, names = random.Random(seed), Names()
    opset = r.randrange(12, 22)
    functions, made = [], []
    for i in range(r.randrange(4)):
        made.append(function(r, names, f"F{i}", list(functions), opset))
        functions.append(f"F{i}")
    g = Graph(r, names, opset, functions, 0)
    shapes = [[r.randrange(1, 4) for _ in range(r.randrange(1, 4))] for _ in range(2)]
    for i, shape in enumerate(shapes):
        g.floats.append((f"x{i}", len(shape)))
    g.flags.append("flag")
    g.fill(r.randrange(3, 9))
    outs = [tensor(n) for n, _ in g.floats[2:]] + [tensor(n, INT64) for n, _ in g.ints] + [sequence(n) for n, _, _ in g.sequences]
    outs += [tensor(g.add("Identity", ["x0"]))]
    ins = [tensor(f"x{i}", FLOAT, len(s)) for i, s in enumerate(shapes)] + [tensor("flag", TensorProto.BOOL, 0)]
    m = helper.make_model(g.graph("g", ins, outs), opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("local", 1)],
                          functions=made, ir_version=9)
    count = iter(range(1, 1 << 20))
    values = {f"x{i}": np.array([next(count) for _ in range(int(np.prod(s)))], dtype=np.float32).reshape(s) for i, s in enumerate(shapes)}
    values["flag"] = np.array(r.random() < 0.5)
    return m, values


def expected(m, values):
    """The outputs of ONNX Runtime, or why it has none. It runs in a process of its own, which some models end."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(write, "wb") as f:
            pickle.dump(outputs(m, values), f)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        answer = f.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(answer) if not status else (None, f"ends its process: {status}")


def outputs(m, values):
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
