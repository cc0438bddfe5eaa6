# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs lessons on the GPU: what their checks say, and their sweeps beside torch and beside Triton.

    python benchmarks/lessons.py [--only 13 --only 15] [--all-sizes] [--without-triton] [--save FOLDER]

Triton compiles the same file, with the names of its imports changed. Both are timed by the lesson's
own functions, one after the other; a row stands for one size of the sweep.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import peers

TUTORIALS = Path(__file__).resolve().parent.parent / "tutorials"
# Those that time what torch has, too, and whose kernels use no name that Triton lacks.
NUMBERS = ("04", "07", "13", "14", "15", "16", "17")


def check(path: Path) -> str:
    """What the lesson's checks say, run as a reader runs them."""
    done = subprocess.run([sys.executable, str(path), "--quick"], capture_output=True, text=True)
    if done.returncode == 0 and "WRONG" not in done.stdout:
        return f"{done.stdout.count('  ok')} ok"
    print(done.stdout[-2000:] + done.stderr[-4000:], file=sys.stderr)
    return "WRONG"


def for_triton(text: str) -> str:
    return text.replace("import tilewright as tw", "import triton as tw").replace("tilewright.language", "triton.language")


def load(path: Path, text: str, compiler: str, folder: str):
    """A lesson as a module of its own; its text has to be in a file, where the compilers look for it."""
    copy = Path(folder) / f"{path.stem}_for_{compiler}.py"
    copy.write_text(text)
    spec = importlib.util.spec_from_file_location(copy.stem, copy)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def sweep(path: Path, compiler: str, folder: str):
    """(x label, sizes, speeds by name, unit) of a lesson's sweep, or None where it fails."""
    import lesson

    shown, text = [], path.read_text()
    original = lesson.show
    try:
        module = load(path, for_triton(text) if compiler == "triton" else text, compiler, folder)
        lesson.show = lambda name, label, sizes, speeds, unit="GB/s": shown.append((label, sizes, speeds, unit))
        module.sweep()
    except Exception:  # noqa: BLE001 - one lesson that fails must not cost the others
        traceback.print_exc()
        return None
    finally:
        lesson.show = original
    return shown[0]


def rows_of(path: Path, result: str, ours, triton, all_sizes: bool):
    """Rows of the table and dicts for the JSON: each of our kernels, Triton's same kernel, torch's best."""
    label, sizes, speeds, unit = ours
    chosen = range(len(sizes)) if all_sizes else sorted({len(sizes) // 2, len(sizes) - 1})
    for i in chosen:
        torch_speeds = {name: values[i] for name, values in speeds.items() if "torch" in name}
        best = max(torch_speeds, key=torch_speeds.get)
        for name in speeds:
            if "torch" in name:
                continue
            mine, theirs = speeds[name][i], triton[2][name][i] if triton else None
            what = name if name != "Tilewright" else ""
            row = {
                "lesson": path.stem,
                "kernel": what,
                label: sizes[i],
                "unit": unit,
                "check": result,
                "tilewright": mine,
                "triton": theirs,
                best: torch_speeds[best],
            }
            yield (
                [
                    path.stem,
                    what,
                    f"{sizes[i]} {label}",
                    f"{mine:.0f}",
                    f"{theirs:.0f}" if theirs else "-",
                    f"{torch_speeds[best]:.0f}",
                    unit,
                    f"{mine / theirs:.2f}" if theirs else "-",
                    f"{mine / torch_speeds[best]:.2f}",
                    result,
                ],
                row,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="the number of a lesson (repeatable)")
    parser.add_argument("--all-sizes", action="store_true", help="each size of the sweeps, not the middle and the last one")
    parser.add_argument("--without-triton", action="store_true")
    parser.add_argument("--save", default="", help="a folder for lessons.json and lessons.md")
    options = parser.parse_args()
    sys.path.insert(0, str(TUTORIALS))
    import lesson

    rows, results = [], []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(TUTORIALS.glob("[0-9]*.py")):
            if path.stem[:2] not in (options.only or NUMBERS):
                continue
            result = check(path)
            if not lesson.ON_GPU:
                rows.append([path.stem, "", "no GPU: not timed", *["-"] * 6, result])
                continue
            ours = sweep(path, "tilewright", folder)
            triton = None if options.without_triton else sweep(path, "triton", folder)
            if ours is None:
                rows.append([path.stem, "", "the sweep failed", *["-"] * 6, result])
                continue
            for row, entry in rows_of(path, result, ours, triton, options.all_sizes):
                rows.append(row)
                results.append(entry)
                print("  ".join(row), file=sys.stderr, flush=True)
    header = ["lesson", "kernel", "size", "Tilewright", "Triton", "torch", "unit", "of Triton", "of torch", "checks"]
    if lesson.ON_GPU:
        peers.write_report(options.save, "lessons", "Lessons", results, header, rows)
    else:
        print(peers.plain_table(header, rows))
    return int(any(row[-1] == "WRONG" or "failed" in row[2] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
