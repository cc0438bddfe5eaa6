# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each planted mistake is reported with its code and its line; its corrected form is silent."""

import pytest

from planted.case import all_cases
from tilewright import errors, knobs

CASES = all_cases()


def run(case, kernel):
    with knobs.runtime.scope():
        knobs.runtime.check = case.checks
        case.launch(kernel)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistake_is_reported(case):
    with pytest.raises(errors.TilewrightError) as info:
        run(case, case.faulty)
    assert info.value.code == case.code, str(info.value)
    assert info.value.frames[0].line == case.fault_line, str(info.value)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.filterwarnings("error")
def test_corrected_form_is_silent(case):
    run(case, case.corrected)


def test_names_are_unique():
    assert len({str(case) for case in CASES}) == len(CASES)
    assert not [case.kind for case in CASES if "-" in case.kind]  # the table takes names apart there
