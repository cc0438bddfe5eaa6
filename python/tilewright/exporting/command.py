# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright export`: kernels as a C library or as a package."""

from __future__ import annotations

import os
import sys

from ..kernel_arguments import option_of, options_of_arguments, refused, split_at_commas
from .build import build
from .c_library import write_library
from .package_file import write_package
from .requests import KernelRequest, read_file, targets_of
from .tuned import add_tuned_results

_TARGETS = "sm_80,sm_90a"


def _requests(arguments):
    """(name or None, targets or None, kernels) of a command line."""
    if arguments.kernel.endswith(".json"):
        if arguments.signature or arguments.grid or arguments.config or arguments.tuned or options_of_arguments(arguments):
            raise refused(
                "a file of kernels has its signatures, grids, configurations and options in it",
                "write what -s, -g, -c, --tuned and options of a launch say into the file",
            )
        return read_file(arguments.kernel)
    configurations = [dict(option_of(part) for part in split_at_commas(text)) for text in arguments.config]
    return (
        None,
        None,
        [
            KernelRequest(
                arguments.kernel,
                arguments.signature,
                arguments.grid,
                None,
                configurations,
                options_of_arguments(arguments),
                arguments.tuned,
            )
        ],
    )


def export_command(arguments) -> int:
    name, targets, requests = _requests(arguments)
    output = os.path.normpath(arguments.output)
    name = arguments.name or name or os.path.splitext(os.path.basename(os.path.abspath(output)))[0]
    for request in requests:
        if request.is_tuned:
            add_tuned_results(request)
    library = build(name, requests, targets_of(arguments.target or targets or _TARGETS), arguments.ptx)
    for kernel in library.kernels:
        images = sum(len(variant.images) for variant in kernel.variants)
        print(f"{kernel.name}: {len(kernel.variants)} variants, {images} images", file=sys.stderr)
    write = write_package if output.endswith(".twpkg") else write_library
    for path in write(library, output):
        print(path)
    return 0
