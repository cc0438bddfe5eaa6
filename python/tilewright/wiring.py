# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of upper layers that lower layers call. The package's own `__init__`, which is above all layers, provides them.

Each is given as the home of a function (lazy_names.py), so that nothing is loaded before it is called.
"""

from __future__ import annotations

from .lazy_names import at

#: Question -> home of the function that answers it.
answers: dict = {}


def ask(question: str):
    """The function that answers a question."""
    return at(answers[question])
