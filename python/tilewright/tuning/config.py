# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One tuning point."""

from __future__ import annotations

from .. import errors


class Config:
    """One tuning point: constexpr meta-parameters in `kwargs`, and launch options.

    It has Triton's attributes and no others: programs take its options from dir(), and
    make copies by Config(**config.__dict__).
    """

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self):
        """Meta-parameters and the options that are set."""
        return {**self.kwargs, **{k: v for k, v in _options(self).items() if v is not None}}

    def __eq__(self, other):
        return isinstance(other, Config) and _identity(self) == _identity(other)

    def __hash__(self):
        return hash(_identity(self))

    def __str__(self):
        parts = [f"{k}: {v}" for k, v in self.kwargs.items()]
        parts += [f"{k}: {v}" for k, v in _options(self).items() if k != "ir_override"]
        return ", ".join(parts)

    __repr__ = __str__


def _options(config):
    return {
        "num_warps": config.num_warps,
        "num_ctas": config.num_ctas,
        "num_stages": config.num_stages,
        "maxnreg": config.maxnreg,
        "ir_override": config.ir_override,
    }


def _identity(config):
    return (*config.all_kwargs().items(), config.pre_hook)


def check_conflicts(config, kwargs):
    """E0603 where a call gives what the configuration gives, too."""
    for name in config.all_kwargs():
        if name in kwargs:
            raise errors.make("E0603", k=name)
