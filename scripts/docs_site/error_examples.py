# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An example for each code on the page of errors, taken from the tests that hold its text.

The best source is a test with a kernel and the whole message. Then come the scripts of
docs/examples/errors.py, which run while the site is built, tests with a kernel and a
first line, and tests that hold a first line with its values.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import textwrap

from tilewright.parsing import parse

from . import pages, reference

sys.path.insert(0, str(pages.ROOT / "tests"))

from tools.check_messages import catalogue, longest_literal  # noqa: E402


# First lines that no test holds as a whole, since their values differ from run to run; a test compares them with the catalogue.
MESSAGES = {
    "E0215": "'x': the last stride is 2",
    "E0303": "tuning needs 17179869184 bytes for copies of x, y; 4294967296 free",
    "E0401": "CUDA_ERROR_ILLEGAL_ADDRESS in or before kernel 'add' launched at train.py:41 with grid=(3, 2, 1), 128 threads",
    "E0426": "the interpreter ran the launch, and the compiled kernel failed with E0401: CUDA_ERROR_ILLEGAL_ADDRESS",
    "E0429": "line 12 was refuted for program (6,0,0), 'x'[99], and the interpreter finds nothing there",
    "W0503": "cache /tmp/shared is writable by others; not used",
    "W0504": "no space in /home/me/.cache/tilewright; evicted 3 entries, still full",
    "E0505": "cache_dir /etc/passwd is not a directory",
    "E0506": "'ops.twpkg' is no package that can be used: it is cut short",
    "W0606": "best and second differ by 0.4 %, interval 0.9 %; kept the previous choice",
    "W0607": "worker 2 has another board, driver or compiler than the sweep: NVIDIA H100; the sweep's: NVIDIA H200",
    "E0704": "'tilewright check --compare' needs a GPU: no CUDA driver, or no GPU that it shows",
    "E0707": "'add' cannot run compiled here: no CUDA driver, or no GPU that it shows",
    "W0711": "events time the kernels, as CUPTI does not work here: libcupti is not found",
    "W0712": "2 of 3 launches have no time in the profile: they were still running",
    "E0714": "launches are being recorded already",
    "W0715": "TRITON_ENABLE_ASAN has no effect here",
    "W0716": "compile() has no option 'num_wraps' and leaves it out",
    "E0900": "tw-insert-barriers: no rule for this operation",
}


def _texts(tree: ast.AST) -> list[str]:
    """All strings of a file; what an f-string fills in is an ellipsis."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            found.append("".join(part.value if isinstance(part, ast.Constant) else "..." for part in node.values))
    return found


def _constant(node) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _code_of(message: str) -> str:
    found = re.search(r"\[([EW]\d{4})\]", message)
    return found.group(1) if found else ""


def _whole_messages(tree: ast.AST) -> dict[str, str]:
    """Of `check(tmp_path, kernel, message)`: both texts."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check" and len(node.args) >= 3:
            kernel, message = (textwrap.dedent(_constant(argument)).strip("\n") for argument in node.args[1:3])
            if kernel and _code_of(message):
                kernel = kernel.replace("@tilewright.jit", "@tw.jit")
                found.setdefault(_code_of(message), f"```python\n{kernel}\n```\n\n```text\n{message}\n```")
    return found


def _first_lines(tree: ast.AST, source: str) -> dict[str, str]:
    """Of `@CASES.add(first line, help, marked, ...)` above a kernel: the kernel and both lines."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if not (
                isinstance(decorator, ast.Call) and getattr(decorator.func, "attr", "") == "add" and len(decorator.args) >= 2
            ):
                continue
            message, help = (_constant(argument) for argument in decorator.args[:2])
            if _code_of(message):
                kernel = textwrap.dedent("\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno]))
                found.setdefault(
                    _code_of(message), f"```python\n@tw.jit\n{kernel}\n```\n\n```text\n{message}\n  help: {help}\n```"
                )
    return found


def pattern_of(message: str) -> re.Pattern:
    """What a first line with its values looks like."""
    pieces = [re.escape(piece) for piece in re.split(r"\{[^}]*\}", message)]
    return re.compile(r"(?<=] )" + r"[^\n{}]{1,90}?".join(pieces) + ("[^\n{}]{0,60}$" if not pieces[-1] else ""), re.MULTILINE)


def _filled_in(rows, texts: list[str]) -> dict[str, str]:
    """First lines of the catalogue with values, as the tests hold them."""
    found: dict[str, str] = {}
    for code, name, message, _ in rows:
        pattern, piece = pattern_of(message), longest_literal(message)
        hits = [
            match.group()
            for text in texts
            if piece in text
            for match in pattern.finditer(f"[{code}] {text.removeprefix(f'[{code}] ')}")
            if re.search(r"\w{3}", re.sub(r"\{[^}]*\}", "", message))
            and not re.search(r"\[[EW]\d{4}\]|\.\*|\\\w|\|", match.group())
        ]
        if hits:
            best = min(hits, key=lambda hit: (hit.count("..."), -len(hit), hit))
            found[code] = f"```text\n{name}[{code}] {best}\n```"
    return found


@functools.cache
def examples() -> dict[str, str]:
    """Code -> markdown of its example."""
    rows = catalogue((pages.ROOT / "ir" / "support" / "ErrorCatalogue.def").read_text())
    whole: dict[str, str] = {}
    first: dict[str, str] = {}
    texts: list[str] = []
    for path in sorted((pages.ROOT / "tests").rglob("*.py")):
        if "suites" in path.parts or path.name.startswith("check_"):
            continue
        source = path.read_text()
        if not re.search(r"[EW]0\d{3}", source):
            continue  # no message of the catalogue
        tree = parse(source)
        texts += _texts(tree)
        if path.parent.name == "diag":
            whole = {**_whole_messages(tree), **whole}
            first = {**_first_lines(tree, source), **first}
    for path in sorted([*(pages.ROOT / "tests").rglob("*.cpp"), *(pages.ROOT / "tests").rglob("*.mlir")]):
        texts += (
            re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text()) if path.suffix == ".cpp" else path.read_text().splitlines()
        )
    ran = {
        name: f"```python\n{made['code']}\n```\n\n```text\n{made['printed'].rstrip()}\n```"
        for name, made in reference.examples().items()
        if re.fullmatch(r"[EW]\d{4}", name)
    }
    stated = {code: f"```text\n{name}[{code}] {MESSAGES[code]}\n```" for code, name, _, _ in rows if code in MESSAGES}
    return {**stated, **_filled_in(rows, [text.replace("\\", "") for text in texts]), **first, **ran, **whole}


def added_to(page: str) -> str:
    """The page with an example below the help of each code."""
    found = examples()

    def completed(match):
        example = found.get(match.group(1))
        return match.group(0) + (f"\n\nExample:\n\n{example}" if example else "")

    return re.sub(r"^### (\w+)\n\n.*\n\nHelp: .*$", completed, page, flags=re.MULTILINE)
