# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long files and functions may be.

    python tests/tools/check_sizes.py [--table]

A file has at most 500 lines and a function at most 60, since longer ones are not read whole. What is longer
stands in EXCEPTIONS with its reason; an entry that is not needed any more is a problem, too. `--table` prints medians
and maxima by kind of file.
"""

import ast
import re
import statistics
import sys
from pathlib import Path

from tools.sources import files, read

FILE_LINES, FUNCTION_LINES = 500, 60

#: File, or "file:function" -> why it may be longer.
EXCEPTIONS = {
    "benchmarks/attention_kernels.py:forward_kernel": "a kernel: one function by nature",
    "benchmarks/attention_kernels.py:dk_dv_kernel": "a kernel: one function by nature",
    "frontend/emit/MlirElementwise.cpp:MlirBuilder::binary": "a table: the operation of MLIR for each binary one",
    "tutorials/06_fused_attention.py:dk_dv_kernel": "a kernel: one function by nature",
    "tutorials/13_paged_attention.py:part_kernel": "a kernel: one function by nature",
}

_NAME = re.compile(r"([\w:~]+|operator[^\s(]+)\(")
_CLASS = re.compile(r"^(template <.*> )?(class|struct|union|enum)\b")
_END_OF_HEAD = re.compile(r"(\)|const|noexcept|override|final) \{$")


def _blocks(lines: list[str], indent: str):
    """(first line of the head, line of the opening brace, line of the closing one) of each block at an indentation."""
    start = 0
    while start < len(lines):
        line = lines[start]
        if line.endswith("{") and line.startswith(indent) and line[len(indent)] not in " }#/":
            # The house style leaves what stands in a namespace unindented, and ends a body where it begins.
            closings = (indent + "}", indent + "};")
            end = next((i for i in range(start + 1, len(lines)) if lines[i].rstrip().startswith(closings)), None)
            if end is not None and not line.lstrip().startswith(("namespace", "extern")):
                head = start
                while head and _continues(lines[head - 1], lines[head], indent):
                    head -= 1
                yield head, start, end
                start = end
        elif line.endswith("{") and line.startswith(indent + "    "):
            # The last line of a head that is broken over several.
            head = start
            while head and lines[head].startswith(indent + "    "):
                head -= 1
            if _END_OF_HEAD.search(line) and lines[head].startswith(indent) and lines[head][len(indent) :][:1] not in " }#/":
                end = next((i for i in range(start + 1, len(lines)) if lines[i] == indent + "}"), None)
                if end is not None:
                    yield head, start, end
                    start = end
        start += 1


def _continues(before: str, line: str, indent: str) -> bool:
    return before.startswith(indent + "template <") and not before.endswith((";", "}"))


def functions_of_cpp(text: str):
    """(name, lines) of each function, told by its indentation; lambdas count as part of the function around them."""
    lines = text.splitlines()
    for head, start, end in _blocks(lines, ""):
        if _CLASS.match(lines[start]) or _CLASS.match(lines[head]):
            inside = lines[start + 1 : end]
            blocks = [(h + start + 1, s + start + 1, e + start + 1) for h, s, e in _blocks(inside, "  ")]
        else:
            blocks = [(head, start, end)]
        for first, brace, last in blocks:
            name = _NAME.search(" ".join(lines[first : brace + 1]))
            if name and _END_OF_HEAD.search(lines[brace]):
                yield name[1], last - first + 1


def functions_of_python(text: str):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


def functions_in(path: Path, text: str):
    return functions_of_python(text) if path.suffix == ".py" else functions_of_cpp(text)


def problems_in(path: Path, text: str, used: set) -> list[str]:
    problems = []

    def too_long(name, lines, limit):
        if name in EXCEPTIONS:
            used.add(name)
        else:
            problems.append(f"{name}: {lines} lines, {limit} at most")

    if text.count("\n") > FILE_LINES:
        too_long(path.as_posix(), text.count("\n"), FILE_LINES)
    for name, lines in functions_in(path, text):
        if lines > FUNCTION_LINES:
            too_long(f"{path.as_posix()}:{name}", lines, FUNCTION_LINES)
    return problems


def sources():
    return files(".h", ".cpp", ".py", ".td", ".c")


def problems() -> list[str]:
    used: set = set()
    found = [p for path in sources() for p in problems_in(path, read(path), used)]
    return found + [f"{name}: is short enough now; take it out of EXCEPTIONS" for name in sorted(set(EXCEPTIONS) - used)]


def print_table():
    for title, chosen in {
        ".cpp": lambda p: p.suffix == ".cpp" and p.parts[0] != "tests",
        ".h": lambda p: p.suffix == ".h" and p.parts[0] != "tests",
        "Python package": lambda p: p.as_posix().startswith("python/tilewright/") and p.suffix == ".py",
        "tests, C++": lambda p: p.suffix in (".cpp", ".h") and p.parts[0] == "tests",
        "tests, Python": lambda p: p.suffix == ".py" and p.parts[0] == "tests",
    }.items():
        texts = {path: read(path) for path in sources() if chosen(path)}
        rows = [sorted(t.count("\n") for t in texts.values())]
        rows.append(sorted(lines for path, text in texts.items() for _, lines in functions_in(path, text)))
        cells = []
        for row in rows:
            cells += [len(row), int(statistics.median(row)), row[int(len(row) * 0.9)], row[int(len(row) * 0.99)], row[-1]]
        print(f"| {title} | " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    if "--table" in sys.argv:
        print_table()
        sys.exit()
    found = problems()
    print("\n".join(found) or "sizes: ok")
    sys.exit(bool(found))
