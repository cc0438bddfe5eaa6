# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One name everywhere: a pass, its file, its flag and its test.

    python tests/tools/check_names.py

For a pass HoistLoads of passes/Passes.td: the flag is tw-hoist-loads, the
source HoistLoads.cpp in a folder of passes/ (with the DEBUG_TYPE of the flag, where it
has one), the test tests/lit/passes/hoist-loads.mlir. A unit test file is called
after what it tests: FooTest.cpp. Constants and enumerators are camelBack, not kCamelCase,
which clang-tidy takes for camelBack.
"""

import re
import sys

from tools.sources import ROOT, files, read

# Of passes/, with one pass a file.
FOLDERS = ("tile", "layout", "async", "resources", "testing")
PASS = re.compile(r'^def (\w+) *: *\w*Pass<"([^"]+)"', re.MULTILINE)
CONSTANT = re.compile(r"^(?:.*\bconstexpr\b[^/\n]*?\b|\s*)(k[A-Z]\w*)\b\s*(?:=[^=]|[,{\[]|$)", re.MULTILINE)
DEBUG_TYPE = re.compile(r'#define DEBUG_TYPE "([^"]+)"')


def dashed(name: str) -> str:
    """HoistLoads as hoist-loads."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def pass_problems(table: str, exists, debug_type) -> list[str]:
    """`exists(path)` and `debug_type(path)` look at the repository."""
    problems = []
    for name, flag in PASS.findall(table):
        expected = "tw-" + dashed(name)
        if flag != expected:
            problems.append(f"pass {name} has the flag {flag}, not {expected}")
        sources = [f"passes/{folder}/{name}.cpp" for folder in FOLDERS]
        source = next((path for path in sources if exists(path)), None)
        if source is None:
            problems.append(f"pass {name} has no {name}.cpp in {', '.join(FOLDERS)} of passes/")
        elif debug_type(source) not in (None, expected):
            problems.append(f"{source}: DEBUG_TYPE is {debug_type(source)}, not {expected}")
        test = f"tests/lit/passes/{dashed(name)}.mlir"
        if not exists(test):
            problems.append(f"pass {name} has no {test}")
    return problems


def unit_problems(names: list[str]) -> list[str]:
    return [
        f"tests/unit/{name}: call it {name.removesuffix('.cpp')}Test.cpp"
        for name in names
        if name.endswith(".cpp") and not name.endswith("Test.cpp")
    ]


def constant_problems(path: str, text: str) -> list[str]:
    return [f"{path}: {name} is a constant: {name[1].lower()}{name[2:]}" for name in CONSTANT.findall(text)]


def find_debug_type(path: str):
    found = DEBUG_TYPE.search(read(ROOT / path))
    return found.group(1) if found else None


def problems() -> list[str]:
    found = []
    for table in files(".td", folders=["passes"]):
        found += pass_problems(read(table), lambda path: (ROOT / path).exists(), find_debug_type)
    for path in files(".cpp", ".h"):
        found += constant_problems(str(path), read(path))
    return found + unit_problems([path.name for path in files(".cpp", folders=["tests/unit"])])


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "names: ok")
    sys.exit(bool(found))
