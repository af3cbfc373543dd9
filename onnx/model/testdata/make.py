"""Writes the fixtures in this folder with ONNX's own Python package (1.23.2).

python3 make.py
"""
import json
import os

import ml_dtypes  # noqa: F401  (makes numpy know ONNX's small types)
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)


def canonical(array, data_type):
    """The packed little-endian bytes, by numpy and not through a TensorProto."""
    flat = array.ravel()
    if data_type in (TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1):
        width = 4
    elif data_type in (TensorProto.INT2, TensorProto.UINT2):
        width = 2
    else:
        return flat.tobytes()
    bits = 0
    for i, v in enumerate(flat.view(np.uint8).tolist()):
        bits |= (v & ((1 << width) - 1)) << (i * width)
    return bits.to_bytes((flat.size * width + 7) // 8, "little")


def values(data_type, count):
    np_type = helper.tensor_dtype_to_np_dtype(data_type)
    name = TensorProto.DataType.Name(data_type)
    if data_type == TensorProto.BOOL:
        return np.array([i % 3 == 0 for i in range(count)], dtype=bool)
    if data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        return np.array([complex(i + 0.5, -i) for i in range(count)], dtype=np_type)
    if name.startswith("UINT") or name == "FLOAT8E8M0":
        if name == "FLOAT8E8M0":
            return np.array([2.0**i for i in range(count)], dtype=np.float32).astype(np_type)
        top = int(ml_dtypes.iinfo(np_type).max)
        return np.array([(top - i) % (top + 1) for i in range(count)]).astype(np_type)
    if name.startswith("INT"):
        info = ml_dtypes.iinfo(np_type)
        low, span = int(info.min), int(info.max) - int(info.min) + 1
        return np.array([low + i % span if i % 2 else -1 for i in range(count)]).astype(np_type)
    return np.array([(-1) ** i * (0.5 * i) for i in range(count)], dtype=np.float32).astype(np_type)


def tensors():
    cases = []
    for data_type in range(1, 27):
        name = TensorProto.DataType.Name(data_type)
        for dims in ([], [5], [3, 3], [0, 2]):
            count = int(np.prod(dims, dtype=np.int64))
            case = {"type": data_type, "dims": dims}
            if data_type == TensorProto.STRING:
                strings = ["", "a", "déjà", "\x00b", "c", "d", "e", "f", "g"][:count]
                t = helper.make_tensor(name, data_type, dims, strings)
                cases.append({**case, "encoding": "typed", "pb": t.SerializeToString().hex(), "strings": strings})
                continue
            array = values(data_type, count).reshape(dims)
            case["data"] = canonical(array, data_type).hex()
            raw = numpy_helper.from_array(array, name)
            assert raw.data_type == data_type, (raw.data_type, data_type)
            typed = helper.make_tensor(name, data_type, dims, array.ravel())
            cases.append({**case, "encoding": "raw", "pb": raw.SerializeToString().hex()})
            cases.append({**case, "encoding": "typed", "pb": typed.SerializeToString().hex()})
    with open("tensors.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


def model():
    f32 = TensorProto.FLOAT
    inner = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["inner_y"])],
        "inner",
        [],
        [helper.make_tensor_value_info("inner_y", f32, None)],
        [helper.make_tensor("inner_c", TensorProto.INT64, [2], [7, -7])],
    )
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("v", f32, [1], [9]), helper.make_tensor("i", TensorProto.INT64, [1], [3]), [8])
    node = helper.make_node(
        "Everything", ["x", "", "shape"], ["y"], name="all", domain="test.domain", overload="o",
        f=1.5, i=-3, s="text", t=helper.make_tensor("t", f32, [2], [1, 2]), g=inner,
        floats=[0.5, -0.5], ints=[1, -1], strings=["a", "b"],
        tensors=[helper.make_tensor("u", TensorProto.INT8, [1], [-5])], graphs=[inner],
        tp=helper.make_tensor_type_proto(f32, [1]), tps=[helper.make_tensor_type_proto(f32, [])],
        sparse=sparse,
        doc_string="a node",
    )
    node.attribute.append(helper.make_attribute("empty", [], attr_type=onnx.AttributeProto.INTS))
    node.attribute.append(helper.make_attribute("sparses", [sparse]))
    call = helper.make_node("Twice", ["y"], ["z"], domain="own", k=2)
    body = helper.make_node("Reshape", ["a", "a"], ["b"])
    body.attribute.append(onnx.AttributeProto(name="allowzero", type=onnx.AttributeProto.INT, ref_attr_name="k"))
    function = helper.make_function("own", "Twice", ["a"], ["b"], [body], [helper.make_opsetid("", 21)], ["k"])
    graph = helper.make_graph(
        [node, call], "main",
        [helper.make_tensor_value_info("x", f32, [2, "N", None]),
         helper.make_tensor_sequence_value_info("seq", f32, None),
         helper.make_value_info("opt", helper.make_optional_type_proto(
             helper.make_sequence_type_proto(helper.make_tensor_type_proto(f32, [])))),
         helper.make_value_info("map", helper.make_map_type_proto(
             TensorProto.STRING, helper.make_tensor_type_proto(f32, [1])))],
        [helper.make_tensor_value_info("z", f32, None)],
        [helper.make_tensor("shape", TensorProto.INT64, [2], [2, -1])],
        doc_string="a graph",
        value_info=[helper.make_tensor_value_info("y", f32, [])],
    )
    m = helper.make_model(
        graph, producer_name="make.py", producer_version="1", ir_version=10, functions=[function],
        opset_imports=[helper.make_opsetid("ai.onnx", 21), helper.make_opsetid("test.domain", 3),
                       helper.make_opsetid("own", 1)],
        doc_string="a model", model_version=4,
    )
    helper.set_model_props(m, {"key": "value"})
    training = m.training_info.add()
    training.algorithm.CopyFrom(inner)
    with open("model.onnx", "wb") as f:
        f.write(m.SerializeToString())


def external():
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["c"])], "main",
        [], [helper.make_tensor_value_info("c", TensorProto.INT16, [600])],
        [numpy_helper.from_array(np.arange(600, dtype=np.int16), "a"),
         numpy_helper.from_array(np.arange(600, 0, -1, dtype=np.int16), "b")],
    )
    m = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    if os.path.exists("external.data"):
        os.remove("external.data")
    onnx.save(m, "external.onnx", save_as_external_data=True, location="external.data", size_threshold=100)


def data_values():
    a, b = np.array([1, 2], np.float32), np.array([[3]], np.float32)
    out = {
        "sequence": numpy_helper.from_list([a, b], "s"),
        "empty": numpy_helper.from_list([], "s"),
        "nested": numpy_helper.from_list([[a], [b, a]], "s"),
        "none": numpy_helper.from_optional(None, "o"),
        "some": numpy_helper.from_optional(a, "o"),
        "list": numpy_helper.from_optional([a, b], "o"),
    }
    with open("values.json", "w") as f:
        json.dump({k: v.SerializeToString().hex() for k, v in out.items()}, f, indent=1)
        f.write("\n")


tensors()
model()
external()
data_values()
