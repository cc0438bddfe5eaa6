# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The campaigns with small counts; `python tests/campaigns/run.py` has the full ones."""

import pytest

from campaigns import mutation
from campaigns.run import CAMPAIGNS


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign(name):
    program, small, _ = CAMPAIGNS[name]
    line = program(**small)
    assert line.startswith(name), line


def test_mutants_have_their_places():
    """A mutant whose text is gone, or stands twice, would test nothing or something else."""
    counts = {m.name: (mutation.FOLDER / m.file).read_text().count(m.text) for m in mutation.MUTANTS}
    assert {name: count for name, count in counts.items() if count != 1} == {}
    assert len(counts) == len(mutation.MUTANTS) > 20
