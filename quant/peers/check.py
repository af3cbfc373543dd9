"""Compares restride repack with other packages, on random weights:

    check.py RESTRIDE [DEVICE]

gguf           the numbers of every type of blocks; blocks that repack writes, and those
               that numbers become
onnxruntime    MatMulNBits on the identity
compressed_tensors, torchao
               their own packing, with PyTorch

What cannot be imported is skipped, by name. All must agree to the last bit.
"""
import importlib.util, json, os, struct, subprocess, sys, tempfile

import numpy as np

restride, device = sys.argv[1], (sys.argv + ["cpu"])[2]
rng = np.random.default_rng(18)
names = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1", "I8": "i1"}
blocks = "gguf", "q4_0", "q8_0", "mxfp4"  # what becomes a GGUF file
failed = []


def write(path, tensors):
    """A safetensors file."""
    header, at = {}, 0
    for name, x in tensors.items():
        kind = next(k for k, v in names.items() if np.dtype(v) == x.dtype)
        header[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            f.write(np.ascontiguousarray(x).tobytes())


def read(path):
    with open(path, "rb") as f:
        b = f.read()
    n = struct.unpack("<Q", b[:8])[0]
    out = {}
    for name, x in json.loads(b[8 : 8 + n]).items():
        if name != "__metadata__":
            begin, end = x["data_offsets"]
            out[name] = np.frombuffer(b[8 + n + begin : 8 + n + end], names[x["dtype"]]).reshape(x["shape"])
    return out


def repack(source, to, folder, origin=None, config=None):
    """The tensors, or the GGUF file, that repack makes of a file or of tensors."""
    if not isinstance(source, str):
        path = os.path.join(folder, "source.safetensors")
        write(path, source)
        source = path
    config_path = os.path.join(os.path.dirname(source), "config.json")
    if config:
        with open(config_path, "w") as f:
            json.dump({"quantization_config": config}, f)
    elif os.path.exists(config_path):
        os.remove(config_path)
    out = os.path.join(tempfile.mkdtemp(dir=folder), "out.gguf" if to in blocks else "out.safetensors")
    subprocess.run([restride, "repack", source, "--to", to, "--output", out, "--device", device] + (["--from", origin] if origin else []),
                   check=True, stdout=subprocess.DEVNULL)
    return out if to in blocks else read(out)


def agree(what, a, b):
    same = a.shape == b.shape and a.tobytes() == b.tobytes()
    if not same:
        failed.append(what)
        print(f"{what}: {np.count_nonzero(a.ravel() != b.ravel()) if a.shape == b.shape else (a.shape, b.shape)} differ")
    return same


class GPTQ:
    """A weight as GPTQModel writes it."""

    def __init__(self, n, k, group, bits=4, zeros=True):
        self.codes = rng.integers(0, 1 << bits, (k, n), np.uint32)
        self.zeros = rng.integers(0, 1 << bits, (k // group, n), np.uint32) if zeros else np.full((k // group, n), 1 << bits - 1, np.uint32)
        self.scales = (rng.random((k // group, n)) * 0.1 + 0.01).astype(np.float16)
        self.config = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": False, "sym": not zeros, "checkpoint_format": "gptq_v2"}
        per, groups = 32 // bits, np.arange(k) // group
        self.tensors = {
            "p.qweight": sum(self.codes[i::per] << np.uint32(bits * i) for i in range(per)).view(np.int32),
            "p.qzeros": sum(self.zeros[:, i::per] << np.uint32(bits * i) for i in range(per)).view(np.int32),
            "p.scales": self.scales,
            "p.g_idx": groups.astype(np.int32),
        }
        self.numbers = np.ascontiguousarray(((self.codes.astype(np.float32) - self.zeros.astype(np.float32)[groups]) * self.scales.astype(np.float32)[groups]).T)


def check_gguf(folder):
    import gguf

    halves = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2],
              "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": []}
    checked = 0
    for name, at in halves.items():
        if not hasattr(gguf.GGMLQuantizationType, name):
            print(f"gguf: {name} is skipped: this gguf-py does not know it")
            continue
        kind = gguf.GGMLQuantizationType[name]
        block, size = gguf.GGML_QUANT_SIZES[kind]
        rows, columns = 6, 1024
        b = rng.integers(0, 256, (rows * columns // block, size), np.uint8)
        for i in at:
            b[:, i : i + 2] = (rng.standard_normal(len(b)) * 0.1).astype(np.float16).view(np.uint8).reshape(-1, 2)
        if name == "MXFP4":
            b[:, 0] = rng.integers(100, 150, len(b))
        if name == "NVFP4":
            b[:, :4] = rng.integers(1, 127, (len(b), 4))
        path = os.path.join(folder, "source.gguf")
        w = gguf.GGUFWriter(path, "test")
        w.add_tensor("blk.0.ffn_up.weight", b.reshape(rows, -1), raw_dtype=kind)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        try:
            got = repack(path, "float32", folder)
        except subprocess.CalledProcessError:
            failed.append(f"gguf, {name}")
            continue
        want = gguf.quants.dequantize(b.reshape(rows, -1), kind).astype(np.float32)
        checked += agree(f"gguf, {name}", got["blk.0.ffn_up.weight"], want)
    x = GPTQ(64, 256, 64, zeros=False)
    t = gguf.GGUFReader(repack(x.tensors, "gguf", folder, config=x.config)).tensors[0]
    checked += agree("gguf, written Q4_0", gguf.quants.dequantize(np.asarray(t.data), t.tensor_type), x.numbers)
    return f"{checked} weights"


def check_gguf_quantize(folder):
    """Numbers that become blocks: random ones, zeros, and some just below powers of two."""
    import gguf

    checked = 0
    x = (rng.standard_normal((96, 256)) * np.exp2(rng.integers(-30, 15, (96, 1)))).astype(np.float32)
    x[0], x[1, :32] = 0, -0.0
    for i in range(2, 40):
        x[i, i] = np.nextafter(np.float32(2.0 ** (4 * i - 90)), np.float32(0)) * np.float32(1 if i % 2 else -1)
    for kind in np.float32, np.float16:
        y = np.clip(x, -60000, 60000).astype(kind)
        for name in "q4_0", "q8_0", "mxfp4":
            t = gguf.GGUFReader(repack({"p.weight": y}, name, folder, origin="float")).tensors[0]
            with np.errstate(all="ignore"):
                want = gguf.quants.quantize(y.astype(np.float32), gguf.GGMLQuantizationType[name.upper()])
            checked += agree(f"gguf, {kind.__name__} to {name}", np.asarray(t.data), want)
    return f"{checked} weights made of numbers"


def check_onnxruntime(folder):
    import onnx
    import onnxruntime as ort

    checked = 0
    for bits, zeros in (4, True), (4, False), (8, True):
        n, k, group = 48, 256, 32
        x = GPTQ(n, k, group, bits, zeros)
        got = repack(x.tensors, "matmulnbits", folder, config=x.config)
        inputs = {"A": np.eye(k, dtype=np.float32), "B": got["p.B"], "scales": got["p.scales"].astype(np.float32)}
        if zeros:
            inputs["zero_points"] = got["p.zero_points"].reshape(-1)
        node = onnx.helper.make_node("MatMulNBits", list(inputs), ["Y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=group)
        values = [onnx.helper.make_tensor_value_info(i, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for i, v in inputs.items()]
        graph = onnx.helper.make_graph([node], "g", values[:1], [onnx.helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, [k, n])],
                                       [onnx.numpy_helper.from_array(v, i) for i, v in list(inputs.items())[1:]])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)], ir_version=10)
        try:
            session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        except Exception as e:  # of a release without kernels for these bits
            print(f"onnxruntime: {bits} bits are skipped: {str(e)[:80]}")
            continue
        y = session.run(None, {"A": inputs["A"]})[0]
        checked += agree(f"onnxruntime, {bits} bits", np.ascontiguousarray(y.T) + 0.0, x.numbers + 0.0)
    return f"MatMulNBits of ONNX Runtime {ort.__version__} on {checked} weights"


def module(package, path):
    """A module of a package that is installed without what its other modules import."""
    root = importlib.util.find_spec(package)
    if root is None:
        raise ImportError(f"no module named {package}")
    spec = importlib.util.spec_from_file_location("peer", os.path.join(os.path.dirname(root.origin), path))
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def check_compressed_tensors(folder):
    import torch

    helpers = module("compressed_tensors", "compressors/pack_quantized/helpers.py")
    checked = 0
    for bits in 4, 8:
        x = GPTQ(64, 256, 32, bits, zeros=False)
        got = repack(x.tensors, "compressed-tensors", folder, config=x.config)
        values = x.codes.T.astype(np.int16) - (1 << bits - 1)
        packed = helpers.pack_to_int32(torch.from_numpy(values.astype(np.int8)), bits).numpy()
        checked += agree(f"compressed-tensors, {bits} bits", got["p.weight_packed"], packed)
        x = GPTQ(64, 256, 32, bits)
        got = repack(x.tensors, "compressed-tensors", folder, config=x.config)
        values = torch.from_numpy((x.zeros.T.astype(np.int16) - (1 << bits - 1)).astype(np.int8))
        checked += agree(f"compressed-tensors, zero points of {bits} bits", got["p.weight_zero_point"], helpers.pack_to_int32(values, bits, packed_dim=0).numpy())
        checked += agree("compressed-tensors, shape", got["p.weight_shape"], np.array([64, 256], np.int64))
    return f"{checked} tensors"


def check_torchao(folder):
    import torch
    from torchao.prototype.mx_formats.utils import to_blocked

    checked = 0
    for rows, columns in (200, 10), (256, 16), (1, 1):
        x = rng.integers(0, 256, (rows, columns), np.uint8)
        got = repack({"p.weight_scale": x}, "tiles128x4", folder, origin="scales")
        checked += agree(f"torchao, tiles of {rows}x{columns}", got["p.weight_scale"], to_blocked(torch.from_numpy(x)).numpy().reshape(-1))
    return f"{checked} tiled scales"


with tempfile.TemporaryDirectory() as folder:
    for name, check in ("gguf", check_gguf), ("gguf, quantize", check_gguf_quantize), ("onnxruntime", check_onnxruntime), ("compressed-tensors", check_compressed_tensors), ("torchao", check_torchao):
        try:
            print(f"{name}: {check(folder)} agree")
        except ImportError as e:
            print(f"{name}: skipped: {e}")
if failed:
    sys.exit("not the same: " + ", ".join(failed))
