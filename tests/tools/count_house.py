# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what docs/house.md tells of the state of the code.

    python tests/tools/count_house.py [FOLDER]

FOLDER is a checkout, of an earlier commit for example, and without it this one. One row
is printed for each number, with the same rules for every checkout, so that two runs can
be compared. Nothing fails here: the checks beside this file hold the limits.
"""

import ast
import itertools
import re
import statistics
import sys
from pathlib import Path

from tools import (
    check_attributes,
    check_classes,
    check_imports,
    check_includes,
    check_messages,
    check_names,
    check_ops,
    check_sizes,
)
from tools.sources import ROOT

PRODUCT = ("frontend", "ir", "passes", "codegen", "runtime", "autotune", "python", "tools")
CPP = (".cpp", ".h", ".def")

# Functions that stood in several files.
SEVERAL = ("placeOf", "editDistance", "separatesAxis", "firstErrorLine", "signatureText", "eraseDead", "isZero", "guarded")


class Tree:
    """The sources of a checkout, by path from its root."""

    def __init__(self, root: Path):
        self.root = root
        names = [path for folder in (*PRODUCT, "tests") for path in (root / folder).rglob("*") if path.is_file()]
        known = (*CPP, ".py", ".mlir", ".td", ".c")
        self.texts = {
            path.relative_to(root): path.read_text(encoding="utf-8")
            for path in sorted(names)
            if path.suffix in known and "__pycache__" not in path.parts
        }

    def of(self, *suffixes, inside=PRODUCT):
        return {path: text for path, text in self.texts.items() if path.suffix in suffixes and path.parts[0] in inside}


def spread(numbers) -> str:
    numbers = sorted(numbers)
    places = [int(len(numbers) * part) for part in (0.9, 0.99)]
    return " / ".join(map(str, (len(numbers), int(statistics.median(numbers)), *(numbers[at] for at in places), numbers[-1])))


def directions(tree: Tree):
    texts = tree.of(*CPP)
    for depth in (1, 9):
        edges = set()
        for path, text in texts.items():
            own = "/".join(path.parent.parts[:depth])
            targets = {Path(name) for _, name in check_includes.INCLUDE.findall(text)} & texts.keys()
            edges |= {(own, "/".join(target.parent.parts[:depth])) for target in targets}
        pairs = [(a, b) for a, b in edges if a < b and (b, a) in edges]
        yield f"C++: folders that include each other, {'first level' if depth == 1 else 'any depth'}", len(pairs)
    yield "C++: folders in a cycle of includes", sum(map(len, check_includes.cycles(texts)))
    package = check_imports.Package({path: text for path, text in tree.of(".py").items() if "tilewright" in path.parts[:2]})
    groups = check_imports.cycles(package)
    own = [found for found in package.imports if package.is_module(found.target) and found.target != "_core"]
    yield "Python package: modules", len(package.paths)
    yield "Python package: modules that import each other, largest group", max(map(len, groups), default=0)
    yield "Python package: imports of own modules inside functions", sum(bool(found.function) for found in own)
    for folder in ("passes", "python/bindings"):
        inside = [path.parent for path in texts if path.as_posix().startswith(folder + "/")]
        yield f"{folder}: files of the fullest folder", max(inside.count(name) for name in set(inside))
    yield (
        "constants named kFoo",
        sum(len(check_names.constant_problems("", text)) for text in tree.of(*CPP, inside=(*PRODUCT, "tests")).values()),
    )
    long = [
        line for text in tree.of(".py", inside=("python", "tests")).values() for line in text.splitlines() if len(line) > 128
    ]
    yield "Python: lines of more than 128 columns", len(long)


def head_of(text: str) -> str:
    """What the head of a C++ file says after its licence."""
    found = re.search(r"SPDX[^\n]*\n((?://[^\n]*\n)*)", text)
    return re.sub(r"//[^\n]*===|[/\s]", "", found[1]) if found else ""


def comment_share(texts, mark: str) -> str:
    lines = [line.strip() for text in texts.values() for line in text.splitlines() if line.strip()]
    return f"{100 * sum(line.startswith(mark) for line in lines) / len(lines):.1f} %"


def sizes(tree: Tree):
    kinds = {
        ".cpp": tree.of(".cpp"),
        ".h": tree.of(".h"),
        "Python package": tree.of(".py", inside=("python",)),
        "tests, C++": tree.of(".cpp", ".h", inside=("tests",)),
        "tests, Python": tree.of(".py", inside=("tests",)),
    }
    longer = 0
    for title, texts in kinds.items():
        functions = [lines for path, text in texts.items() for _, lines in check_sizes.functions_in(path, text)]
        longer += sum(lines > check_sizes.FUNCTION_LINES for lines in functions)
        yield f"{title}: files, lines of one: median / p90 / p99 / most", spread(text.count("\n") for text in texts.values())
        yield f"{title}: functions, lines of one: median / p90 / p99 / most", spread(functions)
    yield "functions of more than 60 lines, tests included", longer
    rows = [
        row
        for path, text in tree.of(".h", ".cpp").items()
        if path.parts[0] == "passes"
        for row in check_classes.classes_of(text)
    ]
    yield "passes: methods of the widest class", max(row[1] for row in rows)
    yield "passes: fields of the widest class", max(row[2] for row in rows)
    heads = [len(head_of(text)) > 40 for text in tree.of(".cpp", ".h").values()]
    yield "C++ files with a head in prose", f"{100 * sum(heads) / len(heads):.0f} % of {len(heads)}"
    for title, texts in list(kinds.items())[:2]:
        yield f"{title}: lines that are comments", comment_share(texts, "//")
    passes = {path: text for path, text in kinds[".cpp"].items() if path.parts[0] == "passes"}
    yield "passes, .cpp: lines that are comments", comment_share(passes, "//")


def texts_of_strings(path: Path, text: str) -> set[str]:
    """String literals of four words and more."""
    if path.suffix == ".py":
        found = [
            node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
    else:
        found = [check_messages.text_of(literals) for literals in re.findall(check_messages._TEXT, text)]
    return {piece for one in found if "\n" not in one and len((piece := check_messages.longest_literal(one)).split()) > 3}


def duplicates(tree: Tree):
    places: dict[tuple, set] = {}
    for path, text in tree.of(".cpp", ".h", ".py").items():
        code = [line.strip() for line in text.splitlines()]
        plain = [
            line for line in code if len(line) > 3 and not line.startswith(("#", "//", "import", "from", "using", "namespace"))
        ]
        for start in range(len(plain) - 5):
            places.setdefault(tuple(plain[start : start + 6]), set()).add(path)
    yield "runs of six lines of code that stand in two files", sum(len(paths) > 1 for paths in places.values())
    texts = tree.of(".cpp", ".h")
    several = []
    for name in SEVERAL:
        pattern = re.compile(rf"^(?!.*\breturn\b)[\w:<>&* ]*[ &*]{name}\([^;{{]*\{{|\bauto {name} = \[", re.MULTILINE)
        several.append(sum(bool(pattern.search(text)) for text in texts.values()) > 1)
    yield f"of {', '.join(SEVERAL)}: functions that several files define", sum(several)
    python = {
        text for path, source in tree.of(".py").items() if "runtime" in path.parts for text in texts_of_strings(path, source)
    }
    cpp = {text for path, source in texts.items() if path.parts[0] == "frontend" for text in texts_of_strings(path, source)}
    yield "messages of the language that C++ and Python both spell out", len(python & cpp)
    walks = [path for path, text in texts.items() if path.parts[0] in ("passes", "ir") and re.search(r"\bscf::WhileOp\b", text)]
    yield "passes and analyses that know scf.while by name", len(walks)
    yield (
        "attributes without a reader or a writer",
        len(
            [p for p in check_attributes.attribute_problems({str(path): text for path, text in texts.items()}) if "has no" in p]
        ),
    )


def has_check(function: ast.FunctionDef) -> bool:
    text = ast.unparse(function)
    return any(isinstance(node, ast.Assert) for node in ast.walk(function)) or "raises(" in text or "warns(" in text


def tests(tree: Tree):
    inside = {path: text for path, text in tree.texts.items() if path.parts[0] == "tests"}
    functions = [
        node
        for path, text in inside.items()
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    yield "test functions of Python", len(functions)
    yield "of these without an assertion of their own, in helpers only", sum(not has_check(node) for node in functions)
    yield "tests of C++", sum(len(re.findall(r"^TEST(?:_F|_P)?\(", text, re.MULTILINE)) for text in inside.values())
    lit = "\n".join(text for path, text in inside.items() if path.suffix == ".mlir")
    yield "functions of lit tests", lit.count("func.func")
    for kind in ("error", "note", "remark"):
        yield f"expected-{kind} of lit tests", lit.count(f"expected-{kind}")
    table = "\n".join(text for path, text in tree.of(".td").items() if path.parts[:2] == ("ir", "dialect"))
    trips = "\n".join(text for path, text in inside.items() if path.name.startswith("roundtrip"))
    ops = list(check_ops.OP.finditer(table))
    yield "ops of the dialect", len(ops)
    yield "ops in a round-trip test", sum(bool(re.search(rf"\btw\.{op[1]}\b", trips)) for op in ops)
    ends = [op.start() for op in ops[1:]] + [len(table)]
    described = [check_ops.DESCRIPTION.search(table[op.start() : end]) for op, end in zip(ops, ends, strict=True)]
    yield "ops with a description", sum(bool(found) for found in described)
    yield "ops with an example", sum(bool(found and check_ops.EXAMPLE.search(found[1])) for found in described)
    yield from messages(tree, inside)


def messages(tree: Tree, inside):
    # The list of those without a test is no test.
    matching = [path for path in inside if path.suffix in (".py", ".cpp", ".mlir") and not path.name.startswith("check_")]
    everything = "\n".join(check_messages.one_text(inside[path]) for path in matching)
    cpp = {path: text for path, text in tree.of(".cpp", ".h").items() if path.parts[0] not in ("runtime", "autotune", "tools")}
    sources = {
        "messages of C++ and Python": itertools.chain(
            *(check_messages.emitted_in(text) for text in cpp.values()),
            *(check_messages.emitted_in_python(text) for text in tree.of(".py").values()),
        ),
        "reasons that passes give": itertools.chain(
            *(check_messages.given_in(text) for path, text in cpp.items() if path.parts[0] == "passes")
        ),
    }
    for title, texts in sources.items():
        literals = {check_messages.longest_literal(text).strip(" :;,") for text in texts}
        literals = {literal for literal in literals if len(literal) > 3}
        yield title, len(literals)
        yield f"{title} that a test matches", sum(literal in everything for literal in literals)
    catalogue = check_messages.catalogue((tree.root / "ir/support/ErrorCatalogue.def").read_text())
    yield "codes of errors and warnings", len(catalogue)
    table = "".join(text for path, text in tree.of(".td").items() if path.name == "Passes.td")
    yield "statistics of passes", table.count("Statistic<")
    yield "of these counts of refusals", table.count('"numRefused"')


PARTS = {"Direction": directions, "Sizes": sizes, "Said twice": duplicates, "Tests": tests}


def rows(root: Path):
    tree = Tree(root)
    return [(part, title, value) for part, count in PARTS.items() for title, value in count(tree)]


if __name__ == "__main__":
    for part, title, value in rows(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT):
        print(f"| {part} | {title} | {value} |")
