# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generated pages are up to date, and links between the pages lead somewhere."""

import argparse
import fnmatch
import re
import subprocess
from pathlib import Path

import pytest

from tilewright import cli
from tilewright.runtime import checks
from tools.sources import ROOT, files, load_script

generate_docs = load_script(ROOT / "scripts" / "generate_docs.py")

PAGES = [path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]]


@pytest.mark.parametrize("path", sorted(generate_docs.pages()))
def test_generated_page(path):
    assert (ROOT / path).read_text() == generate_docs.pages()[path], f"{path} is stale: run make docs"


def test_every_row_is_on_the_page():
    """The page has as many entries as the table has rows: a row that is not parsed would be lost silently."""
    support = ROOT / "ir" / "support"
    rows = (support / "ErrorCatalogue.def").read_text().count("\nTILEWRIGHT_ERROR(")
    assert generate_docs.pages()["docs/errors.md"].count("\n### ") == rows > 50
    knobs = (support / "Knobs.def").read_text().count("\nTILEWRIGHT_KNOB(")
    assert generate_docs.pages()["docs/knobs.md"].count("\n| `TILEWRIGHT_") == knobs > 10


def test_table_of_checks():
    """Every check of the interpreter is on its page, with its default, its meaning and its codes.

    `checks.CODES` has those codes.
    """
    text = (ROOT / "runtime" / "interpreter" / "Checks.def").read_text()
    rows = re.findall(r'TILEWRIGHT_CHECK_KIND\("(\w+)", \w+, (\w+), "([^"]*)",\s*((?:"[^"]*"\s*)+)\)', text)
    assert len(rows) == text.count("\nTILEWRIGHT_CHECK_KIND(") > 5
    table = (ROOT / "docs" / "interpreter.md").read_text().split("\n## What is checked\n")[1].split("\n## ")[0]
    shown = {
        row[0]: row[1:]
        for row in (line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| "))
        if row[0] != "name"
    }
    for name, is_default, codes, meaning in rows:
        words = "".join(re.findall(r'"([^"]*)"', meaning))
        default, said, linked = shown.pop(f"`{name}`")
        assert (default.strip(), said) == ("yes" if is_default == "true" else "", words), name
        assert codes_of(linked) == set(codes.split()), name
    (deadlock,) = shown.values()  # no name turns it off
    every = set().union(*(codes.split() for _, _, codes, _ in rows), codes_of(deadlock[-1]))
    assert sum(len(codes.split()) for _, _, codes, _ in rows) + 1 == len(every)
    assert checks.CODES == every
    catalogue = (ROOT / "ir" / "support" / "ErrorCatalogue.def").read_text()
    assert all(f"\nTILEWRIGHT_ERROR({code}," in catalogue for code in every)


def codes_of(cell):
    """The codes that a cell links: one, or "[E0408](...) to [E0411](...)"."""
    found = [int(number) for number in re.findall(r"\[E(\d{4})\]\(errors\.md#e\1\)", cell)]
    return {f"E{number:04}" for number in range(found[0], found[-1] + 1)}


def anchors_of(text):
    """What can stand after "#" in a link to a page: its headings, as the site and the hosts of repositories call them."""
    headings = re.findall(r"^#+ (.+?)\s*$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).strip().replace(" ", "-")
        for heading in headings
    }


def broken_links(text, page):
    """Links of a page to files that are not there, and to headings that their page does not have."""
    broken = set()
    for path, anchor in re.findall(r"(?<!!)\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        target = ROOT / page.parent / path if path else ROOT / page
        if "://" in path:
            continue
        if not target.exists():
            broken.add(path)
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(text if not path else target.read_text()):
            broken.add(f"{path}#{anchor}")
    return broken


def test_broken_link_is_found():
    text = (
        "# A `b` c, d\n[x](gone.md) [y](#a-b-c-d) [z](#e) [w](README.md#no-such) [v](https://u.v/w) "
        "```[f](g)``` [t](docs/launch.md#grids)\n"
    )
    assert broken_links(text, Path("README.md")) == {"gone.md", "#e", "README.md#no-such", "g"}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links(page):
    assert not broken_links((ROOT / page).read_text(), page)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_switches_exist(page):
    known = {f"TILEWRIGHT_{row[0]}" for row in generate_docs.KNOB.findall((ROOT / "ir" / "support" / "Knobs.def").read_text())}
    assert set(re.findall(r"\bTILEWRIGHT_[A-Z0-9_]*[A-Z0-9]\b", (ROOT / page).read_text())) <= known


def commands_of(parser):
    """The words after `tilewright` that its parser takes: {command: the words after that, where it has such}."""
    subparsers = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: commands_of(one) for action in subparsers for name, one in action.choices.items()}


def unknown_commands(text):
    """What a text calls as `tilewright X` or `tilewright X Y` in code or quotes, and the command line does not know."""
    known = commands_of(cli._parser())
    unknown = set()
    for command, rest in re.findall(r"""(?:[`'"]|bin/|^    |, )tilewright ([a-z]+)(?: ([a-z]+))?""", text, re.MULTILINE):
        if command not in known:
            unknown.add(command)
        elif rest and known[command] and rest not in known[command]:
            unknown.add(f"{command} {rest}")
    return unknown


def test_unknown_command_is_found():
    text = "`tilewright run x.py`, 'tilewright reproduce x', `bin/tilewright cache list`\n    tilewright tune sing\n"
    assert unknown_commands(text) == {"reproduce", "tune sing"}


@pytest.mark.parametrize("page", [*PAGES, *files(".def")], ids=str)
def test_commands_exist(page):
    """The catalogue of errors and the table of switches name commands as well as the pages do."""
    assert not unknown_commands((ROOT / page).read_text())


def missing_files(text, names, is_page):
    """Files of C++ and pages that a page, or a comment of a source, names and that are not in the tree."""
    lines = [line for line in text.splitlines() if is_page or re.match(r"\s*(//|#(?!include))", line)]
    named = re.findall(r"(?<![\w{<.*])(?:\w+/)*([A-Z]\w+\.(?:h|cpp|md|td|def))\b", "\n".join(lines))
    return set(named) - names


def test_missing_file_is_found():
    text = '// Gone.cpp has it, and ir/dialect/Rings.h.\n#include "Lost.h"\nread("Other.md")\n# see Away.md\n'
    assert missing_files(text, {"Rings.h"}, is_page=False) == {"Gone.cpp", "Away.md"}
    assert missing_files(text, {"Rings.h"}, is_page=True) == {"Gone.cpp", "Away.md", "Lost.h", "Other.md"}


def test_files_named_exist():
    """What a comment or a page refers to can be opened."""
    sources = files(".h", ".cpp", ".td", ".def", ".md", ".py")
    names = {path.name for path in [*sources, *PAGES]} | {"HoistLoads.cpp"}  # the example of CONTRIBUTING
    suites = [path for path in sources if path.parts[:2] == ("tests", "suites")]  # of other people's trees
    missing = {
        str(path): missing_files((ROOT / path).read_text(), names, path.suffix == ".md")
        for path in {*sources, *PAGES} - {*suites}
    }
    assert not {path: found for path, found in missing.items() if found}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^    |&& )make ([a-z-]+)", (ROOT / page).read_text(), re.MULTILINE))
    assert named <= targets


def test_folders_of_the_readme():
    """The map of the README has a row for each folder of the tree that holds a file of the repository, and for no other."""
    shown = re.findall(r"^\| `([\w.]+)/` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(shown) == len(set(shown))
    assert set(shown) == folders_of_the_tree()


def folders_of_the_tree():
    """Top folders with files that git tracks; where there is no git, as in an archive, those that it would not ignore."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return {name.partition("/")[0] for name in listed.stdout.splitlines() if "/" in name}
    ignored = [".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines())]
    return {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and not any(fnmatch.fnmatch(path.name, pattern) for pattern in ignored)
    }


def test_folders_named_on_the_map_exist():
    """What a row calls a part of its folder (`ast/` in the row of `frontend/`) is one."""
    rows = re.findall(r"^\| `([\w.]+)/` \|(.*)\|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    for folder, text in rows:
        for part in re.findall(r"`([\w/]+)/`", text):
            assert (ROOT / folder / part).is_dir(), f"{folder}/{part}"


def test_versions_agree():
    """CMake's version is the wheel's; the package says its own without metadata."""
    build = re.search(r"project\(tilewright VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    package = re.search(r'__version__ = "([^"]+)"', (ROOT / "python/tilewright/_version.py").read_text()).group(1)
    assert build == package
