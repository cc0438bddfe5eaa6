# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright prove` over the planted launches: no verdict is wrong.

A faulty kernel whose class is bounds or races is never proved, a corrected kernel of any class never refuted. Most are
decided; those that are not depend on what was loaded, or on an order that atomics make, and are named here.
"""

import pytest

from planted.case import all_cases
from tilewright import errors
from tilewright.proving import command

pytest.importorskip("z3", exc_type=ImportError)

CASES = all_cases()
RACES = ("E0408", "E0409", "E0410", "E0411")
KNOWN = [case for case in CASES if case.code in ("E0407", *RACES)]

# Faulty kernels that the solver does not refute: they depend on data, and on the order of atomics.
FAULTY_OUTSIDE = {"bounds-embedding-index", "atomics-last-program-relaxed"}
# Corrected kernels in which atomics order what programs do, of which proofs know nothing.
CORRECTED_OUTSIDE = {
    "atomics-acquires-alone",
    "atomics-last-program-relaxed",
    "atomics-unlocked-by-store",
    "atomics-without-release",
    "races-two-phases",
}


def proofs_of(case, kernel):
    """Proofs of the launches, which then run in the interpreter; its reports are another test's."""
    with command.proving_launches() as proofs:
        try:
            case.launch(kernel)
        except errors.TilewrightError as error:
            assert error.code != "E0429", error
    return proofs


def verdicts(proof, question):
    return {getattr(finding, question).verdict for finding in proof.findings}


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_mistake_is_never_proved_away(case):
    question = "races" if case.code in RACES else "bounds"
    proofs = proofs_of(case, case.faulty)
    assert proofs and not all(verdicts(proof, question) <= {"proved"} for proof in proofs)
    assert any(proof.refuted for proof in proofs) == (str(case) not in FAULTY_OUTSIDE)
    assert not any("undecided" in verdicts(proof, question) for proof in proofs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_corrected_form_is_never_refuted(case):
    proofs = proofs_of(case, case.corrected)
    assert not any(proof.refuted for proof in proofs), "\n".join(map(str, proofs))
    if case in KNOWN:
        assert all(proof.proved for proof in proofs) == (str(case) not in CORRECTED_OUTSIDE), "\n".join(map(str, proofs))
