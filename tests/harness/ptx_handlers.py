# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which function of the PTX emulator carries out which instruction."""

HANDLERS = {}


def handles(*names):
    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function

    return register
