# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page for each lesson: its comments as text, its code, what it prints, and figures.

A lesson runs in the interpreter while the site is built. Its speed on a GPU is
plotted from recorded figures only: a sweep in tutorials/recorded/ that the lesson
wrote on a GPU, or rows of benchmarks/results.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tilewright.parsing import parse

from . import pages, performance, plots

# Lesson -> heading of the recorded table, which rows, and the columns to plot; for lessons without a recorded sweep.
BESIDE = {"torch": "torch", "Triton, best": "Triton, best", "Tilewright": "Tilewright"}
PRODUCTS = {"cuBLAS": "cuBLAS", "Triton": "Triton", "Tilewright": "Tilewright"}
BEST = {"Triton, best": "Triton, best", "Tilewright, best": "Tilewright, best"}
TABLES = {
    "01": ("Memory-bound kernels, GB/s of useful traffic", r"vector add", BESIDE, "GB/s"),
    "02": ("Memory-bound kernels, GB/s of useful traffic", r"softmax", BESIDE, "GB/s"),
    "03": ("Matrix products", r"fp16.*\|pointers", PRODUCTS, "TFLOP/s"),
    "04": ("Kernels as models use them, GB/s of useful traffic", r"dropout", BESIDE, "GB/s"),
    "05": ("Memory-bound kernels, GB/s of useful traffic", r"layer norm", BESIDE, "GB/s"),
    "06": (
        "Attention",
        r".*\|(split-)?descriptors",
        {"cuDNN": "peer", "Triton": "Triton", "Tilewright": "Tilewright"},
        "TFLOP/s",
    ),
    "09": ("Matrix products", r"fp16.*\|persistent", PRODUCTS, "TFLOP/s"),
    "10": ("Matrix products", r"int8", PRODUCTS, "TFLOP/s"),
    "13": ("Products as models use them", r"decode", BEST, "GB/s"),
    "14": ("Products as models use them", r"int[48] weights", BEST, "TFLOP/s"),
    "17": ("Kernels as models use them, GB/s of useful traffic", r"Adam", BESIDE, "GB/s"),
}


def title_of(path: Path) -> str:
    return ast.get_docstring(parse(path.read_text())).splitlines()[0].rstrip(".")


def parts_of(source: str) -> list[tuple[str, str]]:
    """A lesson as ("text", markdown) and ("code", Python): comments that begin a line between statements are text."""
    tree = parse(source)
    docstring = ast.get_docstring(tree)
    lines = source.splitlines()[tree.body[0].end_lineno :]
    parts = [("text", docstring.partition("\n")[2].strip())]
    for block in re.split(r"\n(?:[ \t]*\n)+(?=#)|(?<=\S)\n\n\n(?=#)", "\n".join(lines).strip("\n")):
        rows = block.split("\n")
        count = next((i for i, row in enumerate(rows) if not row.startswith("#")), len(rows))
        # A comment right above a statement belongs to that statement, unless an empty line parts them.
        if count and (count == len(rows) or not rows[count].strip() or count > 2):
            parts.append(("text", "\n".join(re.sub(r"^# ?", "", row) for row in rows[:count])))
            rows = rows[count:]
        code = "\n".join(rows).strip("\n")
        if code:
            parts.append(("code", code))
    return parts


def _prose(content: str) -> str:
    """A docstring or comment as markdown; its indented lines are commands or formulas."""

    def shown(match):
        lines = match.group().rstrip("\n")
        kind = "console" if lines.lstrip().startswith("python") else "text"
        return f"\n```{kind}\n{textwrap.dedent(lines)}\n```\n"

    return re.sub(r"(?m)(?:^ {2,}\S.*(?:\n|\Z))+", shown, content)


def _body(source: str) -> str:
    text = []
    for kind, content in parts_of(source):
        if kind == "code":
            text.append(f"```python\n{content}\n```")
            continue
        text.append(_prose(content))
    return "\n\n".join(text)


