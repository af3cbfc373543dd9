#!/usr/bin/env python3
"""PyTorch beside BenchmarkAttentionBlock of package onnx: the layout part of an
attention block (see attentionBlock there), without the 4-bit weights, which
PyTorch has no type for. Prints the median and the best of the runs in
milliseconds.

    python3 attention_torch.py [--device cuda] [--threads 2] [--runs 30]
"""
import argparse
import statistics
import time

import torch


def block(qkv, past_k, past_v, heads, width):
    batch, tokens = qkv.shape[0], qkv.shape[1]
    q, k, v = (
        part.view(batch, tokens, heads, width).permute(0, 2, 1, 3) for part in qkv.split(heads * width, dim=2)
    )
    queries = q.reshape(batch * heads, tokens, width)
    present_k = torch.cat((past_k, k), dim=2)
    present_v = torch.cat((past_v, v), dim=2)
    total = present_k.shape[2]
    keys = present_k.transpose(2, 3).reshape(batch * heads, width, total)
    values = present_v.reshape(batch * heads, total, width)
    joined = queries.view(batch, heads, tokens, width).permute(0, 2, 1, 3).reshape(batch, tokens, heads * width)
    return queries, keys, values, present_k, present_v, joined


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--device", default="cpu")
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--runs", type=int, default=30)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    batch, tokens, past, heads, width = 8, 512, 512, 16, 64
    half = dict(dtype=torch.float16, device=args.device)
    qkv = torch.randn(batch, tokens, 3 * heads * width).to(**half)
    past_k, past_v = (torch.randn(batch, heads, past, width).to(**half) for _ in range(2))
    wait = torch.cuda.synchronize if args.device.startswith("cuda") else lambda: None
    times = []
    with torch.no_grad():
        for i in range(args.runs + 3):
            wait()
            start = time.perf_counter()
            block(qkv, past_k, past_v, heads, width)
            wait()
            if i >= 3:
                times.append(1000 * (time.perf_counter() - start))
    print(f"PyTorch {torch.__version__}, {args.threads} threads, {args.device}: "
          f"median {statistics.median(times):.2f} ms, best {min(times):.2f} ms of {args.runs}")


if __name__ == "__main__":
    main()
