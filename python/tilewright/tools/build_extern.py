# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of Triton's tool that writes a Python module for a library of device functions; using one is E0125."""

from .. import foreign


def _refuse(name):
    raise foreign.error(
        f"build_extern.{name}", "Triton's way to link libraries", "write functions that call tl.extern_elementwise"
    )


def _refused_class(name):
    return type(name, (), {"__module__": __name__, "__init__": lambda self, *args, **kwargs: _refuse(name)})


Symbol, ExternLibrary, Libdevice, LLVMDisassembler = map(
    _refused_class, ("Symbol", "ExternLibrary", "Libdevice", "LLVMDisassembler")
)


def build(llvm_dis_path, lib_path, lib_name, output_dir):
    """E0125."""
    _refuse("build")
