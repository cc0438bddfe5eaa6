# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention: forward and backward beside cuDNN, FlashAttention-2 and Triton.

    python benchmarks/attention.py [--only forward] [--rows forward:128:4096:causal ...]
                                   [--configs full] [--only-check] [--no-triton] [--out FOLDER]

fp16, 16384 tokens in all and 2048 columns of heads: 16 heads of 128 or 32 of 64.
Operations are counted as usual: two products forward, five backward, half of
that under the causal mask. Both compilers choose among the same configurations
of the same kernels (attention_kernels.py); cuDNN and FlashAttention-2 are those
of torch. Backward starts from out and lse, and includes every helper kernel:

  split   dK and dV in one kernel, dQ in another (two products more than counted)
  fused   one kernel, dQ by atomic additions in float32, then cast

How it is measured: contest.py. Exit status 1 when something failed or was wrong.
"""

import argparse
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import contest
from contest_problem import DEVICE, Problem, first_lines

KERNELS = Path(__file__).parent / "attention_kernels.py"
TOKENS = 16384
COLUMNS = 2048
ROWS = [
    "forward:128:16384:full",
    "forward:128:16384:causal",
    "forward:128:4096:full",
    "forward:128:4096:causal",
    "forward:128:1024:full",
    "forward:64:16384:full",
    "forward:64:16384:causal",
    "forward:64:4096:full",
    "backward:128:16384:full",
    "backward:128:16384:causal",
    "backward:128:4096:full",
    "backward:128:4096:causal",
    "backward:64:4096:full",
    "backward:64:4096:causal",
]
# (BLOCK_M, BLOCK_N, warps, stages); only what the registers can hold.
FORWARD = [(128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3), (64, 64, 4, 2), (64, 128, 4, 2)]
FORWARD_FULL = FORWARD + [(128, 128, 8, 3), (128, 64, 8, 2), (128, 64, 8, 4), (64, 128, 4, 3), (128, 32, 8, 4)]
# For dK and dV (which loop over blocks of BLOCK_M queries), then for dQ.
BACKWARD = [((64, 128, 8, 2), (128, 64, 8, 2)), ((64, 64, 4, 2), (64, 64, 4, 2)), ((32, 128, 8, 3), (128, 32, 8, 3))]
BACKWARD_FULL = BACKWARD + [
    ((64, 64, 4, 3), (64, 64, 4, 3)),
    ((64, 128, 8, 3), (128, 64, 8, 3)),
    ((32, 64, 4, 3), (64, 32, 4, 3)),
    ((128, 64, 8, 2), (128, 128, 8, 2)),
]
LOG2_E = 1 / math.log(2)


def call(name: str, known: dict):
    """An operation of torch with its arguments picked by name: their order differs among versions."""
    import torch

    operation = getattr(torch.ops.aten, name).default
    return operation(**{a.name: known[a.name] for a in operation._schema.arguments if a.name in known})


# The results of torch's forward operations, in their order.
STATE = ("out", "logsumexp", "cum_seq_q", "cum_seq_k", "max_q", "max_k", "philox_seed", "philox_offset")


def torch_forward(library: str, data, causal: bool):
    """torch's attention by "flash" or "cudnn": its results by name."""
    state = call(
        f"_scaled_dot_product_{library}_attention",
        {
            "query": data.q,
            "key": data.k,
            "value": data.v,
            "attn_bias": None,
            "compute_log_sumexp": True,
            "dropout_p": 0.0,
            "is_causal": causal,
            "return_debug_mask": False,
        },
    )
    return dict(zip(STATE, state))


