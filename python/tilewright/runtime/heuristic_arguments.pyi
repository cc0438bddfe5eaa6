# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""`@heuristics`: arguments that are computed from the others."""

from collections.abc import Callable
from typing import Any


class Heuristics:
    """A kernel some of whose arguments are computed from the others.

    The native base class calls the functions for `kernel[grid](...)`."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        ...
    def __getitem__(self, grid: Any, /) -> Callable[..., Any]:
        ...
    fn: Any
    values: dict[str, Callable[[dict[str, Any]], Any]]
    arg_names: list[str]
    def __init__(self, fn: Any, arg_names: Any, values: Any) -> None:
        ...
    def given_parameters(self) -> Any:
        """Names of the parameters that a launch gets from here."""
    run: Any
    def interpret(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        ...
    def bind(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """The launch with these arguments and the values of now, frozen (JITFunction.bind)."""


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Decorator: `values` maps parameters to functions of the bound arguments."""

__all__ = [
    "Heuristics", "heuristics",
]
