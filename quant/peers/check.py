"""Compares restride repack with other packages, on random weights:

    check.py RESTRIDE [DEVICE]

mlx            the numbers of its own codes, and of weights that become MLX's
fp8            the numbers of FP8 with every kind of scales, by numpy
gguf           the numbers of every type of blocks; blocks that repack writes, and those
               that numbers become
onnxruntime    MatMulNBits on the identity
compressed_tensors, torchao
               their own packing, with PyTorch
bitsandbytes, hqq
               the numbers of checkpoints as these write them, by the same arithmetic in
               numpy; of bitsandbytes also its own, where it is installed

What cannot be imported is skipped, by name; where RESTRIDE_REQUIRE names peers, numpy,
gguf, onnx and onnxruntime must be there. All must agree to the last bit.
"""
import importlib, importlib.util, json, os, struct, subprocess, sys, tempfile

if "peers" in os.environ.get("RESTRIDE_REQUIRE", "").split(","):
    for package in "numpy", "gguf", "onnx", "onnxruntime":
        try:
            importlib.import_module(package)
        except ImportError as e:
            sys.exit(f"RESTRIDE_REQUIRE names peers, but: {e}")

import numpy as np

restride, device = sys.argv[1], (sys.argv + ["cpu"])[2]
rng = np.random.default_rng(18)
names = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1", "I8": "i1", "BF16": "<u2", "U32": "<u4"}
try:
    import ml_dtypes

    names |= {"F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2}
except ImportError:
    pass
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
              "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": [],
              "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ1_M": []}
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
        if name == "IQ1_M":  # a scale whose bits are in four places
            d = (rng.standard_normal(len(b)) * 0.1).astype(np.float16).view(np.uint16)
            for i in range(4):
                b[:, 49 + 2 * i] = b[:, 49 + 2 * i] & 15 | (d >> 4 * i & 15).astype(np.uint8) << 4
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


def check_mlx(folder):
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    checked = 0
    for bits in 2, 3, 4, 5, 6, 8:
        for group in 32, 64, 128:
            w = mx.array(rng.standard_normal((48, 256)).astype(np.float16))
            q, s, b = mx.quantize(w, group_size=group, bits=bits)
            want = np.array(mx.dequantize(q, s.astype(mx.float32), b.astype(mx.float32), group_size=group, bits=bits))
            tensors = {"p.weight": np.array(q), "p.scales": np.array(s), "p.biases": np.array(b)}
            got = repack(tensors, "float32", folder, config={"group_size": group, "bits": bits})
            checked += agree(f"mlx, {bits} bits in groups of {group}", got["p.weight"], want)
    for bits, zeros in (4, False), (4, True), (8, False):
        x = GPTQ(64, 256, 64, bits, zeros)
        got = repack(x.tensors, "mlx", folder, config=x.config)
        y = mx.dequantize(mx.array(got["p.weight"]), mx.array(got["p.scales"]).astype(mx.float32), mx.array(got["p.biases"]).astype(mx.float32), group_size=64, bits=bits)
        off = np.abs(np.array(y) - x.numbers).max()  # zero points times scales are rounded
        if off > (2e-3 if zeros else 0):
            failed.append(f"mlx, written of {bits} bits, off by {off}")
        checked += 1
    return f"{checked} weights"


def check_fp8(folder):
    import ml_dtypes

    checked = 0
    for kind in ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2:
        for suffix, shape in ("weight_scale", ()), ("weight_scale", (1,)), ("weight_scale", (192, 1)), ("weight_scale_inv", (2, 3)):
            w = rng.standard_normal((192, 320)).astype(np.float32).astype(kind)
            scale = (rng.random(shape) + 0.01).astype(np.float32)
            full = scale if scale.size in (1, 192) else np.repeat(np.repeat(scale, 128, 0)[:192], 128, 1)[:, :320]
            got = repack({"p.weight": w, "p." + suffix: np.asarray(scale)}, "float32", folder, config={"quant_method": "fp8"})
            checked += agree(f"fp8, scales of shape {shape}", got["p.weight"], w.astype(np.float32) * full)
    return f"{checked} weights"


def check_torchao(folder):
    import torch
    from torchao.prototype.mx_formats.utils import to_blocked

    checked = 0
    for rows, columns in (200, 10), (256, 16), (1, 1):
        x = rng.integers(0, 256, (rows, columns), np.uint8)
        got = repack({"p.weight_scale": x}, "tiles128x4", folder, origin="scales")
        checked += agree(f"torchao, tiles of {rows}x{columns}", got["p.weight_scale"], to_blocked(torch.from_numpy(x)).numpy().reshape(-1))
    return f"{checked} tiled scales"


