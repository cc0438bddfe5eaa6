# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the built programs are.

The build folder and its programs. `make test` names the folder; then a
missing program is a failure. Without it (a wheel on a GPU machine) the tests
that need one are skipped.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build"))


def program(relative: str) -> Path:
    """A built program, or a skip (a failure under `make test`)."""
    path = BUILD / relative
    if not path.exists():
        reason = f"{relative} is not in {BUILD}"
        if "TILEWRIGHT_BUILD_DIR" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    return path
