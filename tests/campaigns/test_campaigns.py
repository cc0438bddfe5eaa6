# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The campaigns with small counts; `python tests/campaigns/run.py` has the full ones."""

import pytest

from campaigns import differential, mutation
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


def test_a_campaign_goes_on_where_it_was_ended(tmp_path, monkeypatch):
    seen, state = [], tmp_path / "state.json"
    monkeypatch.setattr(differential, "problem_in_child", lambda seed, *_: seen.append(seed) or ("differ" if seed == 4 else ""))
    with pytest.raises(AssertionError, match=r"seeds \[4\] of 3 to 4 fail"):
        differential.run(2, 3, report=lambda *_, **__: None, state=state)
    with pytest.raises(AssertionError, match=r"seeds \[4\] of 3 to 6 fail"):
        differential.run(4, 3, report=lambda *_, **__: None, state=state)
    assert seen == [3, 4, 5, 6]