def rounded(x, kind):
    """Numbers of float32 as another type, BF16's as their bits."""
    if kind != "bfloat16":
        return x.astype(kind)
    bits = x.astype(np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def wide(x):
    """The opposite of rounded."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x.astype(np.float32)


def text(s):
    return np.frombuffer(s.encode(), np.uint8)


def check_bitsandbytes(folder):
    checked = 0
    tables = {
        "nf4": [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
                0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0],
        "fp4": np.array([0, 0.0625, 8, 12, 4, 6, 2, 3, 0, -0.0625, -8, -12, -4, -6, -2, -3], np.float32) / np.float32(12),
    }
    for table, kind, block, nested, (n, k) in (
        ("nf4", "bfloat16", 64, True, (96, 448)), ("nf4", "float16", 64, True, (5, 64)), ("fp4", "float32", 32, True, (7, 96)),
        ("nf4", "float32", 128, False, (33, 256)), ("fp4", "float16", 64, False, (64, 192)), ("fp4", "bfloat16", 4096, True, (3, 8192)),
    ):
        codes, numbers = rng.integers(0, 16, n * k, np.uint8), np.array(tables[table], np.float32)
        state = {"quant_type": table, "blocksize": block, "dtype": kind, "shape": [n, k]}
        tensors = {"p.weight": (codes[::2] << 4 | codes[1::2])[:, None], "p.weight.quant_map": numbers}
        count = n * k // block
        absmax = (rng.random(count) * 0.2).astype(np.float32)
        tensors["p.weight.absmax"] = absmax
        if nested:
            of, scale = rng.standard_normal(256).astype(np.float32), (rng.random((count + 255) // 256) * 0.1).astype(np.float32)
            offset = float(np.float32(rng.random()))
            state |= {"nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": offset}
            tensors["p.weight.absmax"] = rng.integers(0, 256, count, np.uint8)
            tensors |= {"p.weight.nested_absmax": scale, "p.weight.nested_quant_map": of}
            absmax = of[tensors["p.weight.absmax"]] * np.repeat(scale, 256)[:count] + np.float32(offset)
        tensors["p.weight.quant_state.bitsandbytes__" + table] = text(json.dumps(state))
        want = (numbers[codes] * np.repeat(absmax, block)).reshape(n, k)
        for to, type in ("float", kind), ("float32", "float32"), ("bfloat16", "bfloat16"):
            got = repack(tensors, to, folder, origin="bitsandbytes")
            checked += agree(f"bitsandbytes, {table} of {n}x{k} to {to}", got["p.weight"], rounded(want, type)) and list(got) == ["p.weight"]
        try:
            import torch
            from bitsandbytes.functional import QuantState, dequantize_4bit
        except Exception:
            continue
        state = QuantState.from_dict({i.removeprefix("p.weight."): torch.from_numpy(v.copy()) for i, v in tensors.items() if i != "p.weight"}, "cpu")
        y = dequantize_4bit(torch.from_numpy(tensors["p.weight"]), state)
        checked += agree(f"bitsandbytes itself, {table} of {n}x{k}", y.float().numpy(), wide(rounded(want, kind)))
    return f"{checked} weights"


def check_hqq(folder):
    checked = 0
    for bits, axis, kind, group, (n, k) in (
        (4, 0, "float16", 64, (96, 128)), (4, 1, "float16", 32, (16, 96)), (2, 0, "bfloat16", 16, (32, 64)), (8, 1, "float32", 64, (8, 128)),
        (3, 0, "float16", 64, (64, 96)), (3, 1, "bfloat16", 32, (20, 64)), (1, 0, "float16", 64, (64, 64)), (4, 0, "bfloat16", 128, (48, 160)),
    ):
        rows, columns = (group, n * k // group) if axis == 0 else (n * k // group, group)
        codes = rng.integers(0, 1 << bits, (rows, columns), np.uint32)
        per = {3: 10}.get(bits, 8 // bits)
        parts = np.concatenate([codes, np.zeros((-rows % per, columns), np.uint32)]).reshape(per, -1, columns)
        packed = sum(parts[i] << np.uint32(bits * (per - 1 - i)) for i in range(per))
        shape = (1, columns) if axis == 0 else (rows, 1)
        scale, zero = rounded(rng.random(shape).astype(np.float32) * 0.1, kind), rounded(rng.random(shape).astype(np.float32) * (1 << bits), kind)
        one = lambda i, t=np.int32: np.array(i, t)
        tensors = {
            "p.W_q": packed.view(np.int32) if bits == 3 else packed.astype(np.uint8), "p.scale": scale, "p.zero": zero,
            "p.shape": np.array([n, k], np.int64), "p.nbits": one(bits), "p.group_size": one(group), "p.axis": one(axis),
            "p.packing": text("3bit_32" if bits == 3 else f"{bits}bit_u8"), "p.compute_dtype": text("torch." + kind),
            "p.unpack_view_dtype": text("torch.int32" if bits == 3 else "torch.uint8"), "p.view_as_float": one(0, np.uint8), "p.quant_scale": one(0, np.uint8),
            "p.quant_zero": one(0, np.uint8), "p.channel_wise": one(1, np.uint8), "p.optimize": one(1, np.uint8), "p.round_zero": one(0, np.uint8),
            "p.offload_meta": one(0, np.uint8), "p.encoded_state_dict": one(1, np.uint8), "p.stores_quant_config": one(1, np.uint8),
        }
        less = wide(rounded(codes.astype(np.float32) - wide(zero), kind))
        want = rounded(less * wide(scale), kind).reshape(n, k)
        for to, type in ("float", kind), ("float32", "float32"):
            got = repack(tensors, to, folder, origin="hqq")
            checked += agree(f"hqq, {bits} bits, axis {axis}, to {to}", got["p.weight"], want if to == "float" else wide(want)) and list(got) == ["p.weight"]
    return f"{checked} weights"


with tempfile.TemporaryDirectory() as folder:
    for name, check in ("gguf", check_gguf), ("gguf, quantize", check_gguf_quantize), ("onnxruntime", check_onnxruntime), ("compressed-tensors", check_compressed_tensors), ("torchao", check_torchao), ("mlx", check_mlx), ("fp8", check_fp8), ("bitsandbytes", check_bitsandbytes), ("hqq", check_hqq):
        try:
            print(f"{name}: {check(folder)} agree")
        except ImportError as e:
            print(f"{name}: skipped: {e}")
if failed:
    sys.exit("not the same: " + ", ".join(failed))
