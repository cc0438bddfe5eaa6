# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program is, and the table of all of them.

A program is a function of the device that returns a `Work`: a function or module and
the arguments of one or more calls. The runner calls it as it is and compiled, and
compares results, arguments that were changed, and gradients.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, Callable

GROUPS = (
    "pointwise",
    "indexing",
    "reductions",
    "scans",
    "products",
    "layers",
    "training",
    "dynamic",
    "flex",
    "graphs",
    "kernels",
    "operators",
    "settings",
)

PROGRAMS: dict = {}


@dataclass
class Work:
    """One function and the calls that are compared."""

    function: Callable
    calls: list
    # Called with (expected, got) in place of the element-wise comparison.
    check: Any = None
    # A function without arguments in place of the eager call.
    reference: Any = None


@dataclass
class Program:
    name: str
    group: str
    make: Callable
    # Keywords of torch.compile.
    compile: dict = field(default_factory=dict)
    # Entries of torch._inductor.config for this program.
    config: dict = field(default_factory=dict)
    # Whether gradients of inputs and parameters are compared, too.
    train: bool = False
    # (relative, absolute) in place of the dtype's.
    tolerance: Any = None
    # Only a GPU can run it: wide products, graphs, templates.
    gpu: bool = False
    # Times the warm call, for the table of speeds.
    timed: bool = False
    # Calls per input: graphs are recorded by the second one and replayed by the third.
    repeats: int = 1


def program(group: str, name: str = "", **settings):
    """Decorator: registers the function under its own name, or `name`."""

    def register(make):
        key = f"{group}.{name or make.__name__}"
        assert key not in PROGRAMS, key
        PROGRAMS[key] = Program(key, group, make, **settings)
        return make

    return register


def load_all() -> dict:
    for group in GROUPS:
        importlib.import_module(f"{__package__}.{group}")
    return PROGRAMS
