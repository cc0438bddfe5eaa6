# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every tensor-core kernel of the benchmarks and lessons, ready to be compiled without a GPU.

A case is a kernel with the signature, constants and options of a launch: those
that the benchmarks tune over. As a script it compiles them and prints what the
assembler reports:

    PYTHONPATH=python:tests python -m harness.tensor_core_cases [--target sm_90a] [--only forward]
"""

import argparse
import functools
import importlib.util
import re
import sys
import time
from dataclasses import dataclass, field

from harness.assemble import SHARED_LIMIT
from harness.native import ROOT

# Kinds of remarks that say what the assembler had to give up.
UNWANTED = re.compile(r"\b(wgmma-serialized|assembler-warning)\b")


@dataclass(frozen=True)
class Case:
    """What to compile, and what must be found in it."""

    name: str
    target: str
    kernel: object = field(compare=False)
    signature: dict = field(compare=False)
    constants: dict = field(compare=False)
    options: dict = field(compare=False)
    # Products whose operands come through shared memory in several stages.
    pipelined: bool = True
    # A product with fewer rows than wgmma takes.
    small: bool = False

    def compile(self):
        import tilewright

        divisible = {name: 16 for name, kind in self.signature.items() if kind.startswith(("*", "i", "tensordesc"))}
        source = tilewright.ASTSource(self.kernel, self.signature, self.constants, divisible)
        return tilewright.compile(source, self.target, {**self.options, "arguments_may_overlap": False})


@functools.cache
def module(folder: str, name: str):
    """A module of the benchmarks or a lesson, by the name of its file."""
    path = ROOT / folder / f"{name}.py"
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(f"{name}_of_{folder}", path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@functools.cache
def kernels(name: str):
    return module("benchmarks", "peers").load_kernels("tilewright", ROOT / "benchmarks" / f"{name}.py")


def split(config: dict) -> tuple[dict, dict]:
    """Constants and options of a configuration."""
    options = {key: value for key, value in config.items() if key.startswith("num_")}
    return {key: value for key, value in config.items() if key not in options}, options


def described(element: str, rows: int, columns: int) -> str:
    return f"tensordesc<{element}[{rows},{columns}]>"


# ---------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------

ELEMENTS = {"fp16": ("fp16", "fp16"), "bf16": ("bf16", "bf16"), "fp8": ("fp8e4nv", "bf16"), "int8": ("i8", "i32")}


def product(target: str, kind: str, form: str, config: dict) -> Case:
    """One kernel of matmul_kernels.py; `form` is a kernel's name in matmul.py."""
    source = kernels("matmul_kernels")
    constants, options = split(config)
    element, result = ELEMENTS[kind]
    b_is_nk = kind in ("fp8", "int8")
    signature = {"M": "i32", "N": "i32", "K": "i32"}
    m, n, k = (config[f"BLOCK_{axis}"] for axis in "MNK")
    if form == "pointers":
        kernel = source.pointer_kernel
        signature |= {
            "a_ptr": f"*{element}",
            "b_ptr": f"*{element}",
            "c_ptr": f"*{result}",
            "stride_am": "i32",
            "stride_cm": "i32",
            "stride_bn" if b_is_nk else "stride_bk": "i32",
        }
        constants |= {"stride_ak": 1, "stride_cn": 1, "stride_bk" if b_is_nk else "stride_bn": 1}
    else:
        kernel = source.descriptor_kernel if form == "descriptors" else source.persistent_kernel
        signature |= {
            "a_desc": described(element, m, k),
            "b_desc": described(element, n, k) if b_is_nk else described(element, k, n),
            "c_desc": described(result, m, n // 2 if config.get("SPLIT_C") else n),
        }
        constants |= {"B_IS_NK": b_is_nk}
    name = module("benchmarks", "contest_problem").name_of(config)
    return Case(f"product {kind} {form} {name}", target, kernel, signature, constants, options)


def products() -> list[Case]:
    matmul = module("benchmarks", "matmul")
    cases = []
    for kind in ELEMENTS:
        for form in matmul.Product.kernels:
            tuned = matmul.Product(kind, 1024, 1024, 1024).configurations(form, thorough=False)
            cases += [product("sm_90a", kind, form, config) for config in (tuned if kind == "fp16" else tuned[:2])]
    for target, stages, found in (("sm_80", 3, ("fp16", "int8")), ("sm_89", 2, ("fp16", "int8", "fp8"))):
        for kind in found:
            config = {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "BLOCK_K": 32 if kind == "fp16" else 64,
                "GROUP_M": 8,
                "num_warps": 8,
                "num_stages": stages,
            }
            cases += [
                product(target, kind, "pointers", config),
                product(target, kind, "descriptors", config),
                product(target, kind, "persistent", dict(config, FLATTEN=True, SPLIT_C=False)),
            ]
    return cases


# ---------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------


def attention(target: str, which: str, dim: int, causal: bool, form: str, config: dict) -> Case:
    """One kernel of attention_kernels.py: forward, dk_dv, dq, or fused (dk_dv with dQ)."""
    source = kernels("attention_kernels")
    constants, options = split(config)
    with_descriptors = form == "descriptors"
    m, n = config["BLOCK_M"], config["BLOCK_N"]
    constants |= {"HEAD_DIM": dim, "CAUSAL": causal, "DESCRIPTORS": with_descriptors}
    rows = {"q_array": m, "k_array": n, "v_array": n}
    if which == "forward":
        kernel = source.forward_kernel
        rows |= {"out_array": m}
    elif which == "dq":
        kernel = source.dq_kernel
        rows |= {"d_out_array": m, "dq_array": m}
    else:
        kernel = source.dk_dv_kernel
        rows |= {"d_out_array": m, "dq_array": m, "dk_array": n, "dv_array": n}
        constants["WITH_DQ"] = which == "fused"
    signature = {}
    for name, height in rows.items():
        element = "fp32" if which == "fused" and name == "dq_array" else "fp16"
        signature[name] = described(element, height, dim) if with_descriptors else f"*{element}"
    signature |= {"lse_ptr": "*fp32", "scale": "fp32", "length": "i32"}
    if which != "forward":
        signature["delta_ptr"] = "*fp32"
    name = module("benchmarks", "contest_problem").name_of(config)
    return Case(
        f"attention {which} {dim} {'causal' if causal else 'full'} {form} {name}", target, kernel, signature, constants, options
    )


def attentions() -> list[Case]:
    benchmark = module("benchmarks", "attention")
    names = ("BLOCK_M", "BLOCK_N", "num_warps", "num_stages")
    cases = []
    for dim in (128, 64):
        for form in ("pointers", "descriptors"):
            for causal in (False, True):
                for config in benchmark.FORWARD:
                    cases.append(attention("sm_90a", "forward", dim, causal, form, dict(zip(names, config))))
            for first, second in benchmark.BACKWARD:
                for which, config in (("dk_dv", first), ("fused", first), ("dq", second)):
                    if (which, dim, form) != ("fused", 128, "pointers"):  # not among the benchmark's
                        cases.append(attention("sm_90a", which, dim, True, form, dict(zip(names, config))))
    for target in ("sm_80", "sm_89"):
        for which, blocks in (("forward", (128, 64)), ("dk_dv", (32, 64)), ("dq", (64, 32))):
            cases.append(attention(target, which, 64, True, "pointers", dict(zip(names, (*blocks, 4, 2)))))
    return cases


# ---------------------------------------------------------------------------
# Lessons, with the tiles that they take on a GPU
# ---------------------------------------------------------------------------


def half_pointers(*names):
    return {name: "*fp16" for name in names}


def lessons() -> list[Case]:
    numbers = {"M": "i32", "N": "i32", "K": "i32"}
    eight = {"num_warps": 8, "num_stages": 3}
    block = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}
    square = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
    abc = half_pointers("a_ptr", "b_ptr", "c_ptr")
    matrix, grouped = module("tutorials", "03_matrix_multiplication"), module("tutorials", "08_grouped_gemm")
    persistent, int8 = module("tutorials", "09_persistent_matmul"), module("tutorials", "10_int8_matmul")
    found = [
        (
            "03 matrix product",
            matrix.matmul_kernel.fn,
            abc | numbers | {"stride_am": "i32", "stride_bk": "i32", "stride_cm": "i32"},
            block | {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1, "ACTIVATION": "leaky_relu"},
            eight,
        ),
        ("08 grouped, pointers", grouped.pointer_kernel, abc | {"table_ptr": "*i32", "count": "i32"}, square, eight),
        ("08 grouped, descriptors", grouped.descriptor_kernel, abc | {"table_ptr": "*i32", "count": "i32"}, square, eight),
        ("09 persistent, pointers", persistent.pointer_kernel, abc | numbers, block, eight),
        (
            "09 persistent, host descriptors",
            persistent.host_descriptor_kernel,
            {"a_desc": described("fp16", 128, 64), "b_desc": described("fp16", 64, 256), "c_desc": described("fp16", 128, 128)}
            | numbers,
            block | {"SPLIT_C": True},
            eight,
        ),
        (
            "09 persistent, device descriptors",
            persistent.device_descriptor_kernel,
            abc | numbers,
            block | {"SPLIT_C": True},
            eight,
        ),
        (
            "10 int8 layer",
            int8.linear_kernel,
            {
                "x_ptr": "*i8",
                "w_ptr": "*i8",
                "scale_x_ptr": "*fp32",
                "scale_w_ptr": "*fp32",
                "bias_ptr": "*fp16",
                "y_ptr": "*fp16",
            }
            | numbers,
            block | {"BLOCK_K": 128},
            eight,
        ),
        (
            "11 convolution",
            module("tutorials", "11_convolution").convolution_kernel,
            half_pointers("image_ptr", "filter_ptr", "bias_ptr", "out_ptr")
            | {name: "i32" for name in ("batch", "height", "width", "C", "K", "out_height", "out_width", "stride")},
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_C": 64, "R": 3, "S": 3, "RELU": True, "pad": 1},
            eight,
        ),
    ]
    return [Case(f"lesson {name}", "sm_90a", *rest) for name, *rest in found] + attention_lesson() + serving_lessons()


