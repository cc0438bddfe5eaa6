# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright lint FILE...`: reads files, applies the rules, prints what was found."""

from __future__ import annotations

import ast
import json
import os
import sys

from .. import errors
from .._version import __version__
from ..checking.finding import finding_lines
from .flow import check_tiles
from .module import Module
from .names import check_constants, check_constructs, check_language_names, check_launch
from .rules import RULES, Reporter


def lint_text(path: str, text: str, enabled) -> list:
    """The findings in one file; a SyntaxError where it is no Python."""
    module = Module(path, text)
    reporter = Reporter(module, enabled)
    for kernel in module.kernels.values():
        check_constructs(kernel, reporter)
        check_language_names(module, kernel, reporter)
        check_constants(module, kernel, reporter)
        check_tiles(module, kernel, reporter)
        _check_prints(kernel, reporter)
    for kernel, call in module.launches:
        check_launch(kernel, call, reporter)
    return sorted(_once(reporter.findings), key=lambda found: found.place)


def _check_prints(kernel, reporter):
    """Python's print, unless a constexpr decides about it."""
    for statement in kernel.node.body:
        called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == "print":
            reporter.report("print-left", statement, kernel.name, "print() prints each time")


def _once(findings) -> list:
    """A loop's body may be looked at twice."""
    known = {}
    for found in findings:
        known.setdefault((found.code, found.place, found.frames[0]["column"], found.text), found)
    return list(known.values())


# -- which rules --------------------------------------------------------------


def _names(given) -> list:
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    for name in names:
        if name not in RULES and name != "all":
            raise errors.make("E0117", message=f"lint has no rule '{name}'", help=f"the rules are {', '.join(RULES)}")
    return names


def _settings(folder: str) -> dict:
    """[tool.tilewright.lint] of the nearest pyproject.toml at or above a folder."""
    while True:
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            return _section_of(path)
        parent = os.path.dirname(folder)
        if parent == folder:
            return {}
        folder = parent


def _section_of(path: str) -> dict:
    try:
        import tomllib  # not in Python 3.10
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            return {}
    try:
        with open(path, "rb") as file:
            section = tomllib.load(file)
    except (OSError, ValueError) as error:  # of TOML, or of UTF-8
        raise errors.make("E0117", message=f"'{path}' cannot be read: {error}", help="mend the file") from None
    for name in ("tool", "tilewright", "lint"):
        section = section.get(name, {})
        if not isinstance(section, dict):
            raise errors.make("E0117", message=f"'{path}': '{name}' is {section!r}, no table", help="mend the file")
    for key, value in section.items():
        if key not in ("enable", "disable") or not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise errors.make(
                "E0117",
                message=f"'{path}': [tool.tilewright.lint] has {key} = {value!r}",
                help='write enable = ["name"] and disable = ["name"]',
            )
    return section


def enabled_rules(enable, disable) -> set:
    """Names of the rules that are on."""
    on = {name for name, rule in RULES.items() if rule.is_default}
    added, removed = _names(enable), _names(disable)
    on |= set(RULES) if "all" in added else set(added)
    return set() if "all" in removed else on - set(removed)


# -- files --------------------------------------------------------------------


def _files(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, inner, names in os.walk(path):
            inner[:] = sorted(name for name in inner if not name.startswith(".") and name != "__pycache__")
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


def _lint_file(path, arguments, settings) -> list:
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in settings:
        settings[folder] = _settings(folder)
    section = settings[folder]
    enabled = enabled_rules([*section.get("enable", ()), *arguments.enable], [*section.get("disable", ()), *arguments.disable])
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        text = file.read()
    if "jit" not in text:
        return []
    return lint_text(path, text, enabled)


def lint_command(arguments) -> int:
    if arguments.rules:
        for rule in RULES.values():
            print(f"{rule.name:<18} {'' if rule.is_default else '(off) '}{rule.summary}")
        return 0
    if not arguments.paths:
        raise SystemExit("tilewright lint: name files or folders")
    enabled_rules(arguments.enable, arguments.disable)  # a name that is no rule's is told before any file is read
    findings, unread, settings, count = [], [], {}, 0
    for path in _files(arguments.paths):
        count += 1
        try:
            findings += _lint_file(path, arguments, settings)
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            unread.append({"file": path, "reason": str(error)})
    _write(arguments, findings, unread, count)
    return 1 if findings or unread else 0


def _write(arguments, findings, unread, count):
    if arguments.json:
        text = json.dumps(
            {"version": __version__, "files": count, "unread": unread, "findings": [f.record() for f in findings]}, indent=1
        )
        if arguments.json == "-":
            print(text)
            return
        with open(arguments.json, "w") as file:
            file.write(text)
    for found in findings:
        print("\n".join(finding_lines(found.record())) + "\n")
    for row in unread:
        print(f"{row['file']}: not read: {row['reason']}\n", file=sys.stderr)
    words = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
    print(f"tilewright lint: {count} {'file' if count == 1 else 'files'}: {words if findings else 'nothing found'}")
