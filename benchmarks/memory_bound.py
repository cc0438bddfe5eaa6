# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that wait for memory: bandwidth beside torch and Triton.

    python benchmarks/memory_bound.py [--quick] [--only softmax] [--out FOLDER]

Useful traffic (each input read once, each output written once) per second, over
2^28 elements of random data. Triton compiles the same kernels with 4, 8 and 16
warps and the best counts; Tilewright chooses the number itself. Every output is
compared with torch's before it is timed. Exit status 1 when one is wrong.
"""

import argparse
import sys
from pathlib import Path

import peers
import torch

# Warps that Triton may choose from.
TRITON_WARPS = (4, 8, 16)
COLUMNS = (1024, 4096, 16384, 32768)
# Programs of the sum: a few per multiprocessor keep every one of them busy.
SUM_PROGRAMS = 132 * 8
TYPES = {"fp16": torch.float16, "fp32": torch.float32}


def next_power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length()


class Row:
    """One line of the table: inputs, the peer's form, and the kernel's launch."""

    def __init__(self, name, bytes_moved):
        self.name, self.bytes_moved = name, bytes_moved

    def prepare(self, seed):
        """A set of inputs and outputs; two of them are used in turn."""
        raise NotImplementedError

    def torch(self, data):
        """The result by torch; also what `launch` must match."""
        raise NotImplementedError

    def launch(self, kernels, data, **warps):
        """Runs the kernel and returns its output."""
        raise NotImplementedError

    def is_right(self, actual, expected) -> bool:
        return torch.equal(actual, expected)


class VectorAdd(Row):
    def __init__(self, n):
        super().__init__("vector add fp32", 3 * 4 * n)
        self.n = n

    def prepare(self, seed):
        torch.manual_seed(seed)
        x, y = torch.randn(self.n, device="cuda"), torch.randn(self.n, device="cuda")
        return x, y, torch.empty_like(x)

    def torch(self, data):
        return torch.add(data[0], data[1], out=data[2])

    def launch(self, kernels, data, **warps):
        kernels.add_kernel[(-(-self.n // 1024),)](*data, self.n, BLOCK=1024, **warps)
        return data[2]


class RowWise(Row):
    """Softmax or layer norm over the rows of a matrix."""

    def __init__(self, kind, type_name, columns, n):
        dtype = TYPES[type_name]
        self.kind, self.dtype, self.columns, self.rows = kind, dtype, columns, n // columns
        super().__init__(f"{kind} {type_name} {columns}", 2 * dtype.itemsize * self.rows * columns)

    def prepare(self, seed):
        torch.manual_seed(seed)
        x = torch.randn(self.rows, self.columns, device="cuda", dtype=self.dtype)
        weight = torch.rand(self.columns, device="cuda").to(self.dtype)
        bias = torch.rand(self.columns, device="cuda").to(self.dtype)
        return x, weight, bias, torch.empty_like(x)

    def torch(self, data):
        x, weight, bias, _ = data
        if self.kind == "softmax":
            return torch.softmax(x, dim=1)
        return torch.nn.functional.layer_norm(x, (self.columns,), weight, bias)

    def launch(self, kernels, data, **warps):
        x, weight, bias, out = data
        block = next_power_of_2(self.columns)
        if self.kind == "softmax":
            kernels.softmax_kernel[(self.rows,)](x, out, self.columns, self.columns, BLOCK=block, **warps)
        else:
            kernels.layer_norm_kernel[(self.rows,)](
                x, weight, bias, out, self.columns, self.columns, 1e-5, BLOCK=block, **warps
            )
        return out

    def is_right(self, actual, expected):
        tolerance = 2e-3 if self.dtype == torch.float16 else 1e-5
        # In pieces: the comparison makes temporaries as large as its inputs.
        return all(
            torch.allclose(a.float(), e.float(), rtol=tolerance, atol=tolerance)
            for a, e in zip(actual.chunk(8), expected.chunk(8))
        )


class Sum(Row):
    def __init__(self, n):
        super().__init__("sum fp32", 4 * n)
        self.n = n

    def prepare(self, seed):
        torch.manual_seed(seed)
        x = torch.rand(self.n, device="cuda")
        return x, torch.empty(SUM_PROGRAMS, device="cuda"), torch.empty(1, device="cuda")

    def torch(self, data):
        return torch.sum(data[0])

    def launch(self, kernels, data, **warps):
        x, partial, out = data
        kernels.partial_sum_kernel[(SUM_PROGRAMS,)](x, partial, self.n, BLOCK=4096, **warps)
        kernels.final_sum_kernel[(1,)](partial, out, SUM_PROGRAMS, BLOCK=next_power_of_2(SUM_PROGRAMS), **warps)
        return out

    def is_right(self, actual, expected):
        # rand is never negative, so the terms cannot cancel.
        return torch.allclose(actual.double(), expected.double(), rtol=1e-5)


class Transpose(Row):
    def __init__(self, side):
        super().__init__(f"transpose fp16 {side}^2", 2 * 2 * side * side)
        self.side = side

    def prepare(self, seed):
        torch.manual_seed(seed)
        x = torch.randn(self.side, self.side, device="cuda", dtype=torch.float16)
        return x, torch.empty_like(x)

    def torch(self, data):
        return data[1].copy_(data[0].T)

    def launch(self, kernels, data, **warps):
        tiles = self.side // 128
        kernels.transpose_kernel[(tiles, tiles)](*data, self.side, self.side, BLOCK_M=128, BLOCK_N=128, **warps)
        return data[1]


def make_rows(quick: bool) -> list[Row]:
    n = 2**26 if quick else 2**28
    rows: list[Row] = [VectorAdd(n)]
    for kind in ("softmax", "layer norm"):
        for type_name in ("fp16", "fp32"):
            rows += [RowWise(kind, type_name, columns, n) for columns in COLUMNS]
    return rows + [Sum(n), Transpose(8192 if quick else 16384)]


def measure(row: Row, ours, triton, rounds: int, same_warps: bool) -> dict:
    """Checks and times all contenders of one row; GB/s each."""
    data = [row.prepare(seed) for seed in range(2)]
    expected = row.torch(data[0]).clone()
    contenders = {"torch": lambda turn: row.torch(data[turn % 2])}
    if ours:
        contenders["Tilewright"] = lambda turn: row.launch(ours, data[turn % 2])
    if ours and same_warps:
        for warps in TRITON_WARPS:
            contenders[f"Tilewright {warps}"] = lambda turn, w=warps: row.launch(ours, data[turn % 2], num_warps=w)
    if triton:
        for warps in TRITON_WARPS:
            contenders[f"Triton {warps}"] = lambda turn, w=warps: row.launch(triton, data[turn % 2], num_warps=w)
    result = {"row": row.name, "wrong": []}
    for name in list(contenders):
        if name == "torch":
            continue
        data[0][-1].fill_(float("nan"))  # the output: an element that nobody writes shows
        if not row.is_right(contenders[name](0), expected):
            result["wrong"].append(name)
    times = peers.interleaved_medians(contenders, rounds)
    result["gbps"] = {name: row.bytes_moved / ms * 1e-6 for name, ms in times.items()}
    return result


def line_of(result: dict) -> list[str]:
    speed = result["gbps"]
    best = max((name for name in speed if name.startswith("Triton")), key=speed.get, default=None)
    ours = speed.get("Tilewright")
    note = "WRONG: " + ", ".join(result["wrong"]) if result["wrong"] else ""
    return [
        result["row"],
        f"{speed['torch']:.0f}",
        f"{speed[best]:.0f} ({best.split()[1]} warps)" if best else "-",
        f"{ours:.0f}" if ours else "-",
        f"{ours / speed[best]:.3f}" if ours and best else "-",
        f"{ours / speed['torch']:.2f}" if ours else "-",
        note,
    ]


def run(description: str, rows_of, kernels: Path, name: str, title: str) -> int:
    """A whole benchmark of rows, from the command line to the report."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a quarter of the elements, fewer rounds: a check, not a figure")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--same-warps", action="store_true", help="Tilewright with each of Triton's numbers of warps as well")
    parser.add_argument("--out", default="", help="folder for the JSON and Markdown reports")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("needs a GPU", file=sys.stderr)
        return 2
    ours, triton = peers.load_kernels("tilewright", kernels), peers.load_kernels("triton", kernels)
    results = []
    for row in rows_of(options.quick):
        if options.only not in row.name:
            continue
        try:
            results.append(measure(row, ours, triton, options.rounds or (10 if options.quick else 30), options.same_warps))
        except Exception as problem:  # one broken row must not hide the others
            print(f"{row.name}: {type(problem).__name__}: {problem}", file=sys.stderr)
            results.append({"row": row.name, "wrong": [str(problem)], "gbps": {"torch": float("nan")}})
        torch.cuda.empty_cache()
        print(f"# {'  '.join(line_of(results[-1]))}", file=sys.stderr)
    header = ["GB/s", "torch", "Triton, best", "Tilewright", "to Triton", "to torch", ""]
    peers.write_report(options.out, name, title, results, header, [line_of(result) for result in results])
    return 1 if any(result["wrong"] for result in results) else 0


def main() -> int:
    return run(
        __doc__.splitlines()[0], make_rows, peers.KERNELS, "memory_bound", "Memory-bound kernels, GB/s of useful traffic"
    )


if __name__ == "__main__":
    sys.exit(main())
