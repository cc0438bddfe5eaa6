# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks share: peers in one process, interleaved timing, reports.

How a row is measured: all contenders run in every round, in changing order, so that a
change of the clocks and what is left in the caches meet each of them alike; every launch lies between two CUDA
events; the median counts. The arrays are larger than the L2 and there are two
sets of them in turn, so nothing is left over from the launch before.
"""

import datetime
import importlib
import importlib.util
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels.py"


def load_kernels(compiler_name: str, path: Path = KERNELS):
    """kernels.py compiled by `compiler_name` ("tilewright" or "triton"), or None where it is missing."""
    try:
        compiler = importlib.import_module(compiler_name)
        language = importlib.import_module(compiler_name + ".language")
    except ImportError as problem:
        print(f"# {compiler_name}: {problem}", file=sys.stderr)
        return None
    spec = importlib.util.spec_from_file_location(f"{path.stem}_for_{compiler_name}", path)
    module = importlib.util.module_from_spec(spec)
    module.tw, module.tl = compiler, language
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def interleaved_medians(contenders: dict, rounds: int, warm: int = 3) -> dict[str, float]:
    """Milliseconds per launch. A contender is a function of the round's number.

    Each round has an order of its own: what one leaves in the L2 helps or hinders the next.
    """
    import torch

    times = {name: [] for name in contenders}
    shuffle = random.Random(0).shuffle
    for turn in range(warm + rounds):
        order = list(contenders.items())
        shuffle(order)
        for name, function in order:
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            function(turn)
            end.record()
            if turn >= warm:
                times[name].append((start, end))
    torch.cuda.synchronize()
    return {name: statistics.median(s.elapsed_time(e) for s, e in pairs) for name, pairs in times.items()}


def environment() -> dict:
    """What a figure must name: board, driver, versions, date, command."""
    import torch

    query = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader"], capture_output=True, text=True
    )
    driver, power = (
        query.stdout.strip().splitlines()[0].split(", ") if query.returncode == 0 and query.stdout else ("unknown", "unknown")
    )
    versions = {}
    for name in ("tilewright", "torch", "triton"):
        module = sys.modules.get(name)
        versions[name] = getattr(module, "__version__", "not used")
    return {
        "board": torch.cuda.get_device_name(),
        "driver": driver,
        "power limit": power,
        **versions,
        "python": sys.version.split()[0],
        "date": datetime.date.today().isoformat(),
        "command": "python " + shlex.join([os.path.relpath(sys.argv[0]), *sys.argv[1:]]),
    }


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def plain_table(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(line))
        for line in [header, *rows]
    )


def write_report(folder: str, name: str, title: str, results: list[dict], header: list[str], rows: list[list[str]]):
    """Prints the table; writes NAME.json and NAME.md where a folder is given."""
    facts = environment()
    print(plain_table(header, rows))
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / f"{name}.json").write_text(json.dumps({"environment": facts, "results": results}, indent=1) + "\n")
    text = f"## {title}\n\n" + "; ".join(f"{key} {value}" for key, value in facts.items() if key != "command")
    text += f"; command `{facts['command']}`\n\n" + markdown_table(header, rows) + "\n"
    (Path(folder) / f"{name}.md").write_text(text)