def attention_lesson() -> list[Case]:
    lesson = module("tutorials", "06_fused_attention")
    shared = {"scale": "fp32", "length": "i32", "lse_ptr": "*fp32"}
    backward = half_pointers("q_ptr", "k_ptr", "v_ptr", "d_out_ptr") | shared | {"delta_ptr": "*fp32"}
    constants = {"HEAD_DIM": 128, "CAUSAL": True}
    wide, tall = {"BLOCK_M": 64, "BLOCK_N": 128}, {"BLOCK_M": 128, "BLOCK_N": 64}
    two = {"num_warps": 8, "num_stages": 2}
    found = [
        (
            "forward",
            lesson.forward_kernel,
            half_pointers("q_ptr", "k_ptr", "v_ptr", "out_ptr") | shared,
            constants | tall,
            two | {"num_stages": 3},
        ),
        ("dk, dv", lesson.dk_dv_kernel, backward | half_pointers("dk_ptr", "dv_ptr"), constants | wide, two),
        ("dq", lesson.dq_kernel, backward | half_pointers("dq_ptr"), constants | tall, two),
    ]
    return [Case(f"lesson 06 {name}", "sm_90a", *rest) for name, *rest in found]


def serving_lessons() -> list[Case]:
    """Those of what a server does: pages, quantised weights, experts."""
    pages, weights = module("tutorials", "13_paged_attention"), module("tutorials", "14_quantised_weights")
    experts = module("tutorials", "15_mixture_of_experts")
    layer = {name: "i32" for name in ("slots", "experts", "hidden", "inner")}
    lists = {"sorted_ptr": "*i32", "count_ptr": "*i32"}
    numbers = {name: "i32" for name in ("M", "N", "K", "steps")}
    scaled = {"scale_ptr": "*fp32", "out_ptr": "*fp32"}
    paged = half_pointers("q_ptr", "k_ptr", "v_ptr") | {
        "table_ptr": "*i32",
        "lengths_ptr": "*i32",
        "out_ptr": "*fp32",
        "lse_ptr": "*fp32",
        "scale": "fp32",
        "table_width": "i32",
        "part": "i32",
    }
    found = []
    for name, kernel, signature in (
        ("13 paged attention", pages.part_kernel, paged),
        ("14 weights of 8 bits", weights.int8_kernel, half_pointers("x_ptr") | {"w_ptr": "*i8"} | scaled | numbers),
        (
            "14 weights of 4 bits",
            weights.int4_kernel,
            half_pointers("x_ptr") | {"packed_ptr": "*i8", "row_bytes": "i32"} | scaled | numbers,
        ),
        ("15 experts, up", experts.up_kernel, half_pointers("x_ptr", "w_ptr", "h_ptr") | lists | layer),
        (
            "15 experts, down",
            experts.down_kernel,
            half_pointers("h_ptr", "w_ptr", "out_ptr") | {"share_ptr": "*fp32"} | lists | layer,
        ),
    ):
        source, more = {
            "13": (pages, {"HEADS": 8, "GROUP": 4, "ROWS": 16, "HEAD_DIM": 128, "PAGE": 16}),
            "14": (weights, {"BLOCK_M": 16}),
            "15": (experts, {"EXPERTS": 32} | ({"TOP_K": 4} if "up" in name else {})),
        }[name[:2]]
        found += [
            (
                f"{name} {i}",
                kernel.fn,
                signature,
                config.kwargs | more,
                {"num_warps": config.num_warps, "num_stages": config.num_stages},
            )
            for i, config in list(enumerate(source.CONFIGS))[::3]
        ]
    cases = []
    for name, kernel, signature, constants, options in found:
        rows = constants["BLOCK_M"] if "EXPERTS" in constants else constants.get("ROWS", 64)
        cases.append(Case(f"lesson {name}", "sm_90a", kernel, signature, constants, options, small=rows < 64))
    return cases


