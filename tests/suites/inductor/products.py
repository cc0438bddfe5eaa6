# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products and convolutions by templates alone: `max-autotune` without the vendor's libraries."""

import torch
import torch.nn.functional as F

from .pointwise import integers, values
from .registry import Work, program

# Only what is compiled here may be chosen.
TEMPLATES = {
    "max_autotune": True,
    "max_autotune_gemm_backends": "TRITON",
    "max_autotune_conv_backends": "TRITON",
    "autotune_fallback_to_aten": False,
}
HALF = (2e-2, 5e-2)


def small(device, *shape, dtype=torch.float16, seed=0):
    return values(device, *shape, dtype=dtype, low=-0.5, high=0.5, seed=seed)


for _dtype in (torch.float16, torch.bfloat16, torch.float32):

    @program(
        "products",
        f"matrix_{str(_dtype)[6:]}",
        gpu=True,
        config=TEMPLATES,
        timed=True,
        tolerance=HALF if _dtype != torch.float32 else (1e-3, 1e-3),
    )
    def matrix(device, dtype=_dtype):
        return Work(torch.mm, [(small(device, 512, 384, dtype=dtype), small(device, 384, 256, dtype=dtype, seed=1))])


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def odd_sizes(device):
    return Work(lambda a, b: (a @ b).relu(), [(small(device, 333, 211), small(device, 211, 97, seed=1))])


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def transposed_operands(device):
    return Work(lambda a, b: (a.t() @ b.t()) * 2, [(small(device, 256, 128), small(device, 192, 256, seed=1))])


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF, timed=True)
def linear_with_epilogue(device):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256), torch.nn.ReLU())
    return Work(module.to(device).half(), [(small(device, 384, 256),)])


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def batched(device):
    return Work(lambda a, b: torch.bmm(a, b) + 1, [(small(device, 8, 128, 96), small(device, 8, 96, 64, seed=1))])


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def batched_with_bias(device):
    return Work(
        lambda a, b, c: torch.baddbmm(c, a, b),
        [(small(device, 4, 64, 96), small(device, 4, 96, 80, seed=1), small(device, 4, 64, 80, seed=2))],
    )


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def sum_with_factors(device):
    return Work(
        lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2).sigmoid(),
        [(small(device, 256), small(device, 128, 192), small(device, 192, 256, seed=1))],
    )


@program("products", gpu=True, config=TEMPLATES)
def integer_product(device):
    return Work(
        torch._int_mm, [(integers(device, 128, 256, dtype=torch.int8), integers(device, 256, 64, dtype=torch.int8, seed=1))]
    )


@program("products", gpu=True, config={**TEMPLATES, "prologue_fusion": True}, tolerance=HALF)
def computed_operands(device):
    return Work(
        lambda a, b: (a.relu() * 2) @ b.to(torch.float16),
        [(small(device, 256, 256), integers(device, 256, 128, dtype=torch.int8, low=-3, high=3))],
    )


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def two_products_added(device):
    return Work(lambda a, b, c, d: a @ b + c @ d, [tuple(small(device, 256, 256, seed=s) for s in range(4))])


@program("products", gpu=True, config={**TEMPLATES, "triton.enable_persistent_tma_matmul": True}, tolerance=HALF, timed=True)
def persistent_with_descriptors(device):
    return Work(
        lambda a, b: (a @ b).relu(),
        [(small(device, 1024, 512, dtype=torch.bfloat16), small(device, 512, 768, dtype=torch.bfloat16, seed=1))],
    )


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def long_inner_extent(device):
    return Work(lambda a, b: a @ b, [(small(device, 32, 16384), small(device, 16384, 32, seed=1))])


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def one_row(device):
    return Work(lambda a, b: a @ b, [(small(device, 1, 1024), small(device, 1024, 512, seed=1))])


