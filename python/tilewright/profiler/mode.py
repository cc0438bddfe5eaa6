# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modes of Triton's profiler. Sessions here have one, events around launches; others are refused."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BaseMode:
    name: str = ""

    def __str__(self):
        return self.name


class Default(BaseMode):
    """What sessions do."""
