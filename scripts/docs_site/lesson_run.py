# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one lesson in the interpreter, then compiles the kernels that it launched; a process of its own.

    python scripts/docs_site/lesson_run.py tutorials/01_vector_add.py

The last line of the output is JSON: what the lesson printed, and for each kernel and
target what the compiled code needs.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from pathlib import Path

TARGETS = ["sm_80", "sm_90a"]


def launched_by(lesson: Path) -> tuple[str, dict]:
    """What the lesson prints, and the first launch of each of its kernels."""
    from tilewright import observers

    launches = {}

    def observer(run):
        def noted(function, grid, bound, options):
            launches.setdefault(function.__name__, (function, dict(bound), dict(options or {})))
            return run(function, grid, bound, options)

        return noted

    observers.interpreted_launches.append(observer)
    sys.path.insert(0, str(lesson.parent))
    sys.argv = [lesson.name, "--quick"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(lesson), run_name="__main__")
    observers.interpreted_launches.remove(observer)
    return printed.getvalue(), launches


def without_memory(value):
    """The argument with arrays that have a type and a shape only, so that the launch is compiled and not interpreted."""
    import tilewright
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    if isinstance(value, TensorDescriptor):
        return TensorDescriptor(without_memory(value.base), value.shape, value.strides, value.block_shape)
    if isinstance(value, tuple):
        return tuple(map(without_memory, value))
    if not hasattr(value, "__array_interface__") or not value.shape:
        return value
    return tilewright.MockTensor(str(value.dtype), value.shape)


def compiled(launches: dict) -> list[dict]:
    """A row for each kernel and target: registers, spills, shared memory, threads, blocks on a multiprocessor, instructions."""
    from tilewright import knobs
    from tilewright.checking.compiled import call_of

    rows = []
    for target in TARGETS:
        with knobs.runtime.scope():
            knobs.runtime.override_arch = target
            for name, (function, bound, options) in launches.items():
                positional, keywords = call_of(function, {key: without_memory(value) for key, value in bound.items()})
                facts = function.compiled_form().explain(*positional, **keywords, **options)
                rows.append(
                    {
                        "kernel": name,
                        "target": target,
                        "mix": facts.mix,
                        "mix_of": facts.mix_of,
                        "blocks": facts.occupancy["blocks"],
                        "limit": facts.occupancy.get("limits"),
                        **facts.resources,
                    }
                )
    return rows


if __name__ == "__main__":
    printed, launches = launched_by(Path(sys.argv[1]).resolve())
    print(json.dumps({"printed": printed, "kernels": compiled(launches)}))
