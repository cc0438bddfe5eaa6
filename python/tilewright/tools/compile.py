# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as C source, made ahead of time: the command line and function of Triton's `tools.compile`.

    python -m tilewright.tools.compile kernels.py -n scale -s "*fp32:16, *fp32:16, fp32, i32, 1024" \\
        -g "(n + 1023) / 1024, 1, 1" -t cuda:90:32 -on scale -o build/scale

writes `build/scale.HASH_SUFFIX.c` and `.h`, which hold the machine code and a function
`CUresult scale_HASH_SUFFIX(CUstream, ...)`; `tools.link` joins several of them into one
that looks at its arguments. The suffix names the specialised parameters: `0d` is
divisible by 16, `3c` equal to 1. Parameters of the C function are the kernel's without
its constants; the grid is three C expressions over them.
"""

from __future__ import annotations

import hashlib
import string
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

# By their full names: programs run this file as a script.
from tilewright import _core
from tilewright.exporting.build import build
from tilewright.exporting.c_library import LibraryText, template
from tilewright.exporting.c_parameters import number_type
from tilewright.exporting.model import is_descriptor
from tilewright.exporting.requests import KernelRequest
from tilewright.kernel_arguments import load_function, parse_signature, refused
from tilewright.runtime.driver import driver
from tilewright.triton_alias import install

_HEADER = string.Template("""\
#pragma once
#include <cuda.h>
#include <stdint.h>

// tt-linker-backend: cuda
// tt-linker: $name:$all_parameters:$algorithm
void load_$name(void);
void unload_$name(void);
CUresult $name(CUstream stream$parameters);
""")

# After what every exported library has: the functions that Triton's tools have for it.
_FUNCTIONS = string.Template("""\
// A failure shows at the launch, which tries again.
void load_$name(void) { (void)tw_load_all(); }
void unload_$name(void) { tw_unload_all(); }

CUresult $name(CUstream stream$parameters) {
  const TwGrid programs = {$grid};
  int status = ${name}_launch($arguments);
  return (CUresult)(status < TW_DRIVER_LIMIT ? status : CUDA_ERROR_INVALID_VALUE);
}
""")


@dataclass
class CompileArgs:
    """What the command line says."""

    path: str = ""
    kernel_name: str = ""
    signature: str = ""
    grid: str = ""
    target: str | None = None
    num_warps: int = 1
    num_stages: int = 3
    out_name: str | None = None
    out_path: Path | None = None


def _c_type(name, kind) -> str:
    if is_descriptor(kind):
        raise refused(
            f"the descriptor '{name}' has no type in C as Triton writes it", "use tilewright export, or pass a pointer"
        )
    return "CUdeviceptr" if kind.startswith("*") else number_type(name, kind)


def _target(text) -> str:
    """The target of cuda:90:32, or of this machine's GPU."""
    architecture = str(driver.active.get_current_target().arch) if text is None else text.split(":")[1]
    return _core.target_name(int(architecture)) if architecture.isdigit() else architecture


def compile_kernel(args: CompileArgs):
    """Writes the source and header of one specialisation: (name of its C function, files)."""
    kernel = load_function(f"{args.path}:{args.kernel_name}")
    grid = [part.strip() for part in args.grid.split(",")]
    if len(grid) != 3:
        raise refused(f"the grid '{args.grid}' has {len(grid)} parts", 'give three C expressions: "(n + 127) / 128, 1, 1"')
    types, constants, divisibility = parse_signature(kernel, args.signature)

    ones = [name for name, entry in zip(kernel.arg_names, args.signature.split(",")) if entry.strip().endswith(":1")]
    algorithm = f"warps{args.num_warps}xstages{args.num_stages}"
    digest = hashlib.sha256(f"{args.signature.replace(' ', '')} {algorithm}".encode()).hexdigest()[:8]
    suffix = "".join(
        f"{place}c" if name in ones else f"{place}d"
        for place, name in enumerate(kernel.arg_names)
        if name in ones or divisibility.get(name) == 16
    )
    parameters = {name: _c_type(name, types[name]) for name in kernel.arg_names if name in types}
    everything = {name: parameters.get(name, "int32_t") for name in kernel.arg_names if name in types or name in ones}
    name = "_".join([args.out_name or args.kernel_name, digest, suffix])
    passed = [
        f"(void *)(uintptr_t){parameter}" if kind == "CUdeviceptr" else parameter for parameter, kind in parameters.items()
    ]
    values = {
        "name": name,
        "parameters": "".join(f", {kind} {parameter}" for parameter, kind in parameters.items()),
        "all_parameters": ", ".join(f"{kind} {parameter}" for parameter, kind in everything.items()),
        "arguments": ", ".join(["stream", "programs", *passed]),
        "algorithm": "_".join(["x".join(str(v) for n, v in constants.items() if n not in ones), algorithm]),
        "grid": ", ".join(f"(unsigned int)({part})" for part in grid),
    }
    # The C code does not look for arrays that overlap, as Triton's never did.
    options = {"num_warps": args.num_warps, "num_stages": args.num_stages, "arguments_may_overlap": True}
    request = KernelRequest(kernel, [args.signature], name=f"{name}_launch", options=options)
    library = LibraryText(build(name, [request], [_target(args.target)], with_ptx=False))
    body = library.body(library.code, _FUNCTIONS.substitute(values))
    source = "\n".join(
        [f"// {', '.join(f'{n} = {v!r}' for n, v in constants.items())}", "#include <cuda.h>", template("types.h.in"), body]
    )
    base = Path(args.out_path or args.out_name or args.kernel_name)
    files = []
    for ending, text in ((".c", source), (".h", _HEADER.substitute(values))):
        file = base.with_suffix(f".{digest}_{suffix}{ending}")
        file.write_text(text)
        files.append(file)
    return name, files


def main(arguments=None):
    parser = ArgumentParser(prog="compile", description="Writes C source that holds a compiled kernel and launches it.")
    parser.add_argument("path", help="a Python file with the kernel; it is run")
    parser.add_argument("--kernel-name", "-n", required=True)
    parser.add_argument("--target", "-t", help="cuda:90:32; this machine's GPU where it is not given")
    parser.add_argument("--num-warps", "-w", type=int, default=1)
    parser.add_argument("--num-stages", "-ns", type=int, default=3)
    parser.add_argument("--out-name", "-on", help="first part of the C function's name")
    parser.add_argument("--out-path", "-o", type=Path, help="the files' path without their endings")
    parser.add_argument("--signature", "-s", required=True, help="types and constants by position: '*fp32:16, i32, 1024'")
    parser.add_argument("--grid", "-g", required=True, help="three C expressions")
    install()  # the kernel's file may import either name
    compile_kernel(CompileArgs(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
