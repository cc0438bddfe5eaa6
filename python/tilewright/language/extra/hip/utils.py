# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers of AMD's GPUs."""

from .... import foreign
from ...core import builtin


@builtin
def memrealtime():
    """The clock of AMD's GPUs: E0125 here."""
    raise foreign.error("hip.memrealtime", "AMD GPUs", "use tilewright.language.extra.cuda.globaltimer")
