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
from tilewright import errors
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler.compiler import ASTSource, compile
from tilewright.kernel_arguments import load_function, parse_signature
from tilewright.runtime.driver import driver
from tilewright.triton_alias import install

_C_TYPES = {"i1": "int8_t", "fp32": "float", "fp64": "double", **{f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)},
            **{f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)}}

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

_SOURCE = string.Template("""\
// $constants
#include <cuda.h>
#include <stdint.h>

static const unsigned char ${name}_code[$size] = {$code};
static CUmodule ${name}_module = NULL;
static CUfunction ${name}_function = NULL;

static CUresult ${name}_prepare(void) {
  if (${name}_function)
    return CUDA_SUCCESS;
  CUresult result = cuModuleLoadData(&${name}_module, ${name}_code);
  CUfunction function = NULL;
  if (result == CUDA_SUCCESS)
    result = cuModuleGetFunction(&function, ${name}_module, "$entry");
  if (result == CUDA_SUCCESS && $shared > 49152)
    result = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, $shared);
  if (result == CUDA_SUCCESS)
    ${name}_function = function;
  return result;
}

// A failure shows at the launch, which tries again.
void load_$name(void) { (void)${name}_prepare(); }

void unload_$name(void) {
  if (${name}_module)
    (void)cuModuleUnload(${name}_module);
  ${name}_module = NULL;
  ${name}_function = NULL;
}

CUresult $name(CUstream stream$parameters) {
  unsigned int grid[3] = {$grid};
  CUresult result = ${name}_prepare();
  if (result != CUDA_SUCCESS || grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return result;
  void *arguments[] = {$addresses};
  return cuLaunchKernel(${name}_function, grid[0], grid[1], grid[2], $threads, 1, 1, $shared, stream, arguments, NULL);
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


def _refused(message, help):
    return errors.make("E0117", message=message, help=help)


def _c_type(name, kind) -> str:
    if kind.startswith("*"):
        return "CUdeviceptr"
    if kind not in _C_TYPES:
        raise _refused(f"the parameter '{name}' of type {kind} has no C type", "give numbers as fp32, fp64 or integers, and tensors as pointers")
    return _C_TYPES[kind]


def _target(text):
    if text is None:
        return driver.active.get_current_target()
    backend, architecture, *warp_size = text.split(":")
    return GPUTarget(backend, int(architecture) if architecture.isdigit() else architecture, int(*warp_size) if warp_size else 32)


def _compiled(args, kernel, types, constants, divisibility):
    compiled = compile(ASTSource(kernel, types, constants, divisibility), _target(args.target),
                       {"num_warps": args.num_warps, "num_stages": args.num_stages})
    metadata = compiled.metadata
    if metadata.tensor_maps or metadata.host_tensor_maps or metadata.global_scratch_size:
        raise _refused("the kernel needs tensor maps or memory that a launch makes, and C code has no such launch",
                       "load and store through pointers, or launch it from Python")
    if compiled.asm.get("cubin") is None:
        raise _refused("there is no assembler for machine code", "install nvidia-nvjitlink; see tilewright doctor")
    return compiled


def compile_kernel(args: CompileArgs):
    """Writes the source and header of one specialisation: (name of its C function, files)."""
    kernel = load_function(f"{args.path}:{args.kernel_name}")
    grid = [part.strip() for part in args.grid.split(",")]
    if len(grid) != 3:
        raise _refused(f"the grid '{args.grid}' has {len(grid)} parts", "give three C expressions: \"(n + 127) / 128, 1, 1\"")
    types, constants, divisibility = parse_signature(kernel, args.signature)
    compiled = _compiled(args, kernel, types, constants, divisibility)

    ones = [name for name, entry in zip(kernel.arg_names, args.signature.split(",")) if entry.strip().endswith(":1")]
    algorithm = f"warps{args.num_warps}xstages{args.num_stages}"
    digest = hashlib.sha256(f"{args.signature.replace(' ', '')} {algorithm}".encode()).hexdigest()[:8]
    suffix = "".join(f"{place}c" if name in ones else f"{place}d" for place, name in enumerate(kernel.arg_names)
                     if name in ones or divisibility.get(name) == 16)
    parameters = {name: _c_type(name, types[name]) for name in kernel.arg_names if name in types}
    everything = {name: parameters.get(name, "int32_t") for name in kernel.arg_names if name in types or name in ones}
    name = "_".join([args.out_name or args.kernel_name, digest, suffix])
    code = compiled.asm["cubin"]
    values = {
        "name": name, "entry": compiled.metadata.name, "size": len(code), "code": ",".join(map(str, code)),
        "parameters": "".join(f", {kind} {parameter}" for parameter, kind in parameters.items()),
        "all_parameters": ", ".join(f"{kind} {parameter}" for parameter, kind in everything.items()),
        "addresses": ", ".join(f"&{parameter}" for parameter in parameters) or "NULL",
        "algorithm": "_".join(["x".join(str(v) for n, v in constants.items() if n not in ones), algorithm]),
        "constants": ", ".join(f"{n} = {v!r}" for n, v in constants.items()), "grid": ", ".join(f"(unsigned int)({part})" for part in grid),
        "threads": compiled.metadata.num_warps * compiled.metadata.warp_size, "shared": compiled.metadata.shared,
    }
    base = Path(args.out_path or args.out_name or args.kernel_name)
    files = []
    for ending, template in ((".c", _SOURCE), (".h", _HEADER)):
        file = base.with_suffix(f".{digest}_{suffix}{ending}")
        file.write_text(template.substitute(values))
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