class Attention(Problem):
    """What forward and backward share."""

    def __init__(self, dim: int, length: int, causal: bool, heads: int = 0, uniform: bool = False):
        self.dim, self.length, self.causal, self.uniform = dim, length, causal, uniform
        self.batch = 1 if heads else TOKENS // length
        self.heads = heads or COLUMNS // dim
        self.small = bool(heads)  # a check: small enough for float64
        self.direction = type(self).__name__.lower()
        self.title = f"{self.direction}:{dim}:{length}:{'causal' if causal else 'full'}"
        self.family = f"{self.direction}:{dim}:{'causal' if causal else 'full'}"
        self.scale = 1 / math.sqrt(dim)
        pairs = length * length * self.batch * self.heads
        self.operations = pairs * 2 * dim * (2 if self.direction == "forward" else 5) // (2 if causal else 1)

    def shape(self):
        return self.batch, self.heads, self.length, self.dim

    def make(self, seed):
        import torch

        generator = torch.Generator(DEVICE).manual_seed(seed)

        def array():
            return torch.randn(self.shape(), generator=generator, device=DEVICE).half()

        data = SimpleNamespace(q=array(), k=array(), v=array())
        if self.uniform:
            # All scores are zero: each output is the mean of whole numbers, exact in
            # every order of adding.
            data.q.zero_()
            data.v = torch.randint(-8, 9, self.shape(), generator=generator, device=DEVICE).half()
        data.rows = self.batch * self.heads * self.length
        data.lse = torch.empty(data.rows, device=DEVICE)
        return data

    def exact(self, data):
        """(out, lse to base 2, weights) in float64."""
        import torch

        scores = data.q.double() @ data.k.double().mT * self.scale
        if self.causal:
            ones = torch.ones(self.length, self.length, device=scores.device, dtype=torch.bool)
            scores.masked_fill_(~ones.tril(), float("-inf"))
        weights = torch.softmax(scores, -1)
        return weights @ data.v.double(), torch.logsumexp(scores, -1) * LOG2_E, weights

    def arrays(self, compiler, described: bool, tensors_and_rows):
        """The tensors as what the kernels take: themselves, or descriptors of so many rows each."""
        if not described:
            return [tensor for tensor, _ in tensors_and_rows]
        return [
            compiler.TensorDescriptor.from_tensor(tensor.view(-1, self.dim), [rows, self.dim])
            for tensor, rows in tensors_and_rows
        ]

    def error_of(self, actual, expected):
        if self.uniform and not self.causal:
            wrong = int((actual.double() != expected.to(actual.dtype).double()).sum())
            return f"{wrong} of {actual.numel()} elements differ" if wrong else ""
        squares = total = worst = largest = 0.0
        for a, e in zip(actual.flatten().chunk(8), expected.flatten().chunk(8)):
            difference = (a.double() - e.double()).abs()
            if not difference.isfinite().all():
                return "an infinity or NaN"
            squares, total = squares + float((difference**2).sum()), total + float((e.double() ** 2).sum())
            worst, largest = max(worst, float(difference.max())), max(largest, float(e.abs().max()))
        # P, dS and the results are each rounded to 11 bits; a wrong element shows in
        # the second figure.
        relative = math.sqrt(squares / max(total, 1e-30))
        if relative > 4e-3 or worst > 0.02 * largest:
            return f"relative error {relative:.2e}, largest {worst:.2e} of {largest:.2e}"
        return ""


