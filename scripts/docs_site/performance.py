# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page on performance: the tables of benchmarks/results and of the compatibility page as plots."""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import pages, plots

PAGE = "performance.md"
RESULTS = "benchmarks/results/h200.md"


@dataclass
class Table:
    """One table of a page: the heading above it, the sentence on board and date, columns and rows."""

    heading: str
    taken: str
    columns: list[str]
    rows: list[list[str]]

    def labels(self) -> list[str]:
        return [row[0] for row in self.rows]

    def numbers(self, column: str) -> list[float | None]:
        place = self.columns.index(column)
        return [_number(row[place]) for row in self.rows]

    def only(self, wanted) -> Table:
        return Table(self.heading, self.taken, self.columns, [row for row in self.rows if wanted(row)])


def _number(cell: str) -> float | None:
    found = re.match(r"-?\d+(\.\d+)?", cell)
    return float(found.group()) if found else None


def tables(path: str = RESULTS) -> dict[str, Table]:
    """The first table below each heading of the second level."""
    found = {}
    for section in (pages.ROOT / path).read_text().split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        table = re.search(r"^\|(.+)\|\n\|[-| ]+\|\n((?:\|.+\|\n?)+)", text, re.MULTILINE)
        if not table:
            continue
        taken = re.search(r"board .*?date \d{4}-\d\d-\d\d", text, re.DOTALL) or re.search(
            r"(?:H200, torch|16 cores, torch) [^,]+, Triton [\s\S]{0,50}?\d{4}-\d\d-\d\d", text
        )
        cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in table.group(2).splitlines()]
        found[heading] = Table(
            heading,
            " ".join(taken.group().split()) if taken else "",
            [cell.strip() for cell in table.group(1).split("|")],
            cells,
        )
    return found


def taken_where(table: Table) -> str:
    """`One NVIDIA H200, 2026-11-21, torch ..., Triton ...` from the line above a table."""
    facts = dict(re.findall(r"(board|driver|torch|triton|date) ([^;]+)", table.taken))
    if "board" not in facts:
        return table.taken
    return (
        f"{facts['board']}, driver {facts.get('driver', 'unknown')}, torch {facts['torch']}, Triton {facts['triton']}, "
        f"{facts['date']}"
    )


INTRODUCTION = """# Performance

Each plot shows a table of [the results](project/h200.md), which also says what was tried and what is slow. All figures
of one plot come from one machine: Tilewright and its peers took turns in one process, on the same inputs, and every
output was checked. [How they are measured](project/benchmarks.md) has the commands.
"""


def _part(table: Table, name: str, series: dict[str, str], unit: str, sentence: str, made: dict, labels=None) -> str:
    """A section with one plot; `series` maps the name in the legend to a column."""
    made.update(
        plots.bars(
            f"plots/{name}", labels or table.labels(), {key: table.numbers(column) for key, column in series.items()}, unit
        )
    )
    return (
        f"## {table.heading.split(',')[0]}\n\n{sentence}\n\n{plots.shown(f'plots/{name}', PAGE, table.heading)}\n\n"
        f"*{taken_where(table)}.*\n"
    )


def _of_products(table: Table) -> Table:
    """Of each shape, the kernel that was fastest under Tilewright."""
    place = table.columns.index("Tilewright")
    best: dict[str, list[str]] = {}
    for row in table.rows:
        if row[0] not in best or _number(row[place]) > _number(best[row[0]][place]):
            best[row[0]] = row
    return Table(table.heading, table.taken, table.columns, list(best.values()))


def _of_others(made: dict) -> str:
    """A section on the functions of other repositories: ratios, from the page on compatibility."""
    table = tables("docs/compatibility.md")["Speed of their functions"]
    made.update(
        plots.ratios(
            "plots/others", table.labels(), table.numbers("ratio"), "time under Triton / time under Tilewright (more is better)"
        )
    )
    return (
        "\n\n".join(
            [
                "## Functions of other repositories",
                "Functions of public repositories, timed under both implementations. "
                "To the right of 1 Tilewright is faster; bars end at 0.5 and at 4. "
                "[Compatibility](compatibility.md#speed-of-their-functions) has the milliseconds, "
                "and says what is behind the rows below 0.95.",
                plots.shown("plots/others", PAGE, "Ratios of times"),
                f"*{taken_where(table)}.*",
            ]
        )
        + "\n"
    )


BESIDE = {"torch": "torch", "Triton, best": "Triton, best", "Tilewright": "Tilewright"}


def _of_memory(found: dict[str, Table], made: dict) -> list[str]:
    """Kernels that wait for memory."""
    return [
        _part(found[heading], name, BESIDE, "GB/s (more is better)", sentence, made)
        for heading, name, sentence in (
            (
                "Memory-bound kernels, GB/s of useful traffic",
                "memory-bound",
                "Kernels that wait for memory. Triton is the best of 4, 8 and 16 warps; Tilewright chooses by itself.",
            ),
            ("Kernels as models use them, GB/s of useful traffic", "in-use", "The compiler was not fitted to these kernels."),
            (
                "Rows of other lengths, GB/s of useful traffic",
                "other-sizes",
                "The lengths are no powers of two, and some are odd.",
            ),
        )
    ]


def _of_tensor_cores(found: dict[str, Table], made: dict) -> list[str]:
    """Matrix products and attention."""
    attention = found["Attention"]
    return [
        _part(
            _of_products(found["Matrix products"]),
            "products",
            {"cuBLAS": "cuBLAS", "Triton": "Triton", "Tilewright": "Tilewright"},
            "TFLOP/s (more is better)",
            "Both compilers choose among the same configurations. A row shows the kernel that is fastest under Tilewright.",
            made,
        ),
        _part(
            found["Products as models use them"],
            "products-in-use",
            {"Triton, best": "Triton, best", "Tilewright, best": "Tilewright, best"},
            "TFLOP/s, decoding GB/s (more is better)",
            "Linear layers, weights of 8 and 4 bits, gradients, split sums and decoding.",
            made,
        ),
        _part(
            attention,
            "attention",
            {"peer": "peer", "Triton": "Triton", "Tilewright": "Tilewright"},
            "TFLOP/s (more is better)",
            "The peer is cuDNN, the fastest of torch's. A row names direction, head dimension, length and mask.",
            made,
            labels=[f"{row[0]} ({row[1].split('-')[0]})" for row in attention.rows],
        ),
    ]


def _of_host(found: dict[str, Table], made: dict) -> list[str]:
    """Launches and tuning: time of the processor."""
    return [
        _part(
            found["Host side"].only(lambda row: row[1] == "us"),
            "launches",
            {"bare driver": "bare driver", "Triton": "Triton", "Tilewright": "Tilewright"},
            "microseconds of one launch (less is better)",
            "What a launch costs the processor.",
            made,
        ),
        _part(
            found["Tuning"],
            "tuning",
            {"seconds": "seconds"},
            "seconds of the first launch (less is better)",
            "A first launch that chooses among 24 configurations of a matrix product, in a process of its own.",
            made,
        ),
    ]


def make() -> dict[str, str | bytes]:
    """The page and its plots."""
    made: dict = {}
    found = tables()
    parts = [*_of_memory(found, made), *_of_tensor_cores(found, made), *_of_host(found, made), _of_others(made)]
    made[PAGE] = "\n".join([INTRODUCTION, *parts])
    return made
