# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases of tuned launches share: kernels in every order of decorators, and a benchmark that finds what it is told."""

import pathlib
import sys

import tilewright
from harness.launch_cases import constexpr

PACKAGE = str(pathlib.Path(tilewright.__file__).parent)


def python_calls(body):
    """Functions of the package that `body` runs, by name."""
    seen = []

    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            seen.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        body()
    finally:
        sys.setprofile(None)
    return seen


def configs(*blocks, **options):
    return [tilewright.Config({"BLOCK": b}, **options) for b in blocks]


def fixed_bench(best):
    """A benchmark that finds this BLOCK the fastest; it launches each once."""

    def bench(call, quantiles):
        call()
        return [0.0 if bench.block == best else 1.0] * len(quantiles)

    def note(named, reset_only=False):
        bench.block = named["BLOCK"]

    return {"do_bench": bench, "pre_hook": note}


def make_kernel():

    @tilewright.jit
    def kernel(x, n, scale, BLOCK: constexpr, MODE: constexpr = 0):
        pass

    return kernel


def make_tuned(kernel=None, best=128, key=("n",), blocks=(64, 128, 256), **options):
    return tilewright.autotune(configs(*blocks), key=list(key), **fixed_bench(best), **options)(kernel or make_kernel())


def stacks():
    """Tuned kernels in every order with heuristics; MODE is computed from n."""
    mode = {"MODE": lambda args: args["n"] % 2}
    tuned = make_tuned()
    return {
        "tuned": tuned,
        "one configuration": tilewright.autotune(configs(128), key=["n"])(make_kernel()),
        "heuristics": tilewright.heuristics({"BLOCK": lambda args: 128, **mode})(make_kernel()),
        "heuristics over tuned": tilewright.heuristics(mode)(make_tuned()),
        "tuned over heuristics": make_tuned(tilewright.heuristics(mode)(make_kernel())),
    }


def slow_launches(tuned, body):
    """How many launches of `body` go through Python."""
    asked, slow = [], tuned._launch
    tuned._launch = lambda *call: asked.append(call) or slow(*call)
    body()
    tuned._launch = slow
    return len(asked)
