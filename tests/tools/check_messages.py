# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every message that the code can raise has a test that matches its text.

    python tests/tools/check_messages.py

The catalogue is ir/support/ErrorCatalogue.def. A code is raised where C++ names
ErrorCode::E0106 or Python passes "E0106" to errors.make or errors.warn. A test of
it names the code and holds the longest literal piece of its first line. Codes that
nothing raises yet stand in NOT_RAISED: one that is raised must leave the table. Of a
code whose first line is a placeholder nothing could be missed, so it stands in
TEXT_ELSEWHERE with where its texts are checked.

The texts that stand in the code count too: those of verifiers and lowerings (emitError
and the like), refusals of passes, and the sentences of the catch-all codes. Each has a
test that holds its longest literal piece, or a reason in UNTESTED.
"""

import re
import sys

from tools.sources import ROOT, files, read

# Codes of the catalogue that no code raises yet.
NOT_RAISED: set[str] = set()

# Codes whose first line has no words of its own -> where its words are checked.
TEXT_ELSEWHERE = {
    "E0113": "the user's own message",
    "E0116": "throwTypeMismatch, below",
    "E0117": "throwInvalidArgument, below",
    "E0120": "throwUnsupportedType, below",
    "E0121": "throwInvalidShape, below",
}

_GUARD = "lowering guards what the verifiers of ops and of phases are there to check"
_TRAIT = "a trait of the op says it first"
_BUILD = "only another build of LLVM says it"
_REMARK = "a remark of the assembler's result, whose kind the tests match"
_OTHER = "no test yet"

# Literals that no test matches -> why. A literal that gets a test must leave the table.
UNTESTED: dict[str, str] = {
    "the accumulator is twice what fits the registers, so the code is not optimised; more warps or a smaller tile would help":
    _REMARK,
    "the values alive at once do not fit the registers; more warps or a smaller tile would help": _REMARK,
    "LLVM was built without its NVPTX back end": _BUILD,
    "module has no kernel": _GUARD,
    "the NVPTX back end cannot write assembly": _BUILD,
    "memory lacks elements of the tile": _GUARD,
    "has no way between these layouts": _GUARD,
    "has no unit that works on registers": _GUARD,
    "has no warps": _GUARD,
    "operand has another layout than its unit's": _GUARD,
    "[E0209] num_ctas=": _OTHER,
    "argument type has no place in a launch": _GUARD,
    "has no body": _GUARD,
    "has unstructured control flow": _GUARD,
    "cannot reduce a swizzled layout; convert it first": _GUARD,
    "cannot scan a swizzled layout; convert it first": _GUARD,
    "layouts of the whole and of the halves do not agree": _GUARD,
    "first operand has another layout than wgmma's": _GUARD,
    "needs four warps along M, 64 rows and 8 columns": _GUARD,
    "takes two dimensions, got": _GUARD,
    "waits for a tile whose registers fill no word": _GUARD,
    "missing argument 'arg1'": _OTHER,
    "cannot make a constant of type": _OTHER,
    "tl.atomic_poll: expected_value is": _OTHER,
    "' is not a function of libdevice": _OTHER,
    "' needs operands": _OTHER,
    "tl.map_elementwise needs at least one tensor": _OTHER,
    "a tensor map cannot be read here": _OTHER,
    "a tensor map cannot be written here": _OTHER,
    "has no input": _OTHER,
    "has no axis": _OTHER,
    "index and source differ beside the axis": _OTHER,
    "needs i32 or i64 as index, got": _OTHER,
    "order does not give": _OTHER,
    "ranks must be equal, 2 or 3; got": _OTHER,
    "warps has": _OTHER,
    "`other` needs a mask": _OTHER,
    "operand types differ": _TRAIT,
    "region must end in tw.yield": _OTHER,
    "result must be a 1-D tile of i32, got": _OTHER,
    "sources differ in shape": _OTHER,
    "values cross blocks of a cluster": _GUARD,
    "no layout rule for this control flow on tiles": _OTHER,
    "no layout rule for this operation on tiles": _OTHER,
    "no matrix instruction computes these types": _OTHER,
    "the target has no wgmma": _OTHER,
    "the tile is too small for wgmma": _OTHER,
    "wgmma does not compute these types": _OTHER,
    "wgmma has no batches": _OTHER,
    "wgmma needs a multiple of 4 warps": _OTHER,
    "whole warpgroups": _OTHER,
    "cannot take this operand layout": _OTHER,
    "no unit was selected": _OTHER,
    "operands must have one layout, found": _OTHER,
    "the unit needs the layout": _OTHER,
}

_TEXT = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
# How texts reach people. Of throwX(help, message, ...) the message is the second.
EMITTED = [re.compile(pattern) for pattern in (
    rf"\b(?:emitOpError|emitError)\(\s*{_TEXT}",
    rf"\b(?:refuse|fail|reason\s*=)\(?\s*{_TEXT}",
    rf"\bthrow(?:TypeMismatch|InvalidShape|InvalidArgument|UnsupportedType)\(\s*{_TEXT},\s*{_TEXT}",
)]

ROW = re.compile(r'TILEWRIGHT_ERROR\(\s*([EW]\d{4}),\s*"(\w+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
# In C++ by the enumeration, or as a call of Python's function by its name; in Python by a call.
RAISED = re.compile(r"ErrorCode::([EW]\d{4})\b|\b(?:make|warn|from_native)(?:\"\))?\(\s*[\"']([EW]\d{4})[\"']")


def text_of(literals: str) -> str:
    """Adjacent C string literals as one text."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def catalogue(text: str) -> list[tuple[str, str, str, str]]:
    """Rows: code, class, first line, help."""
    return [(code, name, text_of(message), text_of(help)) for code, name, message, help in ROW.findall(text)]


