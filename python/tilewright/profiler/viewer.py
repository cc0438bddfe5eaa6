# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows a .hatchet file: a tree of scopes and kernels with derived metrics.

In a program, and as a command:

    tree, metrics = viewer.parse(["tflop16/s", "time/ms"], "matmul.hatchet")
    viewer.print_tree(tree, metrics)

    python -m tilewright.profiler.viewer -m tflop16/s,time/ms matmul.hatchet
"""

from __future__ import annotations

import argparse
import json
import re

from .specs import max_bps, max_flops

_seconds = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_prefixes = {"": 1.0, "g": 1e9, "t": 1e12}
_time = re.compile(r"(avg_)?(cpu_time|time)/(s|ms|us|ns)")
_rate = re.compile(r"([gt]?)(flop|byte)(\d*)/s")


def read(filename):
    """(tree, device facts) of a file."""
    with open(filename, encoding="utf-8") as file:
        content = json.load(file)
    return content[0], content[1] if len(content) > 1 else {}


def _inclusive(node):
    """Adds to each node the sums over its subtree, as node["total"]."""
    total = {name: value for name, value in node["metrics"].items() if isinstance(value, (int, float))}
    launches = total.get("count", 0) if not node["children"] else 0
    for child in node["children"]:
        for name, value in _inclusive(child).items():
            if name == "count":
                launches += value
            else:
                total[name] = total.get(name, 0) + value
    total["count"] = launches
    node["total"] = total
    return total


def _named(total, name):
    """The value of "time (ns)" for "time", and of a plain name."""
    return next((value for key, value in total.items() if key.split(" ")[0] == name), None)


def _utilisation(node, devices):
    """The longer of the times that peaks would allow, over the time that was taken."""
    facts = devices.get(node["metrics"].get("device_type"), {}).get(node["metrics"].get("device_id"))
    time = _named(node["total"], "time")
    if facts is None or not time:
        return None
    least = (_named(node["total"], "bytes") or 0) / max_bps(
        "CUDA", facts["arch"], facts["bus_width"], facts["memory_clock_rate"]
    )
    for width in (8, 16, 32, 64):
        least = max(
            least,
            (_named(node["total"], f"flops{width}") or 0)
            / max_flops("CUDA", facts["arch"], width, facts["num_sms"], facts["clock_rate"]),
        )
    return least / (time * 1e-9)


def _derived(node, metric, devices):
    """A metric such as "tflop16/s", "time/ms" or "count" of a node; None where it has none."""
    total = node["total"]
    if metric == "util":
        return _utilisation(node, devices)
    if found := _time.fullmatch(metric):
        average, clock, unit = found.groups()
        value = _named(total, clock)
        runs = max(total["count"], 1) if average else 1
        return None if value is None else value * 1e-9 / _seconds[unit] / runs
    if found := _rate.fullmatch(metric):
        prefix, what, width = found.groups()
        amount, time = _named(total, f"{what}s{width}"), _named(total, "time")
        return amount / (time * 1e-9) / _prefixes[prefix] if amount and time else None
    return _named(total, metric)


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """The tree of a file with `metrics` derived in each node, and their names.

    `include` and `exclude` are regular expressions for names; `threshold` is the least
    share of the first metric of the whole that is shown.
    """
    root, devices = read(filename)
    _inclusive(root)

    def derive(node):
        node["derived"] = {metric: _derived(node, metric, devices) for metric in metrics}
        for child in node["children"]:
            derive(child)

    derive(root)
    whole = root["derived"][metrics[0]] if metrics else None

    def keep(node, is_included):
        name = node["frame"]["name"]
        is_included = is_included or include is None or re.search(include, name) is not None
        node["children"] = [kept for kept in (keep(child, is_included) for child in node["children"]) if kept]
        value = node["derived"][metrics[0]] if metrics else None
        is_small = threshold is not None and whole and (value or 0) < threshold * whole
        is_excluded = exclude is not None and re.search(exclude, name) is not None
        return node if node is root or not (is_excluded or is_small or not (is_included or node["children"])) else None

    return keep(root, include is None), list(metrics)


def print_tree(tree, metrics, depth=100, format=None, print_sorted=False):
    """One line per node: the metrics, then the name, indented."""

    def show(node, level):
        if level > depth:
            return
        values = [node["derived"][metric] for metric in metrics]
        shown = "  ".join(f"{value:>10.3f}" if value is not None else f"{'-':>10}" for value in values)
        name = node["frame"]["name"]
        if format == "function_line":
            name = name.rsplit("/", 1)[-1]
        print(f"{shown}  {'  ' * level}{name}")
        children = node["children"]
        if print_sorted and metrics:
            children = sorted(children, key=lambda child: -(child["derived"][metrics[0]] or 0))
        for child in children:
            show(child, level + 1)

    print("  ".join(f"{metric:>10}" for metric in metrics) + "  name")
    show(tree, 0)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Shows where the time of a profile went.")
    parser.add_argument("file")
    parser.add_argument("-m", "--metrics", default="time/ms", help="with commas: time/ms, avg_time/us, tflop16/s, count")
    parser.add_argument("-i", "--include", help="regular expression of names to show")
    parser.add_argument("-e", "--exclude", help="regular expression of names to leave out")
    parser.add_argument("-t", "--threshold", type=float, help="least share of the first metric")
    parser.add_argument("-d", "--depth", type=int, default=100)
    parser.add_argument("--print-sorted", action="store_true")
    options = parser.parse_args(arguments)
    tree, metrics = parse(options.metrics.split(","), options.file, options.include, options.exclude, options.threshold)
    print_tree(tree, metrics, options.depth, print_sorted=options.print_sorted)


if __name__ == "__main__":
    main()
