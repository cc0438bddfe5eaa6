# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""The names of AMD's device library. A kernel that calls one is refused by E0125."""


from .... import foreign as foreign
from ...basics import builtin as builtin
