# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row of a contest, a compiler that takes part in it, and the names of configurations."""

import importlib
from pathlib import Path

import peers

DEVICE = "cuda"


class Problem:
    """One row: inputs, peers, and how kernels are launched on them."""

    title = ""  # of the row
    family = ""  # rows of one family share compiled kernels and checks
    operations = 0  # floating-point (or integer) operations
    kernels: tuple = ()

    def make(self, seed: int):
        """A set of inputs and outputs, random or, for a check, with exact results."""
        raise NotImplementedError

    def bytes_of(self) -> int:
        """Bytes of one such set."""
        raise NotImplementedError

    def peers(self) -> dict:
        """Name -> function of a set."""
        raise NotImplementedError

    def configurations(self, kernel: str, thorough: bool) -> list[dict]:
        raise NotImplementedError

    def launch(self, compiler, kernel: str, config: dict, data, start):
        """Launches; `start(kernel, grid, *args, **kwargs)` does it. Returns what start returned, or a list of it."""
        raise NotImplementedError

    def outputs(self, data) -> list:
        """The tensors that a launch writes."""
        raise NotImplementedError

    def expected(self, data) -> list:
        """What they must be."""
        raise NotImplementedError

    def error_of(self, actual, expected) -> str:
        """What is wrong with an output, or nothing."""
        raise NotImplementedError

    def checks(self) -> list:
        """Small problems whose results are known."""
        return []


class Compiler:
    """A peer that compiles the kernels: its name, the kernels, its descriptors."""

    def __init__(self, name: str, path: Path, launch_options: dict):
        self.name = name
        self.launch_options = launch_options
        self.kernels = peers.load_kernels(name, path)
        if self.kernels:
            self.TensorDescriptor = importlib.import_module(name + ".tools.tensor_descriptor").TensorDescriptor
            self.asynchronous = getattr(importlib.import_module(name), "AsyncCompileMode", None)

    def run(self, kernel, grid, *args, **kwargs):
        return kernel[grid](*args, **kwargs, **self.launch_options)

    def compile_only(self, kernel, grid, *args, **kwargs):
        return kernel.warmup(*args, grid=grid, **kwargs, **self.launch_options)


def name_of(config: dict) -> str:
    """128x256x64 w8 s3 ... in the order in which the configuration was written."""
    tiles = "x".join(str(v) for k, v in config.items() if k.startswith("BLOCK"))
    short = {"num_warps": "w", "num_stages": "s", "GROUP_M": "g"}
    rest = []
    for key, value in config.items():
        if key in short:
            rest.append(f"{short[key]}{value}")
        elif isinstance(value, dict):
            rest.append(f"{key} ({name_of(value)})")
        elif isinstance(value, bool):
            rest += [key.lower()] if value else []
        elif not key.startswith("BLOCK"):
            rest.append(f"{key.lower()} {value}")
    return " ".join([tiles, *rest]).strip()


def first_lines(problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text[:300]}"
