"""Loads GGUF files that restride repack makes with llama.cpp itself, and compares the logits of
tiny models with the same models in numpy:

    llama.py RESTRIDE

llama.cpp comes with the package xllamacpp, whose extension has its functions; without it,
everything is skipped.
"""
import ctypes, importlib.util, json, os, struct, subprocess, sys, tempfile

import numpy as np

spec = importlib.util.find_spec("xllamacpp")
if spec is None:
    print("llama.cpp: skipped: no module named xllamacpp")
    sys.exit()
llama = ctypes.CDLL(os.path.join(os.path.dirname(spec.origin), "xllamacpp.abi3.so"))


class Struct(ctypes.Structure):
    """A structure of llama.cpp, of which only the size matters, and that not exactly."""

    _fields_ = [("bytes", ctypes.c_uint8 * 512)]


def function(name, result, *arguments):
    f = getattr(llama, name)
    f.restype, f.argtypes = result, arguments
    return f


pointer = ctypes.c_void_p
silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, pointer)(lambda level, text, _: None)
function("llama_log_set", None, type(silent), pointer)(silent, None)
model_params = function("llama_model_default_params", Struct)
load = function("llama_model_load_from_file", pointer, ctypes.c_char_p, Struct)
context_params = function("llama_context_default_params", Struct)
open_context = function("llama_init_from_model", pointer, pointer, Struct)
batch_of = function("llama_batch_get_one", Struct, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32)
decode = function("llama_decode", ctypes.c_int32, pointer, Struct)
last_logits = function("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), pointer, ctypes.c_int32)
free_context, free_model = function("llama_free", None, pointer), function("llama_model_free", None, pointer)
function("llama_backend_init", None)()

restride = sys.argv[1]
rng = np.random.default_rng(38)
LAYERS, HIDDEN, HEADS, KEYS, FEED, VOCABULARY, EXPERTS, USED = 2, 64, 4, 2, 96, 128, 4, 2
SIZE = HIDDEN // HEADS


def weight(n, k):
    """Numbers that Q8_0 has exactly: a largest code of 127 in each block, times a power of two."""
    codes = rng.integers(-127, 128, (n, k // 32, 32))
    codes[:, :, 0] = 127
    return (codes * 2.0**-10).reshape(n, k).astype(np.float32)


def tensors(kind):
    t = {"model.embed_tokens.weight": weight(VOCABULARY, HIDDEN) * 4, "model.norm.weight": 1 + weight(1, HIDDEN)[0], "lm_head.weight": weight(VOCABULARY, HIDDEN)}
    for layer in range(LAYERS):
        p = f"model.layers.{layer}."
        t[p + "input_layernorm.weight"] = 1 + weight(1, HIDDEN)[0]
        t[p + "post_attention_layernorm.weight"] = 1 + weight(1, HIDDEN)[0]
        for name, rows in ("q", HEADS * SIZE), ("k", KEYS * SIZE), ("v", KEYS * SIZE), ("o", HIDDEN):
            t[p + f"self_attn.{name}_proj.weight"] = weight(rows, HIDDEN) * 4
            if kind == "qwen2" and name != "o":
                t[p + f"self_attn.{name}_proj.bias"] = weight(1, 32 * rows)[0][::32].copy()
        if kind.startswith("qwen3"):
            for name in "qk":
                t[p + f"self_attn.{name}_norm.weight"] = 1 + weight(1, 32)[0][:SIZE]
        names = ("gate_proj", FEED, HIDDEN), ("up_proj", FEED, HIDDEN), ("down_proj", HIDDEN, FEED)
        if kind in ("mixtral", "qwen3_moe"):
            block = "block_sparse_moe" if kind == "mixtral" else "mlp"
            t[p + block + ".gate.weight"] = weight(EXPERTS, HIDDEN) * 8
            for e in range(EXPERTS):
                for (name, n, k), other in zip(names, ("w1", "w3", "w2")):
                    t[p + f"{block}.experts.{e}.{other if kind == 'mixtral' else name}.weight"] = weight(n, k) * 4
        else:
            for name, n, k in names:
                t[p + f"mlp.{name}.weight"] = weight(n, k) * 4
    return t


def norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rotate(x):
    """Transformers' positions: the halves of each head turn together."""
    angle = np.arange(x.shape[0])[:, None] * 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., : SIZE // 2], x[..., SIZE // 2 :]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def logits(kind, t, tokens):
    x = t["model.embed_tokens.weight"][tokens].astype(np.float64)
    count = len(tokens)
    for layer in range(LAYERS):
        p = f"model.layers.{layer}."
        h = norm(x, t[p + "input_layernorm.weight"])

        def project(name, heads):
            y = h @ t[p + f"self_attn.{name}_proj.weight"].T + t.get(p + f"self_attn.{name}_proj.bias", 0)
            y = y.reshape(count, heads, SIZE)
            n = t.get(p + f"self_attn.{name}_norm.weight")
            return y if n is None else norm(y, n)

        q, k, v = rotate(project("q", HEADS)), rotate(project("k", KEYS)), project("v", KEYS)
        k, v = np.repeat(k, HEADS // KEYS, 1), np.repeat(v, HEADS // KEYS, 1)
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(SIZE) + np.triu(np.full((count, count), -1e30), 1)
        x = x + np.einsum("hij,jhd->ihd", softmax(scores), v).reshape(count, -1) @ t[p + "self_attn.o_proj.weight"].T
        h = norm(x, t[p + "post_attention_layernorm.weight"])

        def feed(prefix, names, h):
            gate = h @ t[prefix + names[0] + ".weight"].T
            return (gate / (1 + np.exp(-gate)) * (h @ t[prefix + names[1] + ".weight"].T)) @ t[prefix + names[2] + ".weight"].T

        if kind not in ("mixtral", "qwen3_moe"):
            x = x + feed(p + "mlp.", ("gate_proj", "up_proj", "down_proj"), h)
            continue
        block, names = (p + "block_sparse_moe.", ("w1", "w3", "w2")) if kind == "mixtral" else (p + "mlp.", ("gate_proj", "up_proj", "down_proj"))
        shares = softmax(h @ t[block + "gate.weight"].T)
        for i in range(count):
            best = np.argsort(-shares[i])[:USED]
            for e in best:
                x[i] += shares[i, e] / shares[i, best].sum() * feed(f"{block}experts.{e}.", names, h[i])
    return norm(x, t["model.norm.weight"]) @ t["lm_head.weight"].T


def save(path, t):
    header, at = {}, 0
    for name, x in t.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for x in t.values():
            f.write(np.ascontiguousarray(x).tobytes())


def run(path, tokens):
    """llama.cpp's logits of the last token."""
    model = load(path.encode(), model_params())
    if not model:
        raise RuntimeError("llama.cpp does not load " + path)
    context = open_context(model, context_params())
    all = (ctypes.c_int32 * len(tokens))(*map(int, tokens))
    if not context or decode(context, batch_of(all, len(tokens))) != 0:
        raise RuntimeError("llama.cpp does not run " + path)
    out = np.ctypeslib.as_array(last_logits(context, -1), (VOCABULARY,)).copy()
    free_context(context)
    free_model(model)
    return out


failed = []
for kind in "llama", "qwen2", "qwen3", "mixtral", "qwen3_moe":
    with tempfile.TemporaryDirectory() as folder:
        t = tensors(kind)
        save(os.path.join(folder, "model.safetensors"), t)
        config = {"model_type": kind, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "intermediate_size": FEED, "num_attention_heads": HEADS, "num_key_value_heads": KEYS,
                  "head_dim": SIZE, "max_position_embeddings": 64, "vocab_size": VOCABULARY, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
        if kind in ("mixtral", "qwen3_moe"):
            config |= {"num_local_experts" if kind == "mixtral" else "num_experts": EXPERTS, "num_experts_per_tok": USED}
        if kind == "qwen3_moe":
            config["moe_intermediate_size"] = FEED
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(config, f)
        out = os.path.join(folder, "out.gguf")
        subprocess.run([restride, "repack", folder, "--from", "float", "--to", "q8_0", "--only", "proj|w[123]$", "--output", out], check=True, stdout=subprocess.DEVNULL)
        tokens = rng.integers(0, VOCABULARY, 12)
        want = logits(kind, t, tokens)[-1]
        try:
            got = run(out, tokens)
        except RuntimeError as e:
            failed.append(str(e))
            continue
        # llama.cpp rounds the inputs of products to 8 bits.
        off = np.abs(got - want).max() / np.abs(want).max()
        if not off < 0.05 or np.argmax(got) != np.argmax(want):
            failed.append(f"{kind}: logits differ by {off:.3f} of the largest")
print(f"llama.cpp: {5 - len(failed)} models load and give the logits of their source")
if failed:
    sys.exit("\n".join(failed))
