# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as models use them: speed beside Triton, both with the same configurations.

    python benchmarks/products_in_use.py [--only int4] [--out FOLDER]

Each row names a few configurations; both compilers run all of them and the best of each
counts. Outputs are compared with torch's before they are timed. Exit status 1 when one is
wrong.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import peers
import torch

KERNELS = Path(__file__).parent / "products_in_use_kernels.py"
HALF = torch.float16
LARGE = [(128, 128, 32, 4, 4), (128, 128, 64, 4, 3), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3)]
QUANTISED = {
    16: [(16, 128, 64, 4, 4), (16, 64, 128, 4, 4), (16, 128, 128, 4, 3)],
    64: [(64, 64, 64, 4, 4), (64, 128, 64, 4, 4), (64, 128, 128, 8, 3)],
    2048: [(128, 128, 64, 4, 3), (128, 128, 64, 8, 4), (128, 256, 64, 8, 3)],
}


def blocks(n: int, block: int) -> int:
    return -(-n // block)


def normal(*shape, dtype=HALF):
    return torch.randn(*shape, device="cuda").to(dtype)


@dataclass
class Row:
    name: str
    # Floating-point operations, or bytes where `unit` says GB/s.
    work: float
    # The kernel's name, its arguments in front of the configuration, its grid.
    kernel: str
    arguments: tuple
    grid: Callable
    configurations: list
    # Whether the output is right.
    check: Callable
    before: Callable = lambda: None
    unit: str = "TFLOP/s"

    def launch(self, kernels, configuration):
        *tile, warps, stages = configuration
        self.before()
        getattr(kernels, self.kernel)[self.grid(configuration)](*self.arguments, *tile, num_warps=warps, num_stages=stages)


def close(actual, expected, absolute):
    return lambda: torch.allclose(actual.float(), expected.float(), rtol=2e-2, atol=absolute)


def linear_gelu(m, n, k):
    x, w, bias, out = normal(m, k), normal(n, k), normal(n), torch.empty(m, n, device="cuda", dtype=HALF)
    expected = torch.nn.functional.gelu(x @ w.T + bias, approximate="tanh")
    return Row(
        f"linear + GELU {m}x{n}x{k}",
        2 * m * n * k,
        "linear_gelu_kernel",
        (x, w, bias, out, m, n, k),
        lambda c: (blocks(m, c[0]) * blocks(n, c[1]),),
        LARGE,
        close(out, expected, 0.3),
    )


def int8_weights(m, n=8192, k=8192):
    x, scale = normal(m, k), torch.rand(n, device="cuda").half() * 0.01
    w = torch.randint(-128, 128, (k, n), device="cuda", dtype=torch.int8)
    out = torch.empty(m, n, device="cuda", dtype=HALF)
    return Row(
        f"int8 weights, {m} rows",
        2 * m * n * k,
        "int8_weights_kernel",
        (x, w, scale, out, m, n, k),
        lambda c: (blocks(m, c[0]), blocks(n, c[1])),
        QUANTISED[m],
        close(out, x @ w.half() * scale, 0.5),
    )


def int4_weights(m, n=8192, k=8192):
    x, scale = normal(m, k), (torch.rand(k // 128, n, device="cuda") * 0.02).half()
    w = torch.randint(-(2**31), 2**31 - 1, (k // 8, n), device="cuda", dtype=torch.int32)
    out = torch.empty(m, n, device="cuda", dtype=HALF)
    numbers = torch.stack([(w >> (4 * i)) & 15 for i in range(8)], 1).reshape(k, n) - 8
    expected = x @ (numbers.half() * scale.repeat_interleave(128, 0))
    return Row(
        f"int4 weights, {m} rows",
        2 * m * n * k,
        "int4_weights_kernel",
        (x, w, scale, out, m, n, k),
        lambda c: (blocks(m, c[0]), blocks(n, c[1])),
        QUANTISED[m],
        close(out, expected, 0.5),
    )


def weight_gradient(m, n, k):
    x, dy, out = normal(k, m), normal(k, n), torch.empty(m, n, device="cuda")
    return Row(
        f"x^T dy {m}x{n}x{k}",
        2 * m * n * k,
        "weight_gradient_kernel",
        (x, dy, out, m, n, k),
        lambda c: (blocks(m, c[0]) * blocks(n, c[1]),),
        LARGE,
        close(out, x.T.float() @ dy.float(), 1),
    )


def tf32(m, n, k, transposed):
    x, w = normal(m, k, dtype=torch.float32), normal(*((n, k) if transposed else (k, n)), dtype=torch.float32)
    out = torch.empty(m, n, device="cuda")
    return Row(
        f"tf32 {'x w^T' if transposed else 'x w'} {m}x{n}x{k}",
        2 * m * n * k,
        "tf32_kernel",
        (x, w, out, m, n, k, transposed),
        lambda c: (blocks(m, c[0]) * blocks(n, c[1]),),
        [(128, 128, 32, 4, 3), (128, 128, 32, 8, 4), (128, 256, 32, 8, 3)],
        close(out, x @ (w.T if transposed else w), 1),
    )


def split_k(m, split, n=4096, k=16384):
    x, w, out = normal(m, k), normal(n, k), torch.empty(m, n, device="cuda")
    return Row(
        f"split K by {split}, {m} rows",
        2 * m * n * k,
        "split_k_kernel",
        (x, w, out, m, n, k, split),
        lambda c: (blocks(n, c[1]), split),
        [(m, 128, 64, 4, 4), (m, 64, 128, 4, 4), (m, 128, 128, 4, 3)],
        close(out, x.float() @ w.float().T, 1),
        before=out.zero_,
    )


def gathered_rows(m, n, k, tokens=5000):
    x, w, index = normal(tokens, k), normal(k, n), torch.randint(0, tokens, (m,), device="cuda")
    out = torch.empty(m, n, device="cuda", dtype=HALF)
    return Row(
        f"gathered rows {m}x{n}x{k}",
        2 * m * n * k,
        "gathered_rows_kernel",
        (x, index, w, out, m, n, k),
        lambda c: (blocks(m, c[0]) * blocks(n, c[1]),),
        LARGE,
        close(out, x[index] @ w, 0.5),
    )


def decode(parts, heads=64, group=16, length=16384, dim=128):
    q, k, v = normal(heads * group, dim), normal(heads, length, dim), normal(heads, length, dim)
    out = torch.empty(heads * parts * group, dim, device="cuda")
    lse = torch.empty(heads * parts * group, device="cuda")
    scores = torch.einsum("hgd,hnd->hgn", q.view(heads, group, dim)[:2].float(), k[:2].float()) * dim**-0.5
    expected = torch.softmax(scores, -1) @ v[:2].float()

    def check():
        weights = lse.view(heads, parts, group)[:2]
        weights = torch.exp2(weights - weights.amax(1, keepdim=True))
        joined = (out.view(heads, parts, group, dim)[:2] * (weights / weights.sum(1, keepdim=True))[..., None]).sum(1)
        return torch.allclose(joined, expected, atol=2e-3)

    return Row(
        f"decode, {parts} parts",
        1000 * 4 * heads * length * dim,
        "decode_kernel",
        (q, k, v, out, lse, length, dim**-0.5 * 1.4426950408889634, length // parts, group, dim),
        lambda c: (heads, parts),
        [(64, 4, 3), (128, 4, 2), (64, 2, 4), (128, 8, 3)],
        check,
        unit="GB/s",
    )


# Multiples of 16; of 8; small ones; columns, then a vocabulary, then rows that are no multiple of 8.
LINEAR = [
    (4096, 4096, 4096),
    (4000, 4104, 4088),
    (1000, 1000, 1000),
    (4000, 4100, 4096),
    (4096, 50257, 4096),
    (4096, 4096, 4090),
]
ROWS = [lambda size=size: linear_gelu(*size) for size in LINEAR]
ROWS += [lambda m=m, make=make: make(m) for m in QUANTISED for make in (int8_weights, int4_weights)]
ROWS += [lambda: weight_gradient(4096, 4096, 4096)]
ROWS += [lambda t=transposed: tf32(4096, 4096, 4096, t) for transposed in (True, False)]
ROWS += [lambda: gathered_rows(8192, 4096, 4096)]
ROWS += [lambda m=m, s=s: split_k(m, s) for m in (16, 64) for s in (4, 8)] + [lambda: decode(4), lambda: decode(16)]


def measure(row: Row, compilers: dict) -> dict:
    result = {"row": row.name, "unit": row.unit, "wrong": [], "speed": {}}
    contenders = {}
    for who, kernels in compilers.items():
        for configuration in row.configurations:
            name = f"{who} {configuration}"
            try:
                row.launch(kernels, configuration)
                torch.cuda.synchronize()
            except Exception as problem:  # one that does not compile must not hide the others
                result["wrong"].append(f"{name}: {str(problem).splitlines()[0][:100]}")
                continue
            if not row.check():
                result["wrong"].append(name)
            contenders[name] = lambda turn, kernels=kernels, c=configuration: row.launch(kernels, c)
    for name, ms in peers.interleaved_medians(contenders, 15).items():
        result["speed"][name] = row.work / ms * 1e-9
    return result


def line_of(result: dict) -> list[str]:
    def best(who):
        return max(((speed, name) for name, speed in result["speed"].items() if name.startswith(who)), default=None)

    triton, ours = best("Triton"), best("Tilewright")
    cells = [f"{found[0]:.0f} {found[1].split(' ', 1)[1]}" if found else "-" for found in (triton, ours)]
    ratio = f"{ours[0] / triton[0]:.3f}" if ours and triton else "-"
    return [result["row"], result["unit"], *cells, ratio, "; ".join(result["wrong"])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--out", default="", help="folder for the JSON and Markdown reports")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("needs a GPU", file=sys.stderr)
        return 2
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.manual_seed(0)
    loaded = {"Tilewright": peers.load_kernels("tilewright", KERNELS), "Triton": peers.load_kernels("triton", KERNELS)}
    compilers = {name: kernels for name, kernels in loaded.items() if kernels}
    results = []
    for make in ROWS:
        row = make()
        if options.only in row.name:
            results.append(measure(row, compilers))
            print(f"# {'  '.join(line_of(results[-1]))}", file=sys.stderr)
        del row
        torch.cuda.empty_cache()
    header = ["row", "unit", "Triton, best", "Tilewright, best", "to Triton", ""]
    peers.write_report(
        options.out, "products_in_use", "Products as models use them", results, header, [line_of(result) for result in results]
    )
    return 1 if any(result["wrong"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
