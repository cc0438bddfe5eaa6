# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of the site: each is drawn twice, for light and for dark pages."""

from __future__ import annotations

import io
import posixpath
import threading

# Colour of text and of the grid.
FORMS = {"light": ("#303030", "#d0d0d0"), "dark": ("#e0e0e0", "#505560")}

# One colour for each implementation on all pages; all of them can be read on both grounds.
COLOURS = {
    "Tilewright": "#12a594",
    "Triton": "#e8853d",
    "Triton, best": "#e8853d",
    "torch": "#7c8cc4",
    "cuBLAS": "#7c8cc4",
    "peer": "#7c8cc4",
    "bare driver": "#7c8cc4",
    "Tilewright, best": "#12a594",
}
OTHERS = [
    "#12a594",
    "#7c8cc4",
    "#e8853d",
    "#c45c8d",
    "#9aa634",
    "#5aa2d6",
    "#b07d4f",
    "#8f6fc9",
    "#d1596a",
    "#6f8f7a",
    "#888888",
]

_drawing = threading.Lock()  # pyplot has one state


def _colour(name, index):
    return COLOURS.get(name, OTHERS[index % len(OTHERS)])


def _drawn(name: str, height: float, draw) -> dict[str, bytes]:
    """The two files of one plot; `draw` gets the axes."""
    import matplotlib  # what says which pages there are does without it

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = {}
    for form, (ink, grid) in FORMS.items():
        style = {
            "text.color": ink,
            "axes.labelcolor": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "axes.edgecolor": grid,
            "grid.color": grid,
            "svg.hashsalt": name,
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
        with _drawing, plt.rc_context(style):
            figure, axes = plt.subplots(figsize=(4.6, height))
            draw(axes)
            text = io.BytesIO()
            figure.savefig(text, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)
        made[f"{name}.{form}.svg"] = text.getvalue()
    return made


def _words_above(axes, labels: list[str], offset: float, unit: str):
    """Labels stand above their bars, so that the bars have the whole width, also on a narrow screen."""
    for row, label in enumerate(labels):
        axes.text(0, row - offset, label, va="bottom", ha="left", fontsize=8.5)
    axes.set(xlabel=unit, yticks=[])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(labels) - 0.45, -0.75)
    axes.grid(axis="x", alpha=0.6)
    axes.set_axisbelow(True)


def bars(name: str, labels: list[str], series: dict[str, list], unit: str) -> dict[str, bytes]:
    """A row of bars for each label, one bar for each of `series`; None leaves a bar out."""

    def draw(axes):
        thickness = 0.64 / len(series)
        for i, (key, values) in enumerate(series.items()):
            places = [row + 0.1 + (i - (len(series) - 1) / 2) * thickness for row in range(len(labels))]
            axes.barh(places, [value or 0 for value in values], thickness * 0.92, color=_colour(key, i), label=key)
        _words_above(axes, labels, 0.24, unit)
        axes.legend(frameon=False, ncols=min(4, len(series)), loc="lower left", bbox_to_anchor=(-0.02, 1))

    return _drawn(name, 0.9 + len(labels) * (0.22 + 0.12 * len(series)), draw)


def stacked(name: str, labels: list[str], parts: dict[str, list[float]], unit: str) -> dict[str, bytes]:
    """One bar for each label, made of parts."""

    def draw(axes):
        starts = [0.0] * len(labels)
        for i, (key, values) in enumerate(parts.items()):
            axes.barh(
                [row + 0.15 for row in range(len(labels))], values, 0.45, left=starts, color=OTHERS[i % len(OTHERS)], label=key
            )
            starts = [start + value for start, value in zip(starts, values)]
        _words_above(axes, labels, 0.11, unit)
        axes.legend(
            frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(-0.02, 1), fontsize=7.5, columnspacing=1, handlelength=1.2
        )

    return _drawn(name, 1.0 + len(labels) * 0.42, draw)


def ratios(name: str, labels: list[str], values: list[float], unit: str) -> dict[str, bytes]:
    """A bar for each label, from 1 to the left or to the right, with its number.

    It ends at 0.5 or 4 where the number lies beyond.
    """
    low, high = 0.5, 4

    def draw(axes):
        places = [row + 0.15 for row in range(len(labels))]
        colours = [COLOURS["Tilewright"] if value >= 1 else COLOURS["Triton"] for value in values]
        axes.barh(places, [min(max(value, low), high) - 1 for value in values], 0.4, left=1, color=colours)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        for row, (label, value) in enumerate(zip(labels, values)):
            axes.text(low, row - 0.08, f"{label}: {value:g}", va="bottom", ha="left", fontsize=8.5)
        axes.axvline(1, color="#888888", linewidth=0.8)
        axes.set(xlabel=unit, yticks=[], ylim=(len(labels) - 0.45, -0.75))
        axes.spines["left"].set_visible(False)
        axes.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
        axes.minorticks_off()

    return _drawn(name, 0.6 + len(labels) * 0.32, draw)


def lines(name: str, x_label: str, xs: list, series: dict[str, list], unit: str) -> dict[str, bytes]:
    """Curves over a range of sizes, each twice the one before or more."""

    def draw(axes):
        for i, (key, values) in enumerate(series.items()):
            axes.plot(xs, values, marker="o", markersize=4, color=_colour(key, i), label=key)
        axes.set_xscale("log", base=2)
        axes.set(xlabel=x_label, ylabel=unit, ylim=(0, None))
        axes.grid(alpha=0.6)
        axes.legend(frameon=False)

    return _drawn(name, 3.4, draw)


def shown(name: str, page: str, alternative: str) -> str:
    """The markdown that shows a plot on a page, in the form that fits its colours."""
    path = posixpath.relpath(name, posixpath.dirname(page) or ".")
    return "\n".join(f"![{alternative}]({path}.{form}.svg#only-{form}){{ .tw-plot }}" for form in FORMS)
