# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tool finds which planted mistake: a table by class.

    python tests/planted/table.py                        # Tilewright's interpreter
    python tests/planted/table.py --triton PYTHON        # and Triton's, with a Python that has Triton and torch
    python tests/planted/table.py --gpu                  # and compute-sanitizer on what Tilewright compiles
    python tests/planted/table.py --json found.json      # keeps the results, and adds those that the file has

A mistake counts as found where the tool says something of the faulty kernel and nothing of the corrected one; of
Tilewright's interpreter the code and the line have to be right as well. Each form runs in a process of its own,
because Triton's interpreter may take the process with it and a deadlock never ends; so many cases at a time as there are
cores. After --budget seconds no case begins: what is missing from the table is run by another call with the same file.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from planted.case import all_cases  # noqa: E402
from planted.run_case import NOTICED  # noqa: E402

# A form that takes longer hangs. A process under compute-sanitizer starts in some ten seconds.
SECONDS = 60
BEGIN, END = "<!-- planted: begin -->", "<!-- planted: end -->"
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
SANITIZER_STATUS = 86


def outcome(command, environment):
    """How it ends: "silent", "raised", "found" by a sanitizer, "crash" or "hang"."""
    # A group of its own: compute-sanitizer runs the program in another process, which would stay and hold the pipes.
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, complaints = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "hang", ""
    lines = output.strip().splitlines() or [""]
    if process.returncode == SANITIZER_STATUS:
        found = [line for line in lines if line.startswith("=========")]
        return "found", " ".join(found[:3])
    if process.returncode == NOTICED:
        return "raised", lines[-1]
    if process.returncode:
        return "crash", (complaints.strip().splitlines() or [""])[-1]
    return "silent", ""


def by_command(command, options, environment):
    """What a tool that watches processes finds of a case."""

    def look(case):
        faulty, said = outcome([*command, str(case), "faulty", *options], environment)
        if faulty in ("silent", "hang"):
            return {"found": False, "faulty": faulty, "corrected": "not run", "said": ""}
        corrected, _ = outcome([*command, str(case), "corrected", *options], environment)
        return {"found": corrected == "silent", "faulty": faulty, "corrected": corrected, "said": said}

    return look


def by_interpreter(case):
    """What Tilewright's interpreter finds; the test demands the same."""
    from planted.test_planted import run
    from tilewright import errors

    forms, said = {}, ""
    for form in ("faulty", "corrected"):
        try:
            run(case, getattr(case, form))
            forms[form] = "silent"
        except errors.TilewrightError as error:
            forms[form] = "raised"
            right = error.code == case.code and error.frames[0].line == case.fault_line
            said = f"{error.code} line {error.frames[0].line}: {error.message}" if form == "faulty" else said
    found = forms["faulty"] == "raised" and right and forms["corrected"] == "silent"
    return {"found": found, **forms, "said": said}


def tools_of(arguments):
    run_case = str(HERE / "run_case.py")
    tools = {"Tilewright": by_interpreter}
    if arguments.triton:
        options = ["--language", "triton", "--arrays", "cpu"]
        tools["Triton's interpreter"] = by_command([arguments.triton, run_case], options, {"TRITON_INTERPRET": "1"})
    if arguments.gpu:
        program = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
        if program is None:
            raise SystemExit("compute-sanitizer is neither on the PATH nor in /usr/local/cuda/bin")
        for name in SANITIZERS:
            command = [program, "--tool", name, "--error-exitcode", str(SANITIZER_STATUS), sys.executable, run_case]
            # Without torch's pool of memory each array is an allocation of its own, whose ends the tool knows.
            tools[name] = by_command(command, ["--arrays", "cuda"], {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
    return tools


def table_text(results):
    """One line per class, one column per tool; compute-sanitizer's tools as one."""
    tools = list(dict.fromkeys(tool for of_case in results.values() for tool in of_case))
    columns = [tool for tool in tools if tool not in SANITIZERS]
    if any(tool in SANITIZERS for tool in tools):
        columns += ["compute-sanitizer"]

    def found(of_case, column):
        names = SANITIZERS if column == "compute-sanitizer" else (column,)
        known = [of_case[name]["found"] for name in names if name in of_case]
        return any(known) if known else None

    classes = sorted({name.split("-")[0] for name in results})
    rows = []
    for kind in [*classes, ""]:
        of_kind = [of_case for name, of_case in results.items() if not kind or name.split("-")[0] == kind]
        counts = [[found(of_case, column) for of_case in of_kind] for column in columns]
        rows.append(
            [
                kind or "all",
                str(len(of_kind)),
                *("" if all(c is None for c in count) else str(count.count(True)) for count in counts),
            ]
        )
    lines = ["| class | kernels | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def put_into(page, table):
    """The table in place of the one between the page's marks."""
    before, rest = page.read_text().split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")


def fill(results, cases, tools, arguments):
    """What each tool finds of each case, where the file of results does not know it."""
    start, writing = time.monotonic(), threading.Lock()

    def look_at(case, chosen):
        hangs = False
        for tool, look in chosen.items():
            if tool in results.get(str(case), {}) or time.monotonic() - start > arguments.budget:
                continue
            # What hangs under one of compute-sanitizer's tools does so under the others.
            result = {"found": False, "faulty": "hang", "corrected": "not run", "said": ""} if hangs else look(case)
            hangs = tool in SANITIZERS and result["faulty"] == "hang"
            with writing:
                results.setdefault(str(case), {})[tool] = result
                if arguments.json:
                    arguments.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")

    own = {tool: look for tool, look in tools.items() if look is by_interpreter}
    for case in cases:
        look_at(case, own)
    others = {tool: look for tool, look in tools.items() if tool not in own}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda case: look_at(case, others), cases))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triton", metavar="PYTHON", help="a Python with Triton and torch")
    parser.add_argument("--gpu", action="store_true", help="run compute-sanitizer on compiled kernels")
    parser.add_argument("--json", type=Path, help="file of results, read and written")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time (the cores of the machine)")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS", help="begin nothing after so many")
    parser.add_argument("--page", type=Path, help="also puts the table between the marks of this page")
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    parser.add_argument("--missed", action="store_true", help="also list the cases that a tool misses")
    arguments = parser.parse_args()
    results = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    fill(results, [case for case in all_cases() if arguments.k in str(case)], tools_of(arguments), arguments)
    table = table_text(dict(sorted(results.items())))
    print(table)
    if arguments.page:
        put_into(arguments.page, table)
    if arguments.missed:
        for name, of_case in sorted(results.items()):
            for tool, result in of_case.items():
                if not result["found"]:
                    print(f"{tool} misses {name}: faulty {result['faulty']}, corrected {result['corrected']} {result['said']}")


if __name__ == "__main__":
    main()
