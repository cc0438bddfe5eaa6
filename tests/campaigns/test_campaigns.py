# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The campaigns with small counts; `python tests/campaigns/run.py` has the full ones."""

import pytest

from campaigns.run import CAMPAIGNS


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign(name):
    program, small, _ = CAMPAIGNS[name]
    line = program(**small)
    assert line.startswith(name), line
