# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explanations of what the compiler made of a kernel, line by line: `tilewright explain` and `kernel.explain(...)`."""

from ..lazy_names import lazy_names

__all__ = ["Explanation", "explain"]

# When asked for: the command line loads the package for its options.
__getattr__ = lazy_names(__name__, {"Explanation": "explaining.facts:Explanation", "explain": "explaining.facts:explain"})