@program("products", gpu=True, config=TEMPLATES, tolerance=(1e-1, 5e-1))
def scaled_float8(device):
    def function(a, b, x, y):
        return torch._scaled_mm(a, b, x, y, out_dtype=torch.bfloat16)

    a = small(device, 128, 256, dtype=torch.float32).to(torch.float8_e4m3fn)
    b = small(device, 64, 256, dtype=torch.float32, seed=1).to(torch.float8_e4m3fn).t()
    one = torch.full((), 1.5, device=device)
    return Work(function, [(a, b, one, one * 0.5)])


@program("products", gpu=True, config=TEMPLATES, tolerance=(1e-1, 5e-1))
def scaled_float8_by_rows(device):
    def function(a, b, x, y):
        return torch._scaled_mm(a, b, x, y, out_dtype=torch.bfloat16)

    a = small(device, 128, 256, dtype=torch.float32).to(torch.float8_e4m3fn)
    b = small(device, 64, 256, dtype=torch.float32, seed=1).to(torch.float8_e4m3fn).t()
    return Work(function, [(a, b, values(device, 128, 1, low=0.5, high=1), values(device, 1, 64, low=0.5, high=1))])


@program("products", gpu=True, config=TEMPLATES, compile={"dynamic": True}, tolerance=HALF)
def any_number_of_rows(device):
    return Work(
        lambda a, b: (a @ b).relu(), [(small(device, rows, 256), small(device, 256, 128, seed=1)) for rows in (64, 100, 257)]
    )


@program("products", gpu=True, config=TEMPLATES, train=True, tolerance=(5e-2, 2e-1))
def gradients_by_templates(device):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.SiLU(), torch.nn.Linear(256, 64)).to(device).half()
    return Work(module, [(small(device, 192, 128).requires_grad_(),)])


for _name, _extra in (
    ("three", {}),
    ("strided", {"stride": 2, "padding": 1}),
    ("grouped", {"groups": 4}),
    ("dilated", {"dilation": 2}),
):

    @program("products", f"convolution_{_name}", gpu=True, config=TEMPLATES, tolerance=HALF)
    def convolution(device, extra=_extra):
        torch.manual_seed(0)
        module = torch.nn.Conv2d(32, 64, 3, **extra).to(device).half()
        return Work(lambda x: F.relu(module(x)), [(small(device, 4, 32, 20, 22),)])


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def convolution_one_by_one(device):
    torch.manual_seed(0)
    module = torch.nn.Conv2d(64, 128, 1).to(device, memory_format=torch.channels_last).half()
    return Work(module, [(small(device, 4, 64, 16, 16).to(memory_format=torch.channels_last),)])


@program("products", gpu=True, config={**TEMPLATES, "triton.decompose_k_threshold": 8}, tolerance=HALF)
def decomposed_inner_extent(device):
    return Work(
        lambda a, b: (a @ b) * 2,
        [(small(device, 64, 8192, dtype=torch.bfloat16), small(device, 8192, 64, dtype=torch.bfloat16, seed=1))],
    )


@program("products", gpu=True, compile={"mode": "max-autotune"}, tolerance=HALF, repeats=3)
def mode_max_autotune(device):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 128)).to(device).half()
    return Work(module, [(small(device, 256, 256),)])


@program("products", gpu=True, compile={"mode": "max-autotune-no-cudagraphs"}, tolerance=(1e-3, 1e-3))
def mode_max_autotune_without_graphs(device):
    return Work(
        lambda a, b, c: F.softmax(a @ b, -1) @ c,
        [tuple(small(device, 256, 256, dtype=torch.float32, seed=s) for s in range(3))],
    )


@program("products", gpu=True, config=TEMPLATES, tolerance=HALF)
def many_small(device):
    def function(x, weights):
        for weight in weights:
            x = torch.tanh(x @ weight)
        return x

    return Work(function, [(small(device, 64, 64), [small(device, 64, 64, seed=s) for s in range(6)])])


@program("products", tolerance=(1e-3, 1e-3))
def small_products_without_templates(device):
    return Work(
        lambda a, b: ((a @ b).sum(1), torch.einsum("ij,kj->ik", a, b.t()) * 2), [(values(device, 7, 5), values(device, 5, 3))]
    )
