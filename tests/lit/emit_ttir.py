# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the tile IR that the front end makes of the kernels of a file.

    python emit_ttir.py file.py | FileCheck file.py

The file marks each kernel with `@show`: types of the run-time parameters as
keywords, or a dict; what else is given is a constant.

    @show(x="*fp32", n="i32", constants=dict(BLOCK=128))
    @tilewright.jit
    def kernel(x, n, BLOCK: tl.constexpr): ...

An error is printed as the user sees it, without the path of the file.
"""

import importlib.util
import os
import sys

from tilewright import _core, errors

shown = []


def show(constants=None, divisibility=None, options=None, target="", locations=False, **signature):
    """Marks a kernel to be printed; the order in the file is the order of the output."""

    def mark(kernel):
        shown.append((kernel, signature, constants or {}, divisibility or {}, options or {}, target, locations))
        return kernel

    return mark


def main(path):
    sys.modules["emit_ttir"] = sys.modules["__main__"]
    spec = importlib.util.spec_from_file_location("kernels", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    folder = os.path.dirname(os.path.abspath(path)) + os.sep
    for kernel, *specialisation in shown:
        try:
            text = _core.emit_ttir(kernel, *specialisation)
        except errors.TilewrightError as error:
            text = f"{type(error).__name__}{error}"
        print(f"// {kernel.__name__}")
        print(text.replace(folder, ""))


if __name__ == "__main__":
    main(sys.argv[1])
