# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main job, seen in ten seconds: make demo.

Runs the kernels of the lessons, on the GPU where there is one and in the
interpreter where there is not, checks them against NumPy, and shows the machine
code that the compiler makes for an H100 or H200 (sm_90a), which needs no GPU.
"""

import importlib.util
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tutorials"))

import lesson  # noqa: E402

import tilewright as tw  # noqa: E402

TARGET = "sm_90a"
COLOUR = sys.stdout.isatty()


def paint(text: str, code: str) -> str:
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


def heading(text: str):
    print("\n" + paint(text, "1;36"))


def load_lesson(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tutorials" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compile_kernel(kernel, signature, constants):
    """The compiled kernel and how long it took, in milliseconds."""
    # As for a launch with aligned tensors and sizes that are multiples of 16.
    aligned = {name: 16 for name, kind in signature.items() if kind != "fp32"}
    source = tw.ASTSource(kernel, signature, constants, aligned)
    start = time.perf_counter()
    compiled = tw.compile(source, TARGET)
    return compiled, (time.perf_counter() - start) * 1e3


def first_lines(text: str, wanted, count: int) -> list[str]:
    """The first lines that hold one of the words."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if any(word in line for word in wanted)][:count]


def show_machine_code(vector_add, softmax, layer_norm):
    heading(f"Compiled for {TARGET}, in this process, without a GPU")
    row = {"x_ptr": "*fp16", "out_ptr": "*fp16", "x_row_stride": "i32", "out_row_stride": "i32", "columns": "i32"}
    norm = {"x_ptr": "*fp16", "weight_ptr": "*fp16", "bias_ptr": "*fp16", "y_ptr": "*fp16", "mean_ptr": "*fp32",
            "rstd_ptr": "*fp32", "stride": "i32", "columns": "i32", "eps": "fp32"}  # fmt: skip
    add = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    jobs = [
        ("vector add", vector_add.add_kernel, add, {"BLOCK": 1024}),
        ("softmax, 4096 columns", softmax.softmax_kernel, row, {"BLOCK": 4096}),
        ("layer norm, 4096 columns", layer_norm.forward_kernel, norm, {"BLOCK": 4096}),
    ]
    # The first compilation of a process also loads the assembler.
    compile_kernel(
        layer_norm.backward_columns_kernel,
        dict.fromkeys(("partial_dw_ptr", "partial_db_ptr", "dw_ptr", "db_ptr"), "*fp32") | {"groups": "i32", "columns": "i32"},
        {"BLOCK_ROWS": 32, "BLOCK_COLUMNS": 128},
    )
    print(f"  {'kernel':<26}{'compile':>10}{'warps':>7}{'registers':>11}{'spills':>8}{'shared':>9}{'cubin':>10}")
    shown = None
    for name, kernel, signature, constants in jobs:
        compiled, milliseconds = compile_kernel(kernel, signature, constants)
        shown = shown or compiled
        if "cubin" not in compiled.asm:
            print(f"  {name:<26}{milliseconds:>7.0f} ms   PTX only: no assembler found (pip install nvidia-nvjitlink)")
            continue
        print(
            f"  {name:<26}{milliseconds:>7.0f} ms{compiled.metadata.num_warps:>7}{compiled.n_regs:>11}"
            f"{compiled.n_spills:>8}{compiled.shared:>8}B{len(compiled.asm['cubin']):>9}B"
        )

    heading("Vector add: the lines that move memory")
    print(paint("  PTX", "1"))
    for line in first_lines(shown.asm["ptx"], ("ld.global", "st.global"), 4):
        print("    " + line)
    try:
        sass = shown.asm["sass"]
    except Exception:  # no cubin, or no disassembler on this machine
        print(paint("  SASS: no disassembler here (cuobjdump or nvdisasm)", "2"))
        return
    print(paint("  SASS", "1"))
    for line in first_lines(sass, ("LDG", "STG"), 4):
        print("    " + line)


def main():
    place = "the GPU" if lesson.ON_GPU else "the CPU, in the interpreter (no GPU here)"
    print(paint(f"Tilewright {tw.__version__}", "1") + f"  running on {place}")
    vector_add, softmax, layer_norm = map(load_lesson, ("01_vector_add", "02_fused_softmax", "05_layer_norm"))

    heading("Vector add")
    vector_add.check(98432)
    heading("Softmax")
    softmax.check(37, 781, "float32", 1e-6)
    heading("Layer norm, forward and backward")
    layer_norm.check(64, 512, "float32", 1e-4)

    if lesson.ON_GPU:
        import torch

        heading("Bandwidth, 2^26 elements")
        x = torch.randn(2**26, device="cuda")
        ours = lesson.gigabytes_per_second(lambda: vector_add.add(x, x), 3 * x.nbytes)
        theirs = lesson.gigabytes_per_second(lambda: x + x, 3 * x.nbytes)
        print(f"  vector add   Tilewright {ours:.0f} GB/s   torch {theirs:.0f} GB/s")
    show_machine_code(vector_add, softmax, layer_norm)
    print(f"\nNext: python tutorials/01_vector_add.py   tilewright doctor   {ROOT / 'README.md'}")


if __name__ == "__main__":
    main()
