# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products: pointers, descriptors and persistent beside cuBLAS and Triton.

    python benchmarks/matmul.py [--shapes fp16:8192x8192x8192 ...] [--kernels pointers]
                                [--configs full] [--only-check] [--no-triton] [--out FOLDER]

Both compilers choose among the same configurations of the same kernels
(matmul_kernels.py). fp16 and bf16: B is K x N. fp8 (e4m3) and int8: B is N x K,
the only form that their tensor cores take; C is bf16, int32. How it is measured:
contest.py. Exit status 1 when something failed or was wrong.
"""

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace

import contest
from contest_problem import DEVICE, Problem

KERNELS = Path(__file__).parent / "matmul_kernels.py"
SHAPES = {
    "quick": [
        "fp16:8192x8192x8192",
        "fp16:4096x4096x4096",
        "fp16:2048x2048x2048",
        "fp16:8192x8192x512",
        "fp16:1024x1024x1024",
        "bf16:8192x8192x8192",
        "bf16:4096x4096x4096",
        "fp8:8192x8192x8192",
        "int8:8192x8192x8192",
    ],
    "full": [
        "fp16:256x8192x8192",
        "fp16:64x8192x8192",
        "fp16:8192x8192x256",
        "fp16:512x512x512",
        "fp16:4096x1000x4088",
        "bf16:8192x8192x512",
        "fp8:4096x4096x4096",
        "int8:4096x4096x4096",
    ],
}
# (M, N, K, warps, stages) for elements of 16 bits; of 8 bits twice as many fit K.
# A stage of 128x256x64 takes 48 KB of the 227 KB.
QUICK = [
    (128, 256, 64, 8, 3),
    (128, 256, 64, 8, 4),
    (128, 128, 64, 4, 4),
    (128, 128, 64, 4, 3),
    (128, 128, 64, 8, 4),
    (64, 128, 64, 4, 4),
]
FULL = QUICK + [
    (256, 128, 64, 8, 3),
    (256, 128, 64, 8, 4),
    (128, 128, 64, 8, 3),
    (128, 128, 64, 8, 5),
    (128, 64, 64, 4, 4),
    (64, 256, 64, 4, 4),
    (64, 64, 64, 4, 5),
    (128, 128, 128, 8, 3),
    (64, 256, 64, 8, 4),
    (128, 256, 32, 8, 5),
]
# For mma.sync, which keeps its operands in registers (--arch sm_80 or sm_90).
GENERAL = [
    (128, 128, 32, 4, 4),
    (128, 128, 64, 4, 3),
    (128, 128, 32, 8, 4),
    (128, 256, 32, 8, 4),
    (128, 128, 64, 8, 3),
    (64, 128, 32, 4, 5),
]


def element_types():
    """Of A and B, and of C."""
    import torch

    return {
        "fp16": (torch.float16, torch.float16),
        "bf16": (torch.bfloat16, torch.bfloat16),
        "fp8": (torch.float8_e4m3fn, torch.bfloat16),
        "int8": (torch.int8, torch.int32),
    }


class Product(Problem):
    kernels = ("pointers", "descriptors", "persistent")
    tiles = {"quick": QUICK, "full": FULL}

    def __init__(self, kind: str, m: int, n: int, k: int, exact: bool = False):
        self.kind, self.m, self.n, self.k, self.exact = kind, m, n, k, exact
        self.title = f"{kind}:{m}x{n}x{k}"
        self.family = kind
        self.operations = 2 * m * n * k
        self.b_is_nk = kind in ("fp8", "int8")

    def make(self, seed):
        import torch

        device = DEVICE
        generator = torch.Generator(device).manual_seed(seed)
        type_in, type_out = element_types()[self.kind]

        def matrix(rows, columns):
            if self.exact or self.kind == "int8":
                # -2..2: sums stay so small that every order of adding is exact, and
                # bf16 still holds them. Else the whole range of int8.
                low, high = (-2, 3) if self.exact else (-128, 128)
                values = torch.randint(low, high, (rows, columns), generator=generator, device=device)
                return values.to(torch.int8) if self.kind == "int8" else values.to(torch.float32).to(type_in)
            return torch.randn(rows, columns, generator=generator, device=device, dtype=torch.float32).to(type_in)

        data = SimpleNamespace(
            a=matrix(self.m, self.k),
            b=matrix(self.n, self.k) if self.b_is_nk else matrix(self.k, self.n),
            c=torch.empty(self.m, self.n, device=device, dtype=type_out),
        )
        # As K x N whatever the order in memory.
        data.b_kn = data.b.T if self.b_is_nk else data.b
        data.one = torch.ones((), device=device)
        return data

    def bytes_of(self):
        type_in, type_out = element_types()[self.kind]
        return (self.m + self.n) * self.k * type_in.itemsize + self.m * self.n * type_out.itemsize

    def peers(self):
        import torch

        if self.kind == "fp8":

            def scaled(data, fast):
                return torch._scaled_mm(
                    data.a,
                    data.b_kn,
                    scale_a=data.one,
                    scale_b=data.one,
                    out_dtype=torch.bfloat16,
                    use_fast_accum=fast,
                    out=data.c,
                )

            return {"cuBLAS fast": lambda data: scaled(data, True), "cuBLAS": lambda data: scaled(data, False)}
        if self.kind == "int8":
            return {"_int_mm": lambda data: torch._int_mm(data.a, data.b_kn, out=data.c)}
        return {"cuBLAS": lambda data: torch.mm(data.a, data.b_kn, out=data.c)}

    def configurations(self, kernel, thorough):
        wider = 2 if self.b_is_nk else 1
        found = []
        for m, n, k, warps, stages in self.tiles["full" if thorough else "quick"]:
            config = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k * wider, "GROUP_M": 8, "num_warps": warps, "num_stages": stages}
            if kernel != "persistent":
                found.append(config)
                continue
            choices = [(True, m * n >= 128 * 256)]
            if thorough or (m, n) == (128, 256) and stages == 3:
                choices += [(False, m * n >= 128 * 256)]
            if thorough and n >= 128:
                choices += [(True, m * n < 128 * 256)]
            found += [dict(config, FLATTEN=flatten, SPLIT_C=split) for flatten, split in choices]
        return found

    def launch(self, compiler, kernel, config, data, start):
        m, n, k = self.m, self.n, self.k
        block_m, block_n, block_k = config["BLOCK_M"], config["BLOCK_N"], config["BLOCK_K"]
        tiles = -(-m // block_m) * -(-n // block_n)
        if kernel == "pointers":
            return start(
                compiler.kernels.pointer_kernel,
                (tiles,),
                data.a,
                data.b,
                data.c,
                m,
                n,
                k,
                data.a.stride(0),
                data.a.stride(1),
                data.b_kn.stride(0),
                data.b_kn.stride(1),
                data.c.stride(0),
                data.c.stride(1),
                **config,
            )
        make = compiler.TensorDescriptor.from_tensor
        b_block = [block_n, block_k] if self.b_is_nk else [block_k, block_n]
        c_block = [block_m, block_n // 2 if config.get("SPLIT_C") else block_n]
        descriptors = make(data.a, [block_m, block_k]), make(data.b, b_block), make(data.c, c_block)
        if kernel == "descriptors":
            return start(compiler.kernels.descriptor_kernel, (tiles,), *descriptors, m, n, k, B_IS_NK=self.b_is_nk, **config)
        return start(
            compiler.kernels.persistent_kernel,
            (min(tiles, multiprocessors()),),
            *descriptors,
            m,
            n,
            k,
            B_IS_NK=self.b_is_nk,
            **config,
        )

    def outputs(self, data):
        return [data.c]

    def expected(self, data):
        if self.exact:  # float64 is exact for the integers of a check
            return [(data.a.double() @ data.b_kn.double()).to(data.c.dtype)]
        next(iter(self.peers().values()))(data)
        return [data.c.clone()]

    def error_of(self, actual, expected):
        import torch

        if self.exact or self.kind == "int8":
            wrong = int((actual != expected).sum())
            return f"{wrong} of {actual.numel()} elements differ" if wrong else ""
        # Both round the same sum of K products of unit variance once to the type of C;
        # the order of adding differs, in fp8 also the width of the accumulator.
        absolute = (0.05 if self.kind == "fp8" else 2e-3) * self.k**0.5
        relative = 2**-9 if actual.dtype == torch.float16 else 2**-6
        worst = 0.0
        for a, e in zip(actual.chunk(8), expected.chunk(8)):  # in pieces: temporaries are large
            excess = (a.float() - e.float()).abs() - (absolute + relative * e.float().abs())
            worst = max(worst, float(excess.max()) if not excess.isnan().any() else float("inf"))
        return f"off by {worst:.3g} beyond the tolerance" if worst > 0 else ""

    def checks(self):
        # Whole tiles, then tails in M, N and K; all sizes multiples of 16, as in the
        # rows, so that the kernels that are checked are those that are measured.
        return [Product(self.kind, 512, 768, 512, exact=True), Product(self.kind, 336, 464, 416, exact=True)]


def multiprocessors() -> int:
    import torch

    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="*", default=[], help="type:MxNxK; default: those of the targets")
    contest.add_options(parser)
    options = parser.parse_args()
    if options.arch and not options.arch.endswith("a"):
        Product.tiles = {"quick": GENERAL, "full": GENERAL + QUICK}
    shapes = options.shapes or SHAPES["quick"] + (SHAPES["full"] if options.configs == "full" else [])
    problems = []
    for shape in shapes:
        kind, _, sizes = shape.partition(":")
        problems.append(Product(kind, *(int(size) for size in sizes.split("x"))))
    return contest.main("matmul", "Matrix products", problems, KERNELS, options)


if __name__ == "__main__":
    sys.exit(main())
