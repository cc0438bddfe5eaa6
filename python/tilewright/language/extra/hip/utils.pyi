# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Registers of AMD's GPUs."""


from .... import foreign as foreign
from ..._values import _Tile
from ...basics import builtin as builtin


def memrealtime() -> _Tile:
    """The clock of AMD's GPUs: E0125 here."""
