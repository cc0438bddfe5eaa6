# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lower layers ask of upper ones: the package's own `__init__`, which is above all, gives the answers.

An answer is the home of a function (lazy_names.py), so that nothing is loaded before it is asked.
"""

from __future__ import annotations

from .lazy_names import at

#: Question -> home of the function that answers it.
answers: dict = {}


def ask(question: str):
    """The function that answers a question."""
    return at(answers[question])
