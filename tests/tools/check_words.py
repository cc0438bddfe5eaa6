# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Things that must not be written: code from data, and files without a licence.

    python tests/tools/check_words.py

Caches and messages between processes hold data, never code for the host: no
pickle and its relatives, no eval or exec outside the places listed with their
reason, no shell. Every source file starts with the licence. A comment does not
begin with "Of", which leaves out what it is about, says before and after, and
names who does not do something. A docstring does not begin with "What", a page has
lines that can be read, and no file keeps the marks of an unfinished merge.
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
    ("python/tilewright/runtime/mathematics.py", "exec"): "a program gives a compile-time function of its own another text",
    ("python/tilewright/runtime/mathematics.py", "compile"): "the same",
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
# What git leaves where two versions of a text could not be merged. The two outer marks are enough: a line of
# equals signs may be the underline of a heading.
CONFLICT = re.compile(r"(?:<{7}|>{7}) ")


NOBODY = re.compile(r"\bnobody\b", re.IGNORECASE)
# Pages that scripts/generate_docs.py writes; their texts are in the catalogue of errors and the table of switches.
GENERATED = {"errors.md", "knobs.md"}
WIDTH = 120


def wording_problems(path: Path, text: str) -> list[str]:
    """Comments of sources; all text of pages."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.match(line)
        if CONFLICT.match(line):
            found.append(f"{path}:{number}: a mark of an unfinished merge; keep what is true of both sides")
        if comment and not inside and (comment.group(1) or "").startswith("Of "):
            found.append(f"{path}:{number}: the comment begins with 'Of'; name what it is about")
        if (comment or path.suffix == ".md") and re.search(r"\bin front of\b", line, re.IGNORECASE):
            found.append(f"{path}:{number}: say 'before'")
        if (comment or path.suffix == ".md") and path.name not in GENERATED and NOBODY.search(line):
            found.append(f"{path}:{number}: 'nobody' hides who acts; name the program, thread or person that does not")
        inside = comment is not None
    return found


def docstring_problems(path: Path, text: str) -> list[str]:
    """A module is or does something: "What a launch asks" is half a sentence without the other half."""
    document = ast.get_docstring(ast.parse(text)) or ""
    return [f"{path}: its docstring begins with 'What'; say what the module is or does"] if document.startswith("What ") else []


def page_problems(path: Path, text: str) -> list[str]:
    """Lines that fit beside a diff, and sentences with a subject after a block of code."""
    found, inside, after_code = [], False, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside, after_code = not inside, inside
        elif inside or line.startswith(("|", "    ")):
            continue
        elif line:
            if len(line) > WIDTH:
                found.append(f"{path}:{number}: {len(line)} columns; a line of a page has up to {WIDTH}")
            if after_code and re.match(r"[a-z]+ ", line):
                found.append(f"{path}:{number}: the sentence after the code has no subject; say what does it")
            after_code = False
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
    for path in files(".py", folders=shipped):
        found += docstring_problems(path, read(path))
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "ir" / "dialect" / "Rationale.md"]):
        path, text = page.relative_to(ROOT), page.read_text(encoding="utf-8")
        found += wording_problems(path, text)
        # The log of changes grows by one long entry after the other.
        if path.name not in GENERATED | {"CHANGELOG.md"}:
            found += page_problems(path, text)
    return found


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "words: ok")
    sys.exit(bool(found))
