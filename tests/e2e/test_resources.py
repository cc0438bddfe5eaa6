# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forecast of registers, beside what the assembler reports for the benchmarks' and lessons' kernels.

`pytest -s` shows the error of each kernel. The compiler decides by the forecast before there is machine code, so this
also notices when code generation begins to need more registers than passes think.
"""

import dataclasses
import statistics
import sys

import pytest

from harness.resource_cases import TARGETS, compare, forecast_of, line_of, resource_cases
from tilewright import _core


def errors_of(rows) -> list[float]:
    return sorted(abs(row["forecast"] / row["report"] - 1) for row in rows)


@pytest.fixture
def assembler():
    _core.find_wheel_folders(sys.path)
    if not _core.assembler_info()[0]:
        pytest.skip("no nvJitLink library")


@pytest.mark.parametrize("target", TARGETS)
def test_forecast_is_near_the_report(target, assembler):
    rows = [compare(case) for case in resource_cases() if case.target == target]
    print("\n".join(map(line_of, rows)))
    errors = errors_of(rows)
    assert len(rows) >= 70 and all(row["report"] > 0 for row in rows)
    assert statistics.median(errors) <= 0.10, f"median error {statistics.median(errors):.1%}"
    # Most of the rest is near, too: the model is no average of kernels that it does not understand.
    assert errors[len(errors) * 8 // 10] <= 0.30, f"a fifth of the kernels errs by {errors[len(errors) * 8 // 10]:.1%} and more"


def test_forecast_grows_with_what_is_alive():
    """Twice the row in each thread: at least as many registers more as it has elements."""
    case = next(case for case in resource_cases() if case.target == "sm_90a" and "in_use layer_norm_backward" in case.name)
    few, many = (
        forecast_of(dataclasses.replace(case, constants={"BLOCK": block}, options={"num_warps": 4}))[0]
        for block in (1024, 2048)
    )
    assert many["data"] == 2 * few["data"] and many["forecast"] - few["forecast"] >= 1024 // (4 * 32)
    assert many["place"], "there is an operation where most is alive"
