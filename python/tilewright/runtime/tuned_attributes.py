# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of a tuned kernel that programs read and set, and what follows when one is set."""

from __future__ import annotations

from ..tuning.options import TuningOptions


class ToldNative:
    """An attribute that programs may set, of which the native side then hears; `make` is what is kept of a value."""

    def __init__(self, make=lambda value: value):
        self.make = make

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, kernel, owner=None):
        return self if kernel is None else kernel.__dict__["_" + self.name]

    def __set__(self, kernel, value):
        kernel.__dict__["_" + self.name] = self.make(value)
        kernel._tell_native_side()


class Option:
    """One of the tuning options, as an attribute that programs read and set."""

    def __init__(self, name):
        self.name = name

    def __get__(self, kernel, owner=None):
        return self if kernel is None else getattr(_options_of(kernel), self.name)

    def __set__(self, kernel, value):
        setattr(_options_of(kernel), self.name, value)


def _options_of(kernel):
    # A subclass may set one before it calls our constructor, or never call that.
    return kernel.__dict__.get("options") or kernel.__dict__.setdefault("options", TuningOptions())


class OfThread:
    """An attribute that each thread has for itself; None where it has set none."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, kernel, owner=None):
        return self if kernel is None else kernel._of_thread.__dict__.get(self.name)

    def __set__(self, kernel, value):
        kernel._of_thread.__dict__[self.name] = value
