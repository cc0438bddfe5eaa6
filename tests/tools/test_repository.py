# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The repository passes its own checks, and each check can fail."""

from pathlib import Path

import pytest

from tools import check_includes, check_messages, check_names, check_words


@pytest.mark.parametrize("check", [check_includes, check_names, check_messages, check_words], ids=lambda c: c.__name__.split(".")[-1])
def test_repository(check):
    problems = check.problems()
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("path, include", [
    ("ir/support/A.h", "ir/layout/LinearLayout.h"),
    ("ir/layout/A.cpp", "mlir/IR/Value.h"),
    ("frontend/semantic/A.h", "ir/dialect/TileDialect.h"),
    ("frontend/semantic/A.h", "Python.h"),
    ("passes/transform/A.cpp", "frontend/semantic/Types.h"),
    ("frontend/emit/A.cpp", "passes/pipeline/Pipeline.h"),
    ("codegen/lower/A.cpp", "passes/transform/Passes.h"),
    ("runtime/driver/A.cpp", "llvm/ADT/StringRef.h"),
    ("runtime/driver/A.cpp", "frontend/semantic/Types.h"),
    ("runtime/interpreter/A.cpp", "frontend/emit/Emit.h"),
    ("runtime/driver/A.cpp", "runtime/interpreter/CpuTile.h"),
    ("python/bindings/A.cpp", "frontend/semantic/SemanticInternal.h"),
    ("ir/dialect/A.cpp", "python/bindings/Bindings.h"),
    ("elsewhere/A.cpp", "ir/support/Error.h"),
])
def test_include_is_refused(path, include):
    assert check_includes.problems_in(Path(path), f'#include "{include}"\n')


@pytest.mark.parametrize("path, include", [
    ("codegen/lower/A.cpp", "passes/pipeline/Pipeline.h"),
    ("runtime/interpreter/A.cpp", "frontend/semantic/Semantic.h"),
    ("runtime/launch/A.cpp", "runtime/driver/Driver.h"),
    ("passes/transform/A.cpp", "passes/analysis/AxisInfo.h"),
    ("frontend/semantic/A.cpp", "frontend/semantic/SemanticInternal.h"),
    ("python/bindings/A.cpp", "codegen/emit/CompileModule.h"),
])
def test_include_is_accepted(path, include):
    assert not check_includes.problems_in(Path(path), f'#include "{include}"\n')


def test_names_can_fail():
    table = 'def HoistLoads : TilewrightPass<"tw-hoist-load"> {\n'
    problems = check_names.pass_problems(table, lambda path: False, lambda path: None)
    assert len(problems) == 3
    table = 'def HoistLoads : TilewrightPass<"tw-hoist-loads"> {\n'
    assert not check_names.pass_problems(table, lambda path: True, lambda path: "tw-hoist-loads")
    assert check_names.pass_problems(table, lambda path: True, lambda path: "hoist")
    assert check_names.unit_problems(["Layout.cpp"]) and not check_names.unit_problems(["LayoutTest.cpp"])


def test_messages_can_fail():
    rows = check_messages.catalogue('''
TILEWRIGHT_ERROR(E0106, "InvalidShape",
                 "tile dimension {i} is {n}; a power of two "
                 "is required",
                 "use {p} and a mask")
''')
    assert rows == [("E0106", "InvalidShape", "tile dimension {i} is {n}; a power of two is required", "use {p} and a mask")]
    good = {"t.py": 'match=r"E0106\\\\] tile dimension 0 is 3; a power of two is required"'}
    assert not check_messages.message_problems(rows, {"E0106"}, good, set())
    assert check_messages.message_problems(rows, {"E0106"}, {"t.py": "E0106"}, set())
    assert check_messages.message_problems(rows, {"E0106"}, good, {"E0106"})
    assert check_messages.message_problems(rows, set(), good, set())
    assert check_messages.message_problems(rows, {"E0106", "E9999"}, good, set())
    assert check_messages.raised_in('makeError(ErrorCode::E0106) errors.make("E0205", a=1)') == {"E0106", "E0205"}


def test_a_code_without_words_needs_a_place_for_them():
    rows = [("E0999", "Any", "{message}", "{help}")]
    (problem, ) = check_messages.message_problems(rows, {"E0999"}, {"t.py": "E0999"}, set())
    assert "E0999 has no words of its own" in problem
    assert check_messages.message_problems([("E0116", "TypeMismatch", "{message}", "")], {"E0116"}, {"t.py": ""}, set())


def test_literals_can_fail():
    code = """
        return emitOpError("ranks differ: ") << a << " and " << b;
        throwInvalidShape("reshape it", "cannot reshape {} "
                          "to {}", a, b);
        return refuse("it contains no loop");
    """
    emitted = {"A.cpp": check_messages.emitted_in(code)}
    assert sorted(emitted["A.cpp"]) == ["cannot reshape {} to {}", "it contains no loop", "ranks differ: "]
    good = {"t.mlir": "ranks differ: 1", "t.py": "cannot reshape i32", "u.py": "it contains no loop"}
    assert not check_messages.literal_problems(emitted, good, {})
    assert len(check_messages.literal_problems(emitted, {}, {})) == 3
    assert not check_messages.literal_problems(emitted, {"t.mlir": good["t.mlir"], "t.py": good["t.py"]}, {"it contains no loop": "why"})
    assert check_messages.literal_problems(emitted, good, {"it contains no loop": "why"})


@pytest.mark.parametrize("text", ["import pickle", "from marshal import loads", "eval('1')", "import os\nos.system('x')",
                                  "import subprocess\nsubprocess.run('x', shell=True)", "exec(text)"])
def test_word_is_refused(text):
    assert check_words.python_problems(Path("python/tilewright/a.py"), text)


def test_words_can_fail():
    assert check_words.cpp_problems(Path("a.cpp"), 'int x = std::system("ls");')
    assert check_words.licence_problems(Path("a.h"), "#pragma once\n")
    assert not check_words.python_problems(Path("a.py"), "import re\nre.compile('x')\n'eval'")
