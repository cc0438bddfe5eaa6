# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each planted mistake is reported with its code and its line; its corrected form is silent."""

import contextlib
from dataclasses import asdict

import pytest

from planted.case import all_cases
from tilewright import errors, knobs
from tilewright.checking import journal
from tilewright.checking.session import Options, Session
from tilewright.runtime import checks

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
def test_collected_report_is_the_raised_one(case, tmp_path, monkeypatch):
    """`tilewright check` says of a mistake what a launch raises: place, sentence, notes and help."""
    with pytest.raises(errors.TilewrightError) as info:
        run(case, case.faulty)
    raised = info.value
    journal.create(tmp_path, asdict(Options(check=case.checks)))
    monkeypatch.setattr(checks, "session", lambda: Session(tmp_path))
    with contextlib.suppress(AssertionError):  # the launch goes on to look at the results
        case.launch(case.faulty)
    collected = next(record for record in journal.read(tmp_path) if record["kind"] == "finding")
    assert collected["code"] == raised.code
    assert [(f["line"], f["column"]) for f in collected["frames"]] == [(f.line, f.column) for f in raised.frames]
    assert (collected["text"], collected["notes"], collected["help"]) == (raised.message, list(raised.notes), raised.help)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.filterwarnings("error")
def test_corrected_form_is_silent(case):
    run(case, case.corrected)


def test_names_are_unique():
    assert len({str(case) for case in CASES}) == len(CASES)
    assert not [case.kind for case in CASES if "-" in case.kind]  # the table takes names apart there
