# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of lessons, with their kernels compiled and run by the emulator.

test_tutorials.py runs the lessons as they are: in the interpreter where there is no GPU. Here each launch
of a check takes the path of the compiler instead, for the general target and the fast one.
"""

import pytest

import tilewright
from harness.devices import TARGETS, Emulator
from harness.tensor_core_cases import module, split
from tilewright.runtime.jit import JITFunction

# By lesson: the arguments of a call of its `check`.
CHECKS = {
    "04_dropout": [(2100, 0.1, "float16")],
    "07_libdevice": [(600, 50)],
    # Parts of five blocks, so that the ring of tiles goes round; of less than one; and with rows enough for wgmma.
    "13_paged_attention": [([150, 1, 37], 1, 4, 32, 16, 160), ([33], 1, 20, 16, 64, 32), ([150], 1, 64, 16, 16, 160)],
    "14_quantised_weights": [(3, 10, 2560)],
    "15_mixture_of_experts": [(37, 5, 2, 48, 40)],
    "16_state_space_scan": [(2, 3, 150, 4)],
    "17_fused_optimiser": [([(7, 5), (1,), (300,)], 2, 128)],
}


class Emulated:
    """A kernel whose launches the emulator runs, with the first configuration where it is tuned."""

    def __init__(self, kernel, emulator):
        self.kernel, self.emulator, self.options = kernel, emulator, {}
        while not isinstance(self.kernel, JITFunction):
            constants, options = split(self.kernel.configs[0].all_kwargs())
            self.options |= {**constants, **options}
            self.kernel = self.kernel.fn

    def __getitem__(self, grid):
        return lambda *args, **options: self.emulator.run(self.kernel, grid, *args, **{**self.options, **options})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CHECKS)
def test_check(name, target, monkeypatch):
    lesson, compiled = module("tutorials", name), []
    monkeypatch.setattr(module("tutorials", "lesson"), "ON_GPU", False)
    emulator = Emulator(target, inspect=compiled.append)
    for attribute, value in list(vars(lesson).items()):
        if isinstance(value, (JITFunction, tilewright.runtime.Autotuner)) and attribute.endswith("_kernel"):
            monkeypatch.setattr(lesson, attribute, Emulated(value, emulator))
    for arguments in CHECKS[name]:
        lesson.check(*arguments)
    assert compiled and all(kernel.n_spills == 0 for kernel in compiled)
