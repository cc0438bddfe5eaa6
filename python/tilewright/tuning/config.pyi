# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""One tuning point."""

from collections.abc import Callable
from typing import Any


class Config:
    """One tuning point: constexpr meta-parameters in `kwargs`, and launch options.

    It has Triton's attributes and no others: programs take its options from dir(), and
    make copies by Config(**config.__dict__)."""
    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3, num_ctas: int = 1, maxnreg: int | None = None, pre_hook: Callable[..., Any] | None = None, ir_override: str | None = None) -> None:
        ...
    def all_kwargs(self) -> dict[str, Any]:
        """Meta-parameters and the options that are set."""
    kwargs: dict[str, Any]
    num_warps: int
    num_stages: int
    num_ctas: int
    maxnreg: int | None
    pre_hook: Callable[..., Any] | None
    ir_override: str | None
    def __eq__(self, other: Any) -> bool:
        ...
    def __hash__(self) -> int:
        ...


def check_conflicts(config: Config, kwargs: dict[str, Any]) -> None:
    """E0603 where a call gives what the configuration gives, too."""
