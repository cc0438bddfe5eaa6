# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random branches, loops and returns: the tile IR does what the interpreter does.

The interpreter runs the kernel as Python; the front end turns the same kernel into
scf, which harness/scalar_ir.py runs. Both must leave the same memory.
"""

import importlib.util
import os
import random
import subprocess

import numpy as np
import pytest

from harness.native import program
from harness.random_control_flow import Generator
from harness.scalar_ir import StepLimit, run_kernel
from tilewright import _core

# TILEWRIGHT_FUZZ_SEEDS=20000 for a long run.
SEEDS = int(os.environ.get("TILEWRIGHT_FUZZ_SEEDS", "300"))
PER_TEST = 50
UNTOUCHED = -99


def load(folder, seed):
    path = folder / f"seed{seed}.py"
    path.write_text(Generator(seed).program())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def specialisation(seed):
    """Arguments of one launch; an int of 1 becomes a constant, as in a launch."""
    pick = random.Random(seed)
    values = {"n": pick.choice([1, 2, 3, 5]), "k": pick.choice([1, 4])}
    signature = {"p": "*i32"} | {name: "i32" for name, value in values.items() if value != 1}
    constants = {"K": seed % 4} | {name: 1 for name, value in values.items() if value == 1}
    return values, signature, constants


def generic_form(folder, texts):
    """All modules in one call: starting the program costs more than its work."""
    path = folder / "all.mlir"
    path.write_text("\n// -----\n".join(texts))
    done = subprocess.run(
        [program("tools/tilewright-opt"), "--mlir-print-op-generic", "--split-input-file", path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("// -----")


@pytest.mark.parametrize("first", range(0, SEEDS, PER_TEST))
def test_agreement(tmp_path, first):
    seeds = range(first, first + PER_TEST)
    kernels = [load(tmp_path, seed) for seed in seeds]
    texts = [_core.emit_ttir(kernel, *specialisation(seed)[1:]) for seed, kernel in zip(seeds, kernels)]
    compared = 0
    for seed, kernel, text in zip(seeds, kernels, generic_form(tmp_path, texts)):
        values, _, constants = specialisation(seed)
        expected = np.full(64, UNTOUCHED, np.int32)
        try:
            memory = run_kernel(text, [0, *(v for v in values.values() if v != 1)])
        except StepLimit:
            continue
        kernel[(1,)](expected, *values.values(), K=constants["K"])
        found = [memory.get(address, UNTOUCHED) for address in range(64)]
        assert found == expected.tolist(), f"seed {seed}\n{Generator(seed).program()}"
        compared += 1
    assert compared > PER_TEST * 9 // 10
