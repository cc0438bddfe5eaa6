# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as models use them: bandwidth beside torch and Triton.

    python benchmarks/in_use.py [--quick] [--only softmax] [--out FOLDER]

Measured as `memory_bound.py` does. The compiler was fitted to none of these. The
peer is what torch offers for the same result, sometimes several of its kernels.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import memory_bound
import torch
import torch.nn.functional as F

HALF, FLOAT, FLOAT8 = torch.float16, torch.float32, torch.float8_e4m3fn
MULTIPROCESSORS = 132


def blocks(n: int, block: int) -> int:
    return -(-n // block)


def normal(*shape, dtype=HALF):
    return torch.randn(*shape, device="cuda", dtype=dtype)


@dataclass
class Row(memory_bound.Row):
    name: str
    bytes_moved: int
    # The arrays of a launch, the output last.
    make: Callable
    by_torch: Callable
    # (kernels, arrays, warps): launches.
    start: Callable
    tolerance: float = 4e-3
    # Where terms cancel, as in sums of both signs; else the same.
    absolute: float = 0.0

    def prepare(self, seed):
        torch.manual_seed(seed)
        return self.make()

    def torch(self, data):
        return self.by_torch(*data[:-1])

    def launch(self, kernels, data, **warps):
        self.start(kernels, data, warps)
        return data[-1]

    def is_right(self, actual, expected):
        return all(
            torch.allclose(a.float(), e.float(), rtol=self.tolerance, atol=self.absolute or self.tolerance)
            for a, e in zip(actual.chunk(8), expected.chunk(8))
        )


def rms_norm(rows, columns, dtype=HALF):
    def make():
        x, residual, weight = (
            normal(rows, columns, dtype=dtype),
            normal(rows, columns, dtype=dtype),
            normal(columns, dtype=dtype),
        )
        return x, residual, weight, torch.empty_like(x), torch.empty_like(x)

    def by_torch(x, residual, weight, total):
        return F.rms_norm((x.float() + residual.float()), (columns,), weight.float(), 1e-6).to(dtype)

    def start(kernels, data, warps):
        kernels.rms_norm_kernel[(rows,)](*data, columns, 1e-6, BLOCK=memory_bound.next_power_of_2(columns), **warps)

    return Row(f"residual + RMS norm fp16 {columns}", 4 * dtype.itemsize * rows * columns, make, by_torch, start, 1e-2)


def elementwise(name, n, inputs, by_torch, launch, dtype=HALF, block=1024, tolerance=4e-3, outputs=1):
    def make():
        return (
            *(normal(n, dtype=dtype) for _ in range(inputs)),
            *(torch.empty(n, device="cuda", dtype=dtype) for _ in range(outputs)),
        )

    def start(kernels, data, warps):
        launch(kernels, (blocks(n, block),), data, block, warps)

    return Row(name, (inputs + outputs) * dtype.itemsize * n, make, by_torch, start, tolerance)


def swiglu(n):
    return elementwise(
        "SwiGLU fp16",
        n,
        2,
        lambda gate, up: F.silu(gate) * up,
        lambda k, grid, data, block, warps: k.swiglu_kernel[grid](*data, n, BLOCK=block, **warps),
        tolerance=1e-2,
    )


def gelu(n):
    return elementwise(
        "GELU fp16",
        n,
        1,
        lambda x: F.gelu(x, approximate="tanh"),
        lambda k, grid, data, block, warps: k.gelu_kernel[grid](*data, n, BLOCK=block, **warps),
    )


def adam(n):
    def by_torch(param, grad, mean, square, *_):
        square = square.abs()
        mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad * grad
        return param - 1e-3 * mean / (square.sqrt() + 1e-8)

    def make():
        arrays = [normal(n, dtype=FLOAT) for _ in range(4)]
        arrays[3].abs_()
        return (*arrays, *(torch.empty(n, device="cuda") for _ in range(3)))

    def start(kernels, data, warps):
        kernels.adam_kernel[(blocks(n, 1024),)](*data, n, 1e-3, 0.9, 0.999, 1e-8, BLOCK=1024, **warps)

    return Row("Adam fp32", 7 * 4 * n, make, by_torch, start, 1e-4)


def dropout(n):
    # Which elements stay is the generator's; both compilers take the same Philox.
    class Dropout(Row):
        def is_right(self, actual, expected):
            kept = actual != 0
            share = kept.float().mean().item()
            return abs(share - 0.9) < 1e-3 and torch.allclose(actual[kept], expected[kept], rtol=1e-5)

    def start(kernels, data, warps):
        kernels.dropout_kernel[(blocks(n, 1024),)](*data, n, 0.1, 42, BLOCK=1024, **warps)

    return Dropout(
        "dropout fp32", 8 * n, lambda: (normal(n, dtype=FLOAT), torch.empty(n, device="cuda")), lambda x: x / 0.9, start
    )


def cross_entropy(rows, columns):
    def make():
        target = torch.randint(0, columns, (rows,), device="cuda")
        return normal(rows, columns), target, torch.empty(rows, device="cuda")

    def start(kernels, data, warps):
        kernels.cross_entropy_kernel[(rows,)](*data, columns, BLOCK=4096, **warps)

    return Row(
        f"cross entropy fp16 {columns}",
        2 * rows * columns,
        make,
        lambda x, target: F.cross_entropy(x.float(), target, reduction="none"),
        start,
    )


def rope(tokens, length, heads, half):
    def make():
        angles = torch.rand(length, half, device="cuda") * 6
        x = normal(tokens, heads, 2 * half)
        return x, torch.cos(angles), torch.sin(angles), torch.empty_like(x)

    def by_torch(x, cos, sin):
        cos, sin = (t.repeat(tokens // length, 1)[:, None, :] for t in (cos, sin))
        left, right = x.float().chunk(2, dim=2)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], 2).half()

    def start(kernels, data, warps):
        kernels.rope_kernel[(tokens,)](*data, length, HEADS=heads, HALF=half, **warps)

    return Row(f"rotary embedding fp16 {heads}x{2 * half}", 4 * tokens * heads * 2 * half, make, by_torch, start)


def quantise(rows, columns):
    def make():
        return normal(rows, columns), torch.empty(rows, device="cuda"), torch.empty(rows, columns, device="cuda", dtype=FLOAT8)

    def by_torch(x, scale):
        return (x.float() / (x.float().abs().amax(1, keepdim=True) / 448)).to(FLOAT8)

    def start(kernels, data, warps):
        x, scale, out = data
        kernels.quantise_kernel[(rows,)](x, out, scale, columns, BLOCK=memory_bound.next_power_of_2(columns), **warps)

    # A quotient on the edge between two float8 may go either way.
    return Row(f"quantise rows to fp8 {columns}", 3 * rows * columns, make, by_torch, start, 0.13)


def dequantise(rows, columns):
    def make():
        packed = torch.randint(-128, 128, (rows, columns // 2), device="cuda", dtype=torch.int8)
        return packed, normal(rows, columns // 128), torch.empty(rows, columns, device="cuda", dtype=HALF)

    def by_torch(packed, scale):
        both = torch.stack([packed << 4 >> 4, packed >> 4], 2).reshape(rows, columns // 128, 128)
        return (both.float() * scale.float()[:, :, None]).reshape(rows, columns).half()

    def start(kernels, data, warps):
        kernels.dequantise_kernel[(rows, blocks(columns // 2, 1024))](*data, columns, BLOCK=1024, **warps)

    return Row(f"dequantise int4 {columns}", rows * columns * 5 // 2, make, by_torch, start)


def embedding(tokens, words, columns):
    def make():
        index = torch.randint(0, words, (tokens,), device="cuda")
        return index, normal(words, columns), torch.empty(tokens, columns, device="cuda", dtype=HALF)

    def start(kernels, data, warps):
        kernels.embedding_kernel[(tokens,)](*data, columns, BLOCK=memory_bound.next_power_of_2(columns), **warps)

    return Row(f"embedding fp16 {columns}", 4 * tokens * columns, make, lambda index, table: table[index], start)


def column_sum(rows, columns):
    def start(kernels, data, warps):
        x, out = data
        out.zero_()
        kernels.column_sum_kernel[(blocks(columns, 128), blocks(rows, 16 * 32))](
            x, out, rows, columns, BLOCK_M=32, BLOCK_N=128, **warps
        )

    return Row(
        f"column sums fp16 {columns}",
        2 * rows * columns,
        lambda: (normal(rows, columns), torch.zeros(columns, device="cuda")),
        lambda x: x.sum(0, dtype=FLOAT),
        start,
        1e-3,
        absolute=0.05,
    )


def cumulative_sum(rows, columns):
    def start(kernels, data, warps):
        kernels.cumulative_sum_kernel[(rows,)](*data, columns, BLOCK=columns, **warps)

    return Row(
        f"cumulative sum fp32 {columns}",
        8 * rows * columns,
        lambda: (normal(rows, columns, dtype=FLOAT), torch.empty(rows, columns, device="cuda")),
        lambda x: x.cumsum(1),
        start,
        1e-3,
    )


def row_times_matrix(rows, columns):
    def start(kernels, data, warps):
        kernels.row_times_matrix_kernel[(blocks(rows, 16),)](*data, rows, columns, BLOCK_M=16, BLOCK_K=512, **warps)

    return Row(
        f"row times matrix fp16 {rows}x{columns}",
        2 * rows * columns,
        lambda: (normal(columns), normal(rows, columns), torch.empty(rows, device="cuda", dtype=HALF)),
        lambda x, weight: weight @ x,
        start,
        1e-2,
        absolute=0.3,
    )


def layer_norm_backward(rows, columns):
    def make():
        dy, x, weight = normal(rows, columns), normal(rows, columns), normal(columns)
        mean = x.float().mean(1)
        rstd = torch.rsqrt(x.float().var(1, unbiased=False) + 1e-5)
        return dy, x, weight, mean, rstd, torch.empty_like(x)

    def by_torch(dy, x, weight, mean, rstd):
        return torch.ops.aten.native_layer_norm_backward(
            dy, x, [columns], mean[:, None], rstd[:, None], weight, weight, [True, False, False]
        )[0]

    def start(kernels, data, warps):
        kernels.layer_norm_backward_kernel[(rows,)](*data, columns, BLOCK=memory_bound.next_power_of_2(columns), **warps)

    return Row(f"layer norm backward fp16 {columns}", 6 * rows * columns, make, by_torch, start, 2e-2)


def causal_conv(batch, length, channels):
    def make():
        x = normal(batch, length, channels)
        return x, normal(4, channels), torch.empty_like(x)

    def by_torch(x, weight):
        padded = F.pad(x.float().transpose(1, 2), (3, 0))
        return F.silu(F.conv1d(padded, weight.float().T[:, None, :].contiguous(), groups=channels)).transpose(1, 2).half()

    def start(kernels, data, warps):
        kernels.causal_conv_kernel[(blocks(length, 32), blocks(channels, 128), batch)](
            *data, length, channels, BLOCK_T=32, BLOCK_C=128, **warps
        )

    return Row(f"causal convolution fp16 {channels}", 4 * batch * length * channels, make, by_torch, start, 1e-2)


def persistent_softmax(rows, columns, dtype, per_multiprocessor, stages):
    def start(kernels, data, warps):
        kernels.persistent_softmax_kernel[(MULTIPROCESSORS * per_multiprocessor,)](
            *data, rows, columns, BLOCK=columns, STAGES=stages, **warps
        )

    return Row(
        f"persistent softmax {'fp16' if dtype == HALF else 'fp32'} {columns}, {stages} stages",
        2 * dtype.itemsize * rows * columns,
        lambda: (normal(rows, columns, dtype=dtype), torch.empty(rows, columns, device="cuda", dtype=dtype)),
        lambda x: torch.softmax(x, 1),
        start,
    )


def make_rows(quick: bool) -> list[Row]:
    n = 2**25 if quick else 2**27
    rows = [rms_norm(n // columns, columns) for columns in (2048, 4096, 5120, 8192)]
    rows += [swiglu(n), gelu(n), adam(n // 2), dropout(n)]
    rows += [cross_entropy(n // columns, columns) for columns in (32000, 128256)]
    rows += [rope(n // 4096, 4096, 32, 64), quantise(n // 4096, 4096), quantise(n // 8192, 8192)]
    rows += [dequantise(n // 8192, 8192), embedding(n // 4096, 32000, 4096), column_sum(n // 4096, 4096)]
    rows += [cumulative_sum(n // 2048, 2048), cumulative_sum(n // 8192, 8192)]
    rows += [row_times_matrix(n // 8192, 8192), layer_norm_backward(n // 4096, 4096), layer_norm_backward(n // 8192, 8192)]
    rows += [causal_conv(8, n // 8 // 4096, 4096)]
    for dtype, columns, per, stages in (
        (FLOAT, 1024, 8, 2),
        (FLOAT, 4096, 4, 2),
        (FLOAT, 8192, 2, 2),
        (HALF, 4096, 4, 2),
        (HALF, 8192, 4, 1),
        (HALF, 8192, 4, 2),
        (HALF, 8192, 2, 4),
    ):
        rows.append(persistent_softmax(n // columns, columns, dtype, per, stages))
    return rows


def main() -> int:
    return memory_bound.run(
        __doc__.splitlines()[0],
        make_rows,
        Path(__file__).parent / "in_use_kernels.py",
        "in_use",
        "Kernels as models use them, GB/s of useful traffic",
    )


if __name__ == "__main__":
    sys.exit(main())
