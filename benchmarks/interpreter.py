# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long the interpreter takes: with its default checks, without any, and beside Triton's.

    .venv/bin/python benchmarks/interpreter.py [--peer PYTHON] [--rounds N] [--json FILE]

PYTHON is an interpreter of an environment that has Triton and torch. Its kernels are the ones of this file, run by
a process of that Python under TRITON_INTERPRET=1. A figure is the shortest of N rounds, in milliseconds.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time

import numpy as np

if __name__ == "__main__" and "--as-peer" in sys.argv:
    os.environ["TRITON_INTERPRET"] = "1"
    tilewright = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")
else:
    import tilewright
    import tilewright.language as tl


@tilewright.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@tilewright.jit
def softmax_kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


@tilewright.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, HEAD)
    start = tl.program_id(1) * length * HEAD
    q = tl.load(q_ptr + start + rows[:, None] * HEAD + columns[None, :])
    largest = tl.full([BLOCK_M], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    accumulator = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for first in range(0, length, BLOCK_N):
        keys = first + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + start + keys[None, :] * HEAD + columns[:, None])
        v = tl.load(v_ptr + start + keys[:, None] * HEAD + columns[None, :])
        scores = tl.dot(q, k) * scale
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_largest[:, None])
        correction = tl.exp(largest - new_largest)
        total = total * correction + tl.sum(weights, axis=1)
        accumulator = accumulator * correction[:, None] + tl.dot(weights.to(tl.float16), v)
        largest = new_largest
    tl.store(out_ptr + start + rows[:, None] * HEAD + columns[None, :], accumulator / total[:, None])


@tilewright.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * K + ks[None, :]
    b_ptrs = b_ptr + ks[:, None] * N + columns[None, :]
    accumulator = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=ks[None, :] < K - k, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < K - k, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], accumulator, mask=inside)


def cases(array):
    """{name: a function that launches the kernel once}."""
    random = np.random.default_rng(0)

    def normal(*shape, dtype=np.float32):
        return array(random.standard_normal(shape).astype(dtype))

    n = 1 << 20
    x, y, out = normal(n), normal(n), array(np.zeros(n, np.float32))
    rows, softmax_out = normal(512, 1024), array(np.zeros((512, 1024), np.float32))
    q, k, v = (normal(2, 512, 64, dtype=np.float16) for _ in range(3))
    attended = array(np.zeros((2, 512, 64), np.float32))
    a, b = normal(512, 512, dtype=np.float16), normal(512, 512, dtype=np.float16)
    c = array(np.zeros((512, 512), np.float32))
    return {
        "vector add 2^20": lambda: add_kernel[(n // 1024,)](x, y, out, n, BLOCK=1024),
        "softmax 512x1024": lambda: softmax_kernel[(512,)](rows, softmax_out, 1024, 1024, BLOCK=1024),
        "attention 2x512x64": lambda: attention_kernel[(8, 2)](q, k, v, attended, 0.125, 512, BLOCK_M=64, BLOCK_N=64, HEAD=64),
        "matmul 512^3": lambda: matmul_kernel[(8, 8)](a, b, c, 512, 512, 512, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32),
    }


def shortest(launch, rounds):
    launch()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        launch()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def measured(rounds, array=lambda values: values):
    return {name: shortest(launch, rounds) for name, launch in cases(array).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="a Python that has Triton and torch")
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write the figures here too")
    options = parser.parse_args()
    if options.as_peer:
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        print(json.dumps(measured(options.rounds, torch.from_numpy)))
        return
    figures = {}
    for column, text in (("no checks", "none"), ("bounds", "none,bounds"), ("default", "")):
        tilewright.knobs.runtime.check = text
        figures[column] = measured(options.rounds)
    if options.peer:
        command = [options.peer, __file__, "--as-peer", "--rounds", str(max(1, options.rounds // 3))]
        figures["Triton"] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"{'milliseconds':20}"
        + "".join(f"{column:>12}" for column in figures)
        + f"{'checks':>10}"
        + (f"{'Triton':>10}" if options.peer else "")
    )
    for name, base in figures["no checks"].items():
        default = figures["default"][name]
        line = f"{name:20}" + "".join(f"{column[name]:12.2f}" for column in figures.values())
        line += f"{default / base:9.2f}x"
        print(line + (f"{figures['Triton'][name] / default:9.1f}x" if options.peer else ""))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
