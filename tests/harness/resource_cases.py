# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose registers are forecast and compared with what the assembler reports.

The tensor-core kernels of the benchmarks and lessons, and the benchmarks' kernels over rows and elements, and with
products as models use them, each with the tiles of its benchmark, for sm_80 and sm_90a. As a script this prints the
forecast beside the report, and what the forecast is made of:

    PYTHONPATH=python:tests python -m harness.resource_cases [--only softmax] [--target sm_80]
"""

import argparse
import functools
import json
import statistics
import sys

from harness.tensor_core_cases import Case, all_cases, kernels

TARGETS = ("sm_80", "sm_90a")
# Of launches, by the parameter's name.
FLOATS = {"eps", "p", "rate", "beta1", "beta2", "log2_scale"}
LARGE = [(128, 128, 32, 4, 4), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3)]
SMALL = [(16, 128, 64, 4, 4), (64, 128, 64, 4, 4), (128, 128, 64, 8, 4)]


def case(target, file, name, pointers: str, constants, warps=None, stages=None) -> Case:
    """`pointers`: the element types in the order of the parameters, as "fp16 fp16 fp32"."""
    kernel = getattr(kernels(file), name)
    kinds, signature = iter(pointers.split()), {}
    for parameter in kernel.params:
        if parameter.name.endswith("_ptr"):
            signature[parameter.name] = "*" + next(kinds)
        elif parameter.name not in constants:
            signature[parameter.name] = "fp32" if parameter.name in FLOATS else "i32"
    options = {name: number for name, number in (("num_warps", warps), ("num_stages", stages)) if number}
    shown = " ".join(str(value) for value in (*constants.values(), *([f"w{warps}"] if warps else [])))
    return Case(
        f"{file.removesuffix('_kernels')} {name.removesuffix('_kernel')} {shown}",
        target,
        kernel,
        signature,
        constants,
        options,
        pipelined=False,
    )


def rows(target) -> list[Case]:
    found = [
        case(target, "kernels", "add_kernel", "fp32 fp32 fp32", {"BLOCK": 1024}),
        case(target, "kernels", "partial_sum_kernel", "fp32 fp32", {"BLOCK": 4096}),
        case(target, "kernels", "final_sum_kernel", "fp32 fp32", {"BLOCK": 2048}),
        case(target, "kernels", "transpose_kernel", "fp32 fp32", {"BLOCK_M": 128, "BLOCK_N": 128}),
    ]
    for block in (1024, 4096, 8192, 16384, 32768):
        for kind in ("fp16", "fp32"):
            found += [
                case(target, "kernels", "softmax_kernel", f"{kind} {kind}", {"BLOCK": block}),
                case(target, "kernels", "layer_norm_kernel", " ".join([kind] * 4), {"BLOCK": block}),
            ]
    return found


def in_use(target) -> list[Case]:
    make = functools.partial(case, target, "in_use_kernels")
    half = "fp16 fp16 fp16 fp16 fp16 fp16"
    found = [
        make("swiglu_kernel", half, {"BLOCK": 1024}),
        make("gelu_kernel", half, {"BLOCK": 1024}),
        make("adam_kernel", "fp32 fp16 fp32 fp32 fp32 fp32 fp32", {"BLOCK": 1024}),
        make("dropout_kernel", half, {"BLOCK": 1024}),
        make("cross_entropy_kernel", "fp16 i64 fp32", {"BLOCK": 4096}),
        make("rope_kernel", half, {"HEADS": 32, "HALF": 64}),
        make("dequantise_kernel", "i8 fp16 fp16", {"BLOCK": 1024}),
        make("embedding_kernel", "i64 fp16 fp16", {"BLOCK": 4096}),
        make("column_sum_kernel", "fp16 fp32", {"BLOCK_M": 32, "BLOCK_N": 128}),
        make("cumulative_sum_kernel", "fp32 fp32", {"BLOCK": 4096}),
        make("row_times_matrix_kernel", half, {"BLOCK_M": 16, "BLOCK_K": 512}),
        make("causal_conv_kernel", half, {"BLOCK_T": 32, "BLOCK_C": 128}),
        make("persistent_softmax_kernel", half, {"BLOCK": 4096, "STAGES": 3}),
    ]
    for block in (2048, 8192):
        found += [
            make("rms_norm_kernel", half, {"BLOCK": block}),
            make("quantise_kernel", "fp16 fp8e4nv fp32", {"BLOCK": block})
            if target != "sm_80"
            else make("rms_norm_kernel", "fp32 fp32 fp32 fp32 fp32", {"BLOCK": block}),
            make("layer_norm_backward_kernel", "fp16 fp16 fp16 fp32 fp32 fp16", {"BLOCK": block}),
        ]
    return found


def products_in_use(target) -> list[Case]:
    found = []
    for name, pointers, tiles, extra in (
        ("linear_gelu_kernel", "fp16 fp16 fp16 fp16", LARGE, {}),
        ("int8_weights_kernel", "fp16 i8 fp16 fp16", SMALL, {}),
        ("int4_weights_kernel", "fp16 i32 fp16 fp16", SMALL, {}),
        ("weight_gradient_kernel", "fp16 fp16 fp32", LARGE, {}),
        ("tf32_kernel", "fp32 fp32 fp32", [(128, 128, 32, 4, 3), (128, 128, 32, 8, 4)], {"TRANSPOSED": True}),
        ("tf32_kernel", "fp32 fp32 fp32", [(128, 128, 32, 4, 3), (128, 256, 32, 8, 3)], {"TRANSPOSED": False}),
        ("split_k_kernel", "fp16 fp16 fp32", SMALL[:2], {"SPLIT": 4}),
        ("gathered_rows_kernel", "fp16 i64 fp16 fp16", LARGE, {}),
    ):
        for *tile, warps, stages in tiles:
            constants = {**extra, **dict(zip(("BM", "BN", "BK"), tile))}
            found.append(case(target, "products_in_use_kernels", name, pointers, constants, warps, stages))
    for block, warps, stages in ((64, 4, 3), (64, 2, 2), (128, 4, 2)):
        constants = {"PART": 1024, "GROUP": 16, "HEAD_DIM": 128, "BN": block}
        found.append(
            case(target, "products_in_use_kernels", "decode_kernel", "fp16 fp16 fp16 fp32 fp32", constants, warps, stages)
        )
    return found


def resource_cases() -> list[Case]:
    found = [one for one in all_cases() if one.target in TARGETS]
    for target in TARGETS:
        found += rows(target) + in_use(target) + products_in_use(target)
    return found


def forecast_of(one: Case) -> tuple[dict, dict]:
    """The forecast of a case, and all that the compiler says of it; without machine code."""
    import tilewright
    from tilewright import _core
    from tilewright.compiler.options import parse_options

    divisible = {name: 16 for name, kind in one.signature.items() if kind.startswith(("*", "i", "tensordesc"))}
    source = tilewright.ASTSource(one.kernel, one.signature, one.constants, divisible)
    options = parse_options({"arguments_may_overlap": False, **one.options})
    text = _core.emit_ttir(
        one.kernel, source.runtime_signature, source.constants, source.divisibility, options, one.target, True
    )
    result = _core.compile_ir(text, "ttir", {**options, "last_stage": "ptx", "facts": True}, one.target)
    return json.loads(result["facts"])["registers"], result


def compare(one: Case) -> dict:
    """The forecast and the report of a case; the report is for the code without a limit of registers."""
    from tilewright import _core

    _core.find_wheel_folders(sys.path)
    forecast, result = forecast_of(one)
    report = _core.assemble_ptx(result["ptx"], one.target, name=result["name"])
    return {
        "name": one.name,
        "target": one.target,
        "report": report["n_regs"],
        "spills": report["spill_stores"],
        "warps": result["metadata"]["num_warps"],
        **forecast,
    }


def line_of(row: dict) -> str:
    """One line with the report, the forecast, its error, and what it is made of."""
    parts = "  ".join(f"{name} {row[name]}" for name in ("data", "addresses", "scalars", "warps", "spills"))
    error = row["forecast"] / row["report"] - 1
    return f"{row['target']:7} {row['name']:72} {row['report']:4} {row['forecast']:4} {error:+7.1%}  {parts}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--target", default="")
    options = parser.parse_args()
    found = []
    for one in resource_cases():
        if options.only in one.name and options.target in one.target:
            found.append(compare(one))
            print(line_of(found[-1]), flush=True)
    errors = [abs(row["forecast"] / row["report"] - 1) for row in found]
    print(f"{len(found)} kernels, median error {statistics.median(errors):.1%}")


if __name__ == "__main__":
    main()
