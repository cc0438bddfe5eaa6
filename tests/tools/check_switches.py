# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Switches are read in one place, so that each has one meaning.

    python tests/tools/check_switches.py

In C++ only ir/support/Knobs.cpp asks the environment, in Python only knobs.py and knob_types.py
ask it for a name of Tilewright or Triton, or for one that is not spelt out. What stands in
ELSEWHERE may, with its reason. Setting a variable for a child process is no reading.
"""

import ast
import re
import sys
from pathlib import Path

from tools.sources import files, read

CPP_HOME = "ir/support/Knobs.cpp"
PYTHON_HOMES = ("python/tilewright/knobs.py", "python/tilewright/knob_types.py")

# (file, variable) -> why it is read there; "?" is a name that is not spelt out.
ELSEWHERE = {
    ("codegen/emit/NvJitLink.cpp", "?"): "folders of the CUDA toolkit, which is NVIDIA's to name",
    ("runtime/profile/Nvtx.cpp", "NVTX_INJECTION64_PATH"): "NVIDIA's: a tool says by it which library listens",
    ("python/_tilewright_startup.py", "TILEWRIGHT_AS_TRITON"): "runs as Python starts, before the package can be imported",
    ("python/tilewright/__init__.py", "TILEWRIGHT_AS_TRITON"): "importing the package loads no switches",
    ("python/tilewright/compiler/machine_code_files.py", "TRITON_CACHE_DIR"): "only Triton's name asks for Triton's files",
    ("python/tilewright/runtime/build.py", "?"): "CC and CXX, which other tools read, too",
}

# Prefixes of the names that are switches.
OWN = ("TILEWRIGHT_", "TRITON_", "MLIR_")
_CPP = re.compile(r'\b(?:secure_)?getenv\(\s*(?:"(\w+)")?')
_CALLS = {"os.environ.get", "_os.environ.get", "os.getenv", "os.environ.__getitem__", "environ.get"}


def cpp_reads(text: str) -> list[str]:
    return [name or "?" for name in _CPP.findall(re.sub(r"//[^\n]*", "", text))]


def python_reads(text: str) -> list[str]:
    """Names that a file asks the environment for."""
    found = []
    for node in ast.walk(ast.parse(text)):
        name = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _CALLS and node.args:
            name = node.args[0]
        elif (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node.value).endswith("os.environ")
        ):
            name = node.slice
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]).endswith("os.environ"):
            name = node.left
        if name is not None:
            found.append(name.value if isinstance(name, ast.Constant) else "?")
    return [name for name in found if name == "?" or name.startswith(OWN)]


def problems_in(path: Path, text: str, used: set) -> list[str]:
    place = path.as_posix()
    if place == CPP_HOME or place in PYTHON_HOMES:
        return []
    reads = python_reads(text) if path.suffix == ".py" else cpp_reads(text)
    used |= {(place, name) for name in reads} & ELSEWHERE.keys()
    return [
        f"{place} asks the environment for {'a variable' if name == '?' else name}; ask the registry of switches"
        for name in reads
        if (place, name) not in ELSEWHERE
    ]


def problems() -> list[str]:
    used: set = set()
    folders = ["frontend", "ir", "passes", "codegen", "runtime", "autotune", "python", "tools"]
    found = [p for path in files(".h", ".cpp", ".py", folders=folders) for p in problems_in(path, read(path), used)]
    return found + [f"{path} does not read {name} any more; take it out of ELSEWHERE" for path, name in ELSEWHERE.keys() - used]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "switches: ok")
    sys.exit(bool(found))
