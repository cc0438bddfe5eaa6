# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests to export: kernels with signatures, grids and configurations, from a command line or a JSON file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

from .. import _core, errors
from ..kernel_arguments import refused
from .model import TunedTable

_KERNEL_FIELDS = {"kernel", "name", "signature", "grid", "configurations", "options", "tuned"}
_FILE_FIELDS = {"name", "targets", "kernels"}


@dataclass
class KernelRequest:
    """One kernel: `kernel` is FILE:FUNCTION or a jit function; `configurations` are constants and options by name."""

    kernel: object
    signatures: list
    grid: str | None = None
    name: str | None = None
    configurations: list = field(default_factory=list)
    options: dict = field(default_factory=dict)
    is_tuned: bool = False
    table: TunedTable | None = None


def targets_of(text) -> list:
    """The targets of "sm_80,sm_90a"; E0306 for one that does not exist."""
    known = _core.target_names()
    targets = [name.strip() for name in text.split(",") if name.strip()]
    for name in targets:
        if name not in known:
            raise errors.from_native(
                "E0306",
                "UnsupportedTarget",
                f"'{name}' is no target that code can be exported for",
                f"use {', '.join(known)}, or several with commas between them",
            )
    if not targets:
        raise errors.from_native("E0306", "UnsupportedTarget", "no target to export code for", f"use {', '.join(known)}")
    return list(dict.fromkeys(targets))


def _checked(data, fields, what):
    if not isinstance(data, dict):
        raise refused(f"{what} is no JSON object", f"give it the fields {', '.join(sorted(fields))}")
    for name in data:
        if name not in fields:
            raise refused(f"{what} has a field '{name}'", f"the fields are {', '.join(sorted(fields))}")
    return data


def _kernel_of(data, folder) -> KernelRequest:
    data = _checked(data, _KERNEL_FIELDS, "a kernel of the file")
    if not isinstance(data.get("kernel"), str) or not isinstance(data.get("signature"), (str, list)):
        raise refused(
            "a kernel of the file names no 'kernel' or no 'signature'",
            '"kernel": "kernels.py:add", "signature": "*fp32:16,*fp32:16,i32"',
        )
    path, separator, function = data["kernel"].rpartition(":")
    if path.endswith(".py"):
        path = os.path.join(folder, path)
    signatures = data["signature"]
    return KernelRequest(
        path + separator + function,
        [signatures] if isinstance(signatures, str) else signatures,
        data.get("grid"),
        data.get("name"),
        data.get("configurations") or [],
        data.get("options") or {},
        bool(data.get("tuned")),
    )


def read_file(path):
    """(name or None, targets or None, kernels) of a JSON file; paths of kernels count from its folder."""
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except ValueError as error:
            raise refused(f"{path} is no JSON: {error}", "see docs/exporting.md for an example") from None
    data = _checked(data, _FILE_FIELDS, "the file")
    if not isinstance(data.get("kernels"), list) or not data["kernels"]:
        raise refused(f"{path} names no kernels", '"kernels": [{"kernel": "kernels.py:add", "signature": "*fp32,i32"}]')
    targets = data.get("targets")
    return (
        data.get("name"),
        ",".join(targets) if isinstance(targets, list) else targets,
        [_kernel_of(kernel, os.path.dirname(os.path.abspath(path))) for kernel in data["kernels"]],
    )