def longest_literal(message: str) -> str:
    """The longest piece of a pattern between its placeholders."""
    return max((piece.strip() for piece in re.split(r"\{[^}]*\}", message)), key=len)


def raised_in(text: str) -> set[str]:
    return {a or b for a, b in RAISED.findall(text)}


def emitted_in(text: str) -> list[str]:
    """The texts of one file that people may read."""
    return [text_of(match.groups()[-1]) for pattern in EMITTED for match in pattern.finditer(text)]


def literal_problems(emitted: dict[str, list[str]], tests: dict[str, str], untested: dict[str, str]) -> list[str]:
    """`emitted` are texts by file. An exception that a test matches meanwhile is a problem too."""
    everything = "\n".join(text.replace("\\", "") for text in tests.values())
    problems, used = [], set()
    for path, texts in emitted.items():
        for literal in {longest_literal(text).strip(" :;,") for text in texts}:
            if len(literal) < 4 or literal in everything:
                continue
            used.add(literal)
            if literal not in untested:
                problems.append(f'{path}: no test holds "{literal}"')
    problems += [f'UNTESTED lists "{literal}", which has a test or is gone' for literal in sorted(set(untested) - used)]
    return problems


def message_problems(rows, raised: set[str], tests: dict[str, str], not_raised=NOT_RAISED) -> list[str]:
    problems = []
    known = {row[0] for row in rows}
    problems += [f"{code} is raised but not in the catalogue" for code in sorted(raised - known)]
    problems += [f"NOT_RAISED lists {code}, which is not in the catalogue" for code in sorted(not_raised - known)]
    for code, _, message, _ in rows:
        if code not in raised:
            if code not in not_raised:
                problems.append(f"{code} is raised nowhere: list it in NOT_RAISED")
            continue
        if code in not_raised:
            problems.append(f"{code} is raised now: take it out of NOT_RAISED")
        literal = longest_literal(message)
        if not literal:
            if code not in TEXT_ELSEWHERE:
                problems.append(f"{code} has no words of its own: say in TEXT_ELSEWHERE where its texts are checked")
            if not any(code in text for text in tests.values()):
                problems.append(f"{code} has no test that names it")
            continue
        # Tests may escape the text for a regular expression.
        if not any(code in text and literal in text.replace("\\", "") for text in tests.values()):
            problems.append(f'{code} has no test that names it and holds "{literal}"')
    return problems


def problems() -> list[str]:
    rows = catalogue((ROOT / "ir/support/ErrorCatalogue.def").read_text())
    raised: set[str] = set()
    for path in files(".cpp", ".h", ".py", folders=["frontend", "ir", "passes", "codegen", "runtime", "autotune", "python"]):
        raised |= raised_in(read(path))
    tests = {str(path): read(path) for path in files(".py", ".cpp", ".mlir", folders=["tests"])
             if not path.name.startswith("check_")}
    emitted = {str(path): emitted_in(read(path))
               for path in files(".cpp", ".h", folders=["frontend", "ir", "passes", "codegen", "python"])}
    return message_problems(rows, raised, tests) + literal_problems(emitted, tests, UNTESTED)


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "messages: ok")
    sys.exit(bool(found))
