# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States: kernels that run inside are booked under the state's name instead of their own."""

from __future__ import annotations

import functools

from .session import state_name

COMPUTE_METADATA_SCOPE_NAME = "__proton_launch_metadata"


class state:
    """Context manager and decorator."""

    def __init__(self, name):
        self.name = name
        self._tokens: list = []

    def __enter__(self):
        self._tokens.append(state_name.set(self.name))
        return self

    def __exit__(self, exception_type, exception, traceback):
        state_name.reset(self._tokens.pop())

    def __call__(self, function):

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with type(self)(self.name):
                return function(*args, **kwargs)

        return inside


class metadata_state(state):
    """The state in which metadata of launches are computed."""

    def __init__(self, kernel_name=None):
        super().__init__(COMPUTE_METADATA_SCOPE_NAME + (f":{kernel_name}" if kernel_name else ""))


def enter_state(name):
    """As `with state(name)`, up to exit_state."""
    state_name.set(name)


def exit_state():
    state_name.set(None)