def run(path: Path) -> dict:
    """What `lesson_run.py` says of a lesson."""
    script = Path(__file__).with_name("lesson_run.py")
    # Also where there is a GPU: a page is the same on every machine.
    environment = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": os.pathsep.join([str(pages.ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, str(script), str(path)], capture_output=True, text=True, env=environment, timeout=300
    )
    if done.returncode and done.stderr.startswith("this lesson needs "):
        return {"printed": done.stderr, "kernels": []}  # a framework that is not installed where the site is built
    if done.returncode:
        raise RuntimeError(f"{path.name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def recorded(path: Path) -> list[dict]:
    """The sweeps that the lesson wrote on a GPU."""
    folder = pages.ROOT / "tutorials" / "recorded"
    return [json.loads(one.read_text()) for one in sorted(folder.glob(f"{path.stem[:2]}_*.json"))]


def _speed(path: Path, page: str, made: dict) -> list[str]:
    """Markdown of the plots of recorded figures."""
    text = []
    for i, sweep in enumerate(recorded(path)):
        name = f"plots/lesson-{path.stem[:2]}-{i}"
        made.update(plots.lines(name, sweep["x_label"], sweep["xs"], sweep["lines"], sweep["unit"]))
        text += [plots.shown(name, page, sweep["name"]), f"*{sweep['name']}: {sweep['board']}, {sweep['date']}.*"]
    if not text and path.stem[:2] in TABLES:
        heading, wanted, series, unit = TABLES[path.stem[:2]]
        table = performance.tables()[heading].only(lambda row: re.match(wanted, "|".join(row[:2])))
        name = f"plots/lesson-{path.stem[:2]}"
        made.update(
            plots.bars(
                name, table.labels(), {key: table.numbers(column) for key, column in series.items()}, f"{unit} (more is better)"
            )
        )
        text += [
            "The benchmarks measured a kernel of this kind beside its peers ([all results](../performance.md)):",
            plots.shown(name, page, heading),
            f"*{performance.taken_where(table)}.*",
        ]
    return ["## On a GPU", *text] if text else []


def _compiled(path: Path, page: str, kernels: list[dict], made: dict) -> list[str]:
    """Markdown of what the compiler made of the lesson's kernels."""
    if not kernels:
        return []
    kinds = sorted(
        {kind for row in kernels for kind, _ in row["mix"]},
        key=lambda kind: -sum(dict(row["mix"]).get(kind, 0) for row in kernels),
    )
    labels = [f"{row['kernel']}, {row['target']}" for row in kernels]
    name = f"plots/lesson-{path.stem[:2]}-code"
    made.update(
        plots.stacked(
            name,
            labels,
            {kind: [dict(row["mix"]).get(kind, 0) for row in kernels] for kind in kinds},
            f"instructions of {kernels[0]['mix_of']} in the text of the kernel",
        )
    )
    table = [
        "| kernel | target | threads | registers | spilled bytes | shared memory, bytes | blocks on a multiprocessor |",
        "|---|---|---|---|---|---|---|",
    ]
    table += [
        f"| `{row['kernel']}` | {row['target']} | {row['threads']} | {row['registers'] or '-'} | {row['spilled_bytes'] or 0} "
        f"| {row['shared_bytes']} | {row['blocks']} |"
        for row in kernels
    ]
    return [
        "## What the compiler makes of it",
        "The kernels of this lesson, compiled for two GPUs with the arguments of their first launch on this page. "
        "The figures come from the compiler and need no GPU.",
        plots.shown(name, page, "Instructions of each kernel by kind"),
        "\n".join(table),
    ]


def page_of(path: Path) -> dict[str, str | bytes]:
    """The page of one lesson, with its plots."""
    facts = run(path)
    page, made = pages.lesson_page(path), {}
    printed = facts["printed"].replace(f"{pages.ROOT}/", "").strip("\n")
    text = [
        f"# {title_of(path)}",
        _body(path.read_text()),
        "## What it prints",
        f"`python tutorials/{path.name} --quick`, on a machine without a GPU:",
        f"```text\n{printed}\n```",
        *_speed(path, page, made),
        *_compiled(path, page, facts["kernels"], made),
    ]
    made[page] = "\n\n".join(text) + "\n"
    return made


def make() -> dict[str, str | bytes]:
    """All lessons, and the page that lists them."""
    made: dict = {}
    with ThreadPoolExecutor(2) as pool:
        for one in pool.map(page_of, pages.lessons()):
            made.update(one)
    rows = [
        f"- [{title_of(path)}]({path.stem}.md): {parts_of(path.read_text())[0][1].split('    python')[0].strip()}"
        for path in pages.lessons()
    ]
    made["lessons/index.md"] = (
        "\n".join(
            [
                "# Lessons",
                "",
                "Each lesson is a script in `tutorials/`. It checks its results, and on a GPU it measures itself beside torch.",
                "Without a GPU its kernels run in the interpreter, "
                "so every lesson but the one about CuPy can be followed on any machine.",
                "",
                *(re.sub(r"\s*\n\s*", " ", row) for row in rows),
            ]
        )
        + "\n"
    )
    return made
