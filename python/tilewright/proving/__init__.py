# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proves that a kernel's accesses are in bounds and that its programs do not race (docs/proving.md).

  terms, operations, evaluate   a kernel's numbers as expressions of program, lane and arguments
  accesses                      its memory accesses
  setting, launch, conditions   the launches for which something is proved
  encode, questions             the questions to z3
  replay                        witnesses, run by the interpreter
  report, command               the answers for the user

`prove_launch` is about one launch, `prove_conditions` about all that satisfy conditions; both give a Proof.
"""

from ..lazy_names import lazy_names

__all__ = ["Proof", "prove_conditions", "prove_launch"]

# The command line adds its parser without loading the rest.
__getattr__ = lazy_names(__name__, {name: f"proving.proof:{name}" for name in __all__})