class Forward(Attention):
    kernels = ("pointers", "descriptors")

    def bytes_of(self):
        return 4 * 2 * math.prod(self.shape())

    def make(self, seed):
        import torch

        data = super().make(seed)
        data.out = torch.empty_like(data.q)
        return data

    def peers(self):
        return {
            "cuDNN": lambda data: torch_forward("cudnn", data, self.causal),
            "FlashAttention-2": lambda data: torch_forward("flash", data, self.causal),
        }

    def configurations(self, kernel, thorough):
        return [
            {"BLOCK_M": m, "BLOCK_N": n, "num_warps": warps, "num_stages": stages}
            for m, n, warps, stages in (FORWARD_FULL if thorough else FORWARD)
        ]

    def launch(self, compiler, kernel, config, data, start):
        m, n = config["BLOCK_M"], config["BLOCK_N"]
        described = kernel == "descriptors"
        arrays = self.arrays(compiler, described, [(data.q, m), (data.k, n), (data.v, n), (data.out, m)])
        return start(
            compiler.kernels.forward_kernel,
            (self.length // m, self.batch * self.heads),
            *arrays,
            data.lse,
            self.scale,
            self.length,
            HEAD_DIM=self.dim,
            CAUSAL=self.causal,
            DESCRIPTORS=described,
            **config,
        )

    def outputs(self, data):
        return [data.out, data.lse]

    def expected(self, data):
        if self.small:
            out, lse, _ = self.exact(data)
            return [out, lse.flatten()]
        state = torch_forward("flash", data, self.causal)
        return [state["out"], state["logsumexp"].flatten() * LOG2_E]

    def checks(self):
        return [Forward(self.dim, 512, self.causal, heads=2), Forward(self.dim, 256, self.causal, heads=2, uniform=True)]


class Backward(Attention):
    @property
    def kernels(self):
        # With 128 columns the addresses of atomic additions do not fit beside the
        # accumulators; through a descriptor they need none.
        return ("split", "split-descriptors") + (("fused",) if self.dim < 128 else ()) + ("fused-descriptors",)

    def bytes_of(self):
        return (8 * 2 + (4 if self.small else 0)) * math.prod(self.shape())

    def make(self, seed):
        import torch

        data = super().make(seed)
        generator = torch.Generator(DEVICE).manual_seed(seed + 1000)
        data.d_out = torch.randn(self.shape(), generator=generator, device=DEVICE).half()
        data.dq, data.dk, data.dv = (torch.empty_like(data.q) for _ in range(3))
        data.wide_dq = torch.empty(self.shape(), device=DEVICE)
        data.delta = torch.empty_like(data.lse)
        if self.small:
            out, lse, _ = self.exact(data)
            data.out, data.lse = out.half(), lse.float().flatten()
            return data
        data.flash = torch_forward("flash", data, self.causal)
        data.out, data.lse = data.flash["out"], data.flash["logsumexp"].flatten() * LOG2_E
        try:
            data.cudnn = torch_forward("cudnn", data, self.causal)
        except Exception as problem:
            print(f"# cuDNN: {first_lines(problem)}", flush=True)
        return data

    def torch_backward(self, library, data):
        return call(
            f"_scaled_dot_product_{library}_attention_backward",
            {
                **getattr(data, library),
                "grad_out": data.d_out,
                "query": data.q,
                "key": data.k,
                "value": data.v,
                "dropout_p": 0.0,
                "is_causal": self.causal,
                "attn_bias": None,
            },
        )

    def peers(self):
        return {
            "cuDNN": lambda data: self.torch_backward("cudnn", data),
            "FlashAttention-2": lambda data: self.torch_backward("flash", data),
        }

    def configurations(self, kernel, thorough):
        names = ("BLOCK_M", "BLOCK_N", "num_warps", "num_stages")
        pairs = BACKWARD_FULL if thorough else BACKWARD
        if kernel.startswith("split"):
            return [{"dkdv": dict(zip(names, first)), "dq": dict(zip(names, second))} for first, second in pairs]
        return [{"dkdv": dict(zip(names, first))} for first, _ in pairs]

    def launch(self, compiler, kernel, config, data, start):
        described, fused = kernel.endswith("descriptors"), kernel.startswith("fused")
        heads, kernels = self.batch * self.heads, compiler.kernels
        constants = {"HEAD_DIM": self.dim, "CAUSAL": self.causal, "DESCRIPTORS": described}
        size = data.q.numel()
        start(kernels.delta_kernel, (data.rows // 64,), data.out, data.d_out, data.delta, BLOCK_M=64, HEAD_DIM=self.dim)
        if fused:
            start(kernels.clear_kernel, (size // 1024,), data.wide_dq, BLOCK=1024)
        one = config["dkdv"]
        m, n = one["BLOCK_M"], one["BLOCK_N"]
        arrays = self.arrays(
            compiler,
            described,
            [
                (data.q, m),
                (data.k, n),
                (data.v, n),
                (data.d_out, m),
                (data.wide_dq if fused else data.dq, m),
                (data.dk, n),
                (data.dv, n),
            ],
        )
        handles = [
            start(
                kernels.dk_dv_kernel,
                (self.length // n, heads),
                *arrays,
                data.lse,
                data.delta,
                self.scale,
                self.length,
                WITH_DQ=fused,
                **constants,
                **one,
            )
        ]
        if fused:
            start(kernels.scale_kernel, (size // 1024,), data.wide_dq, data.dq, self.scale, BLOCK=1024)
            return handles
        two = config["dq"]
        m, n = two["BLOCK_M"], two["BLOCK_N"]
        arrays = self.arrays(compiler, described, [(data.q, m), (data.k, n), (data.v, n), (data.d_out, m), (data.dq, m)])
        return handles + [
            start(
                kernels.dq_kernel,
                (self.length // m, heads),
                *arrays,
                data.lse,
                data.delta,
                self.scale,
                self.length,
                **constants,
                **two,
            )
        ]

    def outputs(self, data):
        return [data.dq, data.dk, data.dv]

    def expected(self, data):
        if not self.small:
            return list(self.torch_backward("flash", data))
        out, _, weights = self.exact(data)
        d_out = data.d_out.double()
        d_scores = weights * (d_out @ data.v.double().mT - (out * d_out).sum(-1, keepdim=True)) * self.scale
        return [d_scores @ data.k.double(), d_scores.mT @ data.q.double(), weights.mT @ d_out]

    def checks(self):
        return [Backward(self.dim, 512, self.causal, heads=2)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="*", default=[], help="direction:head dimension:length:full or causal")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    contest.add_options(parser)
    options = parser.parse_args()
    problems = []
    for row in options.rows or [row for row in ROWS if options.only in row]:
        direction, dim, length, mask = row.split(":")
        kind = Forward if direction == "forward" else Backward
        problems.append(kind(int(dim), int(length), mask == "causal"))
    return contest.main("attention", "Attention", problems, KERNELS, options)


if __name__ == "__main__":
    sys.exit(main())
