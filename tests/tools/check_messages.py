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
test that holds its longest literal piece, or a reason in UNTESTED. Python counts alike:
messages and help of errors.make, and what a raised exception says.
"""

import ast
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

_BUILD = "only another build of LLVM says it"
_CUBLAS = "said where the cuBLAS library is called, on GPUs that have it"
_DRIVER = "only a machine without, or with, a driver says it"
_TORCH = "an assertion of the tools for torch, which the tests do without"
_GUARD = "no caller can bring it about"
_TARGETS = "every GPU of codegen/target has it"
_CAUGHT = "caught where it is raised: the tests match what is told instead"

# Literals that no test matches -> why. A literal that gets a test must leave the table.
UNTESTED: dict[str, str] = {
    "LLVM was built without its NVPTX back end": _BUILD,
    "the NVPTX back end cannot write assembly": _BUILD,
    "cublasLt has no algorithm for this product": _CUBLAS,
    "cublasLt: a and b have different types": _CUBLAS,
    "failed with status": _CUBLAS,
    "has the type": _CUBLAS,
    "the library cublasLt was not found: install the CUDA toolkit, or nvidia-cublas by pip": _CUBLAS,
    "libcuda.so.1 was not found; is an NVIDIA driver installed?": _DRIVER,
    "while the interpreter copied an argument": _DRIVER,
    "data must be a torch tensor, not": _TORCH,
    "either data or size must be given": _TORCH,
    "is above high=": _TORCH,
    "microscaling bits convert to float32, not to": _TORCH,
    "no code object of '": _GUARD,
    "barriers of copies": _GUARD,
    "the target has no cp.async": _TARGETS,
    "something follows": _CAUGHT,
    "the results are wrong": _CAUGHT,
    "' is computed": _CAUGHT,
    "it needs more than its arguments": _CAUGHT,
    "tuples and descriptors are not sent": _CAUGHT,
}

_TEXT = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
# How texts reach people. Of throwX(help, message, ...) the message is the second.
EMITTED = [
    re.compile(pattern)
    for pattern in (
        rf"\b(?:emitOpError|emitError)\(\s*{_TEXT}",
        rf"\b(?:refuse|fail|reason\s*=)\(?\s*(?:[\w.]+,\s*)?{_TEXT}",
        rf"\bthrow(?:TypeMismatch|InvalidShape|InvalidArgument|UnsupportedType)\(\s*{_TEXT},\s*{_TEXT}",
    )
]

# How a pass gives the reason of a remark or note on: what it returns, and what it chooses. Literals are numbered
# before this is looked for, since a colon may end one.
GIVEN = re.compile(r"(?:\breturn|\?|(?<!:):(?!:))\s*((?:@\d+@\s*)+)")
LITERAL = re.compile(r'//.*|"(?:[^"\\]|\\.)*"')

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


def given_in(text: str) -> list[str]:
    """Texts of three words and more that a function of a pass chooses or returns; fewer are names."""
    literals: list[str] = []

    def numbered(match: re.Match) -> str:
        if match[0].startswith("//"):
            return ""
        literals.append(match[0])
        return f"@{len(literals) - 1}@"

    code = LITERAL.sub(numbered, text)
    given = [text_of("".join(literals[int(n)] for n in re.findall(r"\d+", found))) for found in GIVEN.findall(code)]
    return [words for words in given if longest_literal(words).strip(" ,;:").count(" ") > 1]


def pieces_of(node: ast.expr) -> list[str]:
    """The literal pieces of an expression that gives a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [piece for part in node.values for piece in pieces_of(part)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return pieces_of(node.left) + pieces_of(node.right)
    return []


def emitted_in_python(text: str) -> list[str]:
    """The longest literal piece of each text of one file that people may read."""
    texts = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            texts += node.exc.args[:1]
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("make", "warn"):
            texts += [keyword.value for keyword in node.keywords if keyword.arg in ("message", "help")]
    found = [max(pieces_of(expression), key=len, default="").strip() for expression in texts]
    # One word is a code or a name.
    return [piece for piece in found if " " in piece]


def one_text(test: str) -> str:
    """A test without the breaks in its texts, where lines end."""
    return re.sub(r'"\s*\\?\n\s*[rf]*"', "", test).replace("\\", "")


def literal_problems(emitted: dict[str, list[str]], tests: dict[str, str], untested: dict[str, str]) -> list[str]:
    """`emitted` are texts by file. An exception that a test matches meanwhile is a problem too."""
    everything = "\n".join(map(one_text, tests.values()))
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
    tests = {
        str(path): read(path) for path in files(".py", ".cpp", ".mlir", folders=["tests"]) if not path.name.startswith("check_")
    }
    emitted = {
        str(path): emitted_in(read(path))
        for path in files(".cpp", ".h", folders=["frontend", "ir", "passes", "codegen", "python"])
    }
    for path in files(".cpp", ".h", folders=["passes"]):
        emitted[str(path)] += given_in(read(path))
    emitted |= {str(path): emitted_in_python(read(path)) for path in files(".py", folders=["python"])}
    return message_problems(rows, raised, tests) + literal_problems(emitted, tests, UNTESTED)


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "messages: ok")
    sys.exit(bool(found))