def all_cases() -> list[Case]:
    return products() + attentions() + lessons()


# ---------------------------------------------------------------------------
# What a compiled case must show
# ---------------------------------------------------------------------------


def shortcomings(case: Case, compiled) -> list[str]:
    """What is wrong with the machine code, in words; empty when nothing is."""
    ptx, found = compiled.asm["ptx"], []
    if compiled.asm["cubin"][:4] != b"\x7fELF":
        found.append("no machine code")
    if compiled.n_spills:
        found.append(f"spills {compiled.n_spills} registers")
    if compiled.metadata.shared > SHARED_LIMIT[case.target]:
        found.append(f"{compiled.metadata.shared} bytes of shared memory")
    found += [remark for remark in compiled.remarks if UNWANTED.search(remark)]
    product = "wgmma.mma_async" if case.target == "sm_90a" and not case.small else "mma.sync"
    if product not in ptx:
        found.append(f"no {product}")
    has_descriptors = any(kind.startswith("tensordesc") for kind in case.signature.values()) or "descriptors" in case.name
    if has_descriptors and case.target == "sm_90a":
        if "cp.async.bulk.tensor" not in ptx:
            found.append("no copies by TMA")
    elif case.pipelined and "cp.async.c" not in ptx:
        found.append("no asynchronous copies")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    bad = 0
    for case in all_cases():
        if options.only not in case.name or options.target not in case.target:
            continue
        start = time.perf_counter()
        try:
            compiled = case.compile()
            problems = shortcomings(case, compiled)
            numbers = f"{compiled.n_regs:4} regs {compiled.n_spills:4} spills {compiled.metadata.shared:7} shared"
        except Exception as problem:
            problems, numbers = [" ".join(str(problem).split())[:160]], " " * 39
        bad += bool(problems)
        print(
            f"{case.target:7} {case.name:75} {numbers} {time.perf_counter() - start:5.2f} s  "
            f"{'ok' if not problems else '; '.join(problems)}",
            flush=True,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
