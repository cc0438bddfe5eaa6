# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of the reference in the interpreter; a process of its own.

    python scripts/docs_site/run_examples.py docs/examples [FUNCTION OF LIBDEVICE ...]

The output is JSON: for each example its text, and what it prints or how it fails.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import linecache
import os
import re
import runpy
import sys
import tempfile
import textwrap
import traceback
import warnings
from pathlib import Path

import numpy as np

import tilewright as tw
import tilewright.language as tl
from tilewright import errors, knobs
from tilewright.language.extra import libdevice

# What each example finds; no line of text stands before its own, so that places in messages fit.
GIVEN = {"np": np, "tw": tw, "tl": tl}


def examples_in(folder: Path) -> dict[str, str]:
    """Name -> text, of all files."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        for section in re.split(r"(?m)^# %% ", path.read_text())[1:]:
            name, _, text = section.partition("\n")
            if name in found:
                raise ValueError(f"{path}: a second example of {name}")
            found[name] = text.strip("\n")
    return found


CODE = re.compile(r"[EW]\d{4}")


def is_body(name: str, text: str) -> bool:
    """Whether an example is the body of a kernel, and not a whole script."""
    return not name.startswith("tw.") and not CODE.fullmatch(name) and "@" not in text


def script_of(name: str, text: str) -> str:
    """A whole script as it is; what is the body of a kernel in one."""
    if not is_body(name, text):
        return text + "\n"
    return f"@tw.jit\ndef example():\n{textwrap.indent(text, '    ')}\n\n\nexample[(1,)]()\n"


def run_script(path: Path, is_interpreted: bool):
    with knobs.runtime.scope():
        # Without an array among the arguments nothing else says that a kernel is interpreted.
        knobs.runtime.interpret = is_interpreted
        runpy.run_path(str(path), init_globals=GIVEN, run_name="__main__")


def outcome(name: str, text: str, folder: Path) -> dict:
    """The text of an example, and what it printed or "failed" with a reason."""
    path = folder / (
        "example.py" if CODE.fullmatch(name) else f"{name.replace('.', '_')}_example.py"
    )  # kernels are read from files
    path.write_text(script_of(name, text))
    linecache.checkcache()
    printed = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(record=True) as said,
        ):
            warnings.simplefilter("always")
            try:
                run_script(path, is_body(name, text))
            except (errors.TilewrightError, SystemExit) as error:
                if not CODE.fullmatch(name):
                    raise
                print(f"{type(error).__name__}{error}" if isinstance(error, errors.TilewrightError) else "", end="")
            for warning in said:
                print(f"{warning.category.__name__}{warning.message}")
    except Exception:
        return {"code": text, "failed": traceback.format_exc(limit=-4)}
    shown = printed.getvalue().replace(f"{folder}/", "")
    if CODE.fullmatch(name) and f"[{name}]" not in shown:
        return {"code": text, "failed": f"it says {shown or 'nothing'}"}
    return {"code": text, "printed": shown}


# Arguments that a function of libdevice may want: the first row with which it gives a number makes its example.
ARGUMENTS = [
    ("float32", (0.5, 0.25, 2.0, 3.0)),
    ("float32", (1.5, 0.25, 2.0, 3.0)),
    ("int32", (3, 5, 6)),
    ("float64", (0.5, 0.25, 2.0)),
    ("int64", (3, 5, 6)),
    ("uint32", (3, 5, 6)),
    ("uint64", (3, 5, 6)),
]


def of_libdevice(name: str, folder: Path) -> dict:
    """The example of one function of libdevice, whose parameters all have one type or are an int and a float."""
    count = len(inspect.signature(getattr(libdevice, name)).parameters)
    attempts = [[f"tl.full((2,), {value}, tl.{kind})" for value in values[:count]] for kind, values in ARGUMENTS]
    if count == 2:
        attempts += [[attempts[2][0], attempts[0][1]], [attempts[0][0], attempts[2][1]]]
    for attempt in attempts:
        made = outcome(f"libdevice.{name}", f"print(tl.extra.libdevice.{name}({', '.join(attempt)}))", folder)
        if "nan" not in made.get("printed", "nan"):
            break
    return made


if __name__ == "__main__":
    texts = examples_in(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some examples write files
        results = {name: outcome(name, text, Path(folder)) for name, text in texts.items()}
        results |= {f"libdevice.{name}": of_libdevice(name, Path(folder)) for name in sys.argv[2:]}
        os.chdir("/")
    print(json.dumps(results))
