# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Things that must not be written: code from data, and files without a licence.

    python tests/tools/check_words.py

Caches and messages between processes hold data, never code for the host: no
pickle and its relatives, no eval or exec outside the places listed with their
reason, no shell. Every source file starts with the licence. A comment does not
begin with "Of", which leaves out what it is about, and says before and after.
"""

import ast
import re
import sys
from pathlib import Path

from tools.sources import ROOT, files, read

FORBIDDEN_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "imp"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {("os", "system"), ("os", "popen"), ("torch", "load"), ("numpy", "load"), ("np", "load")}

# (file, name) -> why it is right there.
ALLOWED = {
    ("python/tilewright/runtime/kernel_rewriter.py", "compile"): "the rewritten tree of the user's own kernel becomes code",
    ("python/tilewright/checking/saved_functions.py", "compile"): "a saved launch is its kernel's text, run by who asks for it",
    ("python/tilewright/checking/saved_functions.py", "exec"): "a saved launch is its kernel's text, run by who asks for it",
}

FORBIDDEN_CPP = re.compile(r"\b(std::system|popen|PyRun_\w+|py::exec|py::eval|py::eval_file|Py_CompileString\w*)\s*\(")
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"


def python_problems(path: Path, text: str) -> list[str]:
    found = []
    tree = ast.parse(text)
    # A module's own or imported function of the name is not the builtin.
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    own |= {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names if alias.name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
            names = [node.module]
        elif isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in FORBIDDEN_CALLS - own:
                names = [function.id]
            elif (
                isinstance(function, ast.Attribute)
                and isinstance(function.value, ast.Name)
                and (function.value.id, function.attr) in FORBIDDEN_ATTRIBUTES
            ):
                names = [f"{function.value.id}.{function.attr}"]
            if any(
                k.arg == "shell" and not (isinstance(k.value, ast.Constant) and k.value.value is False) for k in node.keywords
            ):
                names.append("shell=")
        found += [f"{path}:{node.lineno}: {name}" for name in names if (path.as_posix(), name) not in ALLOWED]
    return found


def cpp_problems(path: Path, text: str) -> list[str]:
    return [f"{path}: {match.group(1)}" for match in FORBIDDEN_CPP.finditer(text)]


def licence_problems(path: Path, text: str) -> list[str]:
    head = text.splitlines()[:8]
    if not any(LICENCE in line for line in head):
        return [f"{path}: no licence in the first lines"]
    # C++ files also say their own name; Python files have a docstring.
    if path.suffix in (".h", ".cpp", ".td", ".def") and not (head and path.name in head[0]):
        return [f"{path}: its first line does not name it"]
    # A lit test says it in comments, around its RUN line.
    if (
        path.suffix == ".py"
        and "lit" not in path.parts
        and ast.get_docstring(ast.parse(text)) is None
        and len(text.splitlines()) > 10
    ):
        return [f"{path}: no docstring"]
    return []


COMMENT = re.compile(r"\s*(?:///?|#)(?: (.*)|$)")


def wording_problems(path: Path, text: str) -> list[str]:
    """Comments of sources; all text of pages."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.match(line)
        if comment and not inside and (comment.group(1) or "").startswith("Of "):
            found.append(f"{path}:{number}: the comment begins with 'Of'; name what it is about")
        if (comment or path.suffix == ".md") and re.search(r"\bin front of\b", line, re.IGNORECASE):
            found.append(f"{path}:{number}: say 'before'")
        inside = comment is not None
    return found


def problems() -> list[str]:
    found = []
    shipped = ["python", "autotune", "runtime", "frontend"]
    for path in files(".py", folders=shipped):
        found += python_problems(path, read(path))
    for path in files(".cpp", ".h"):
        found += cpp_problems(path, read(path))
    for path in files(".py", ".cpp", ".h", ".td", ".def"):
        found += licence_problems(path, read(path))
    for path in files(".py", ".cpp", ".h", ".td", ".def", folders=[*shipped, "ir", "passes", "codegen"]):
        found += wording_problems(path, read(path))
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        found += wording_problems(page.relative_to(ROOT), page.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "words: ok")
    sys.exit(bool(found))
