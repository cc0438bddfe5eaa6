# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler made of a kernel, line by line: `tilewright explain` and `kernel.explain(...)`."""

__all__ = ["Explanation", "explain"]


def __getattr__(name):
    # When asked for: launches have no use for it.
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from . import facts

    return getattr(facts, name)
