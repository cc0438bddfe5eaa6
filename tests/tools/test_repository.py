# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The repository passes its own checks, and each check can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import (
    check_attributes,
    check_classes,
    check_imports,
    check_includes,
    check_messages,
    check_names,
    check_numbers,
    check_ops,
    check_sizes,
    check_switches,
    check_words,
    count_house,
)
from tools.sources import ROOT

RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")


@pytest.mark.parametrize(
    "check",
    [
        check_attributes,
        check_classes,
        check_imports,
        check_includes,
        check_messages,
        check_names,
        check_numbers,
        check_ops,
        check_sizes,
        check_switches,
        check_words,
    ],
    ids=lambda c: c.__name__.split(".")[-1],
)
def test_repository(check):
    problems = check.problems()
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.skipif(not shutil.which("clang-format-19") or not RUFF, reason="clang-format-19 or ruff is not installed")
def test_sources_are_formatted():
    done = subprocess.run([ROOT / "scripts" / "format", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.parametrize(
    "path, include",
    [
        ("ir/support/A.h", "ir/layout/LinearLayout.h"),
        ("ir/layout/A.cpp", "mlir/IR/Value.h"),
        ("frontend/semantic/A.h", "ir/dialect/TileDialect.h"),
        ("frontend/semantic/A.h", "Python.h"),
        ("passes/tile/A.cpp", "frontend/semantic/Types.h"),
        ("passes/tile/A.cpp", "passes/layout/LayoutChoice.h"),
        ("passes/analysis/A.cpp", "passes/schedule/LoopFacts.h"),
        ("passes/schedule/A.cpp", "passes/Passes.h"),
        ("passes/resources/A.cpp", "passes/schedule/LoopSchedule.h"),
        ("frontend/emit/A.cpp", "passes/pipeline/Pipeline.h"),
        ("codegen/lower/A.cpp", "passes/Passes.h"),
        ("codegen/lower/A.cpp", "codegen/emit/EmitPtx.h"),
        ("frontend/python/A.cpp", "mlir/IR/Value.h"),
        ("frontend/python/A.cpp", "frontend/ast/Scope.h"),
        ("runtime/driver/A.cpp", "llvm/ADT/StringRef.h"),
        ("runtime/driver/A.cpp", "frontend/semantic/Types.h"),
        ("runtime/interpreter/A.cpp", "frontend/emit/Emit.h"),
        ("runtime/driver/A.cpp", "runtime/interpreter/CpuTile.h"),
        ("python/bindings/A.cpp", "frontend/semantic/SemanticInternal.h"),
        ("ir/dialect/A.cpp", "python/bindings/Bindings.h"),
        ("elsewhere/A.cpp", "ir/support/Error.h"),
        ("python/bindings/launch/A.cpp", "python/bindings/tuning/A.h"),
        ("python/bindings/compile/A.cpp", "python/bindings/interpreter/InterpreterContext.h"),
        ("python/bindings/A.cpp", "python/bindings/launch/LaunchRequest.h"),
        ("passes/tile/CombineOps.cpp", "Passes.h"),
    ],
)
def test_include_is_refused(path, include):
    assert check_includes.problems_in(Path(path), f'#include "{include}"\n')


@pytest.mark.parametrize(
    "path, include",
    [
        ("codegen/emit/A.cpp", "passes/pipeline/Pipeline.h"),
        ("runtime/interpreter/A.cpp", "frontend/semantic/Semantic.h"),
        ("runtime/launch/A.cpp", "runtime/driver/Driver.h"),
        ("passes/tile/A.cpp", "passes/analysis/AxisInfo.h"),
        ("passes/async/A.cpp", "passes/schedule/LoopSchedule.h"),
        ("passes/layout/A.cpp", "passes/Passes.h"),
        ("frontend/semantic/A.cpp", "frontend/semantic/SemanticInternal.h"),
        ("python/bindings/compile/A.cpp", "codegen/emit/CompileModule.h"),
        ("python/bindings/tuning/A.cpp", "python/bindings/launch/LaunchRequest.h"),
        ("python/bindings/launch/A.cpp", "python/bindings/PythonError.h"),
    ],
)
def test_include_is_accepted(path, include):
    assert not check_includes.problems_in(Path(path), f'#include "{include}"\n')


def test_folders_that_include_each_other_are_found():
    texts = {
        Path("codegen/lower/A.cpp"): '#include "codegen/emit/A.h"\n#include "ir/support/Error.h"\n',
        Path("codegen/emit/A.h"): '#include "ir/support/Error.h"\n',
        Path("codegen/emit/A.cpp"): '#include "codegen/emit/A.h"\n',
        Path("ir/support/Error.h"): "#include <string>\n",
    }
    assert not check_includes.cycles(texts)
    texts[Path("ir/support/Error.h")] = '#include "codegen/lower/A.h"\n'
    assert check_includes.cycles(texts) == [["codegen/emit", "codegen/lower", "ir/support"]]


def test_wide_class_is_refused():
    methods = "".join(f"  void f{n}(std::pair<int, int> x = {{}}) {{ if (x.first) g({{1}}); }}\n" for n in range(24))
    fields = "  int a = 0, b{1};\n  std::map<int, int> c; // d, e;\n  std::function<int(int)> h;\n" + "  char i[2];\n" * 6
    others = (
        "  using T = int;\n  friend class B;\n  static constexpr int j = 1;\n  enum { k, l };\n  struct M {\n    int n;\n  };\n"
    )
    text = f"class A : public B<int> {{\npublic:\n  explicit A(int a);\n{methods}{fields}{others}}};\n"
    assert list(check_classes.classes_of(text)) == [("A", 25, 10), ("M", 0, 1)]
    assert not check_classes.problems_in("passes/A.h", text)
    assert check_classes.problems_in("passes/A.h", text.replace("  int a", "  int z;\n  int a"))
    assert check_classes.problems_in("passes/A.h", text.replace("public:", "public:\n  bool operator==(const A &other) const;"))


def test_attribute_without_reader_or_writer_is_found():
    name = 'constexpr llvm::StringLiteral fooAttr = "tw.foo"; // set by Foo\n'
    write, ask = "op->setAttr(ir::fooAttr, unit);\n", "if (auto foo = op->getAttrOfType<IntegerAttr>(ir::fooAttr))\n"
    assert not check_attributes.attribute_problems({"A.h": name, "A.cpp": write, "B.cpp": ask})
    assert check_attributes.attribute_problems({"A.h": name, "A.cpp": write}) == ["tw.foo (fooAttr) has no reader"]
    assert check_attributes.attribute_problems({"A.h": name, "B.cpp": ask}) == ["tw.foo (fooAttr) has no writer"]
    assert check_attributes.attribute_problems({"A.h": name, "A.cpp": write, "B.cpp": "// " + ask})
    spelt = 'return op->hasAttr("tw.foo") && function.getArgAttr(i, "tw.foo");\n'
    assert len(check_attributes.attribute_problems({"A.h": name, "A.cpp": write, "B.cpp": ask, "C.cpp": spelt})) == 2
    target = "struct TargetInfo {\n  bool hasFoo = false;\n  int capability = 0;\n};\n"
    filled, asked = "info.hasFoo = true; info.capability = 80;", "if (target.hasFoo && info->capability == 80)"
    assert not check_attributes.fact_problems(target, {"A.cpp": filled, "B.cpp": asked})
    assert check_attributes.fact_problems(target, {"A.cpp": filled, "B.cpp": "target.hasFoo"}) == [
        "capability of TargetInfo has no reader"
    ]
    assert check_attributes.fact_problems("", {"A.cpp": asked}) == ["the target has no facts"]
    assert check_attributes.attribute_problems({"A.cpp": write})


@pytest.mark.parametrize(
    "path, text",
    [
        ("frontend/ast/Names.cpp", 'bool isOn = std::getenv("TILEWRIGHT_DEBUG") != nullptr;'),
        ("runtime/driver/Driver.cpp", "const char *value = getenv(name);"),
        ("python/tilewright/cli.py", "import os\nos.environ['TILEWRIGHT_DEBUG']"),
        ("python/tilewright/cli.py", "import os\nos.environ.get('TRITON_DEBUG', '0')"),
        ("python/tilewright/cli.py", "import os\nos.getenv(name)"),
        ("python/tilewright/cli.py", "import os\n'TILEWRIGHT_DEBUG' in os.environ"),
    ],
)
def test_switch_that_is_read_elsewhere_is_found(path, text):
    assert check_switches.problems_in(Path(path), text, set())


@pytest.mark.parametrize(
    "path, text",
    [
        ("ir/support/Knobs.cpp", "const char *value = getenv(name);"),
        ("runtime/driver/Driver.cpp", "// getenv(name) would not do"),
        ("python/tilewright/cli.py", "import os\nos.environ['TILEWRIGHT_DEBUG'] = '1'\nos.environ.get('CUDA_HOME')"),
    ],
)
def test_switch_that_may_be_read_is_accepted(path, text):
    assert not check_switches.problems_in(Path(path), text, set())


@pytest.mark.parametrize(
    "path, text",
    [
        ("passes/tile/A.cpp", "constexpr int64_t limit = 232448;"),
        ("autotune/A.cpp", "int64_t limit = 227 * 1024;"),
        ("passes/async/A.cpp", "std::min<int64_t>(255, words)"),
        ("codegen/emit/A.cpp", "if (target.capability >= 90)"),
        ("codegen/lower/A.cpp", "static constexpr int64_t first = 1, tensorMapBytes = 128;"),
        ("tests/harness/a.py", "LIMIT = 166912  # of an A100"),
    ],
)
def test_number_of_a_gpu_is_refused(path, text):
    assert check_numbers.problems_in(Path(path), text)


@pytest.mark.parametrize(
    "path, text",
    [
        ("codegen/target/Targets.cpp", "232448"),
        ("passes/tile/A.cpp", "// an H200 has 65536 registers\nint64_t most = target.maxRegistersPerThread;"),
        ("codegen/lower/A.cpp", "int64_t bytes = hardware::tensorMapBytes;"),
        ("tests/harness/a.py", "byte = 255"),
    ],
)
def test_number_is_accepted(path, text):
    assert not check_numbers.problems_in(Path(path), text)


def test_long_file_and_function_are_refused():
    body = "\n".join("  x += 1;" for _ in range(70))
    cases = {
        "a.h": "// one line\n" * 501,
        "a.cpp": f"int f(int x) {{\n{body}\n}}\n",
        "b.cpp": "namespace {\nstruct S {\n  int f(\n      int x) const {\n" + body.replace("  ", "    ") + "\n  }\n};\n}\n",
        "a.py": "class A:\n    def f(self):\n" + "        self.x += 1\n" * 70,
    }
    for path, text in cases.items():
        assert check_sizes.problems_in(Path(path), text, set()), path
    call_once = "  std::call_once(flag, [] {\n    x();\n  });\n"
    short = f"int f(int x) {{\n  return x;\n}}\n\nint g(int x) {{\n{call_once}{body[:500]}\n}}\n"
    assert not check_sizes.problems_in(Path("a.cpp"), short, set())
    assert [name for name, _ in check_sizes.functions_of_cpp(short)] == ["f", "g"]


def import_problems(texts):
    """What the check of imports says of files of the package."""
    return check_imports.problems_in({check_imports.FOLDER / f"{name}.py": text for name, text in texts.items()}, reasons={})


@pytest.mark.parametrize(
    "module, text, problem",
    [
        ("errors", "from . import knobs", ""),
        ("errors", "from .runtime import jit", "base must not import runtime.jit"),
        ("language/core", "from ..runtime.jit import JITFunction", "language must not import runtime.jit"),
        ("tuning/table", "import tilewright.runtime.jit", "tuning must not import runtime.jit"),
        ("errors", "def f():\n    from . import knobs", "f imports knobs"),
        ("errors", "call = lambda: importlib.import_module('.knobs', __package__)", "by its name"),
        ("errors", "from .lazy_names import deferred\ncall = deferred('runtime.jit:jit')", "base must not import runtime.jit"),
        ("errors", "wiring.answers['x'] = 'runtime.jit:jit'", "base must not import runtime.jit"),
        ("runtime/jit", "from ..names import late", "names holds 'late' for users"),
        ("runtime/jit", "from ..names import early", ""),
        ("nowhere", "x = 1", "is in no layer"),
        ("runtime/nowhere", "x = 1", "is in no layer"),
        ("runtime/jit", "from ..knobs import x\nfrom ..missing import y", "there is no module 'missing'"),
    ],
)
def test_import_is_judged(module, text, problem, monkeypatch):
    monkeypatch.setitem(check_imports.LAYERS, "names", "base")
    others = {"errors": "", "knobs": "", "lazy_names": "", "runtime/jit": "", "names": "early = lazy_names(__name__, {})"}
    found = import_problems({**others, module: text})
    assert any(problem in one for one in found) if problem else not found, found


def test_circular_imports_are_refused():
    assert import_problems(
        {"errors": "from . import knobs", "knobs": "from . import foreign", "foreign": "from . import errors"}
    ) == ["modules import each other: errors, foreign, knobs"]
    # Also by way of what a package loads with any of its modules.
    assert (
        import_problems(
            {
                "language/core": "from ..runtime import source",
                "runtime/source": "",
                "runtime/__init__": "from ..language import core",
            }
        )[-1]
        == "modules import each other: language.core, runtime"
    )


def test_imports_in_functions_are_few_and_have_reasons():
    package = check_imports.Package(
        {check_imports.FOLDER / "errors.py": "def f():\n    from . import knobs", check_imports.FOLDER / "knobs.py": ""}
    )
    assert not check_imports.lazy_problems(package, {("errors", "knobs"): "why"})
    assert check_imports.lazy_problems(package, {("errors", "knobs"): "why", ("knobs", "errors"): "gone"})
    many = "\n".join(f"    from . import m{n}" for n in range(check_imports.MOST_LAZY))
    package = check_imports.Package(
        {
            check_imports.FOLDER / "errors.py": "def f():\n" + many,
            **{check_imports.FOLDER / f"m{n}.py": "" for n in range(check_imports.MOST_LAZY)},
        }
    )
    reasons = {("errors", f"m{n}"): "why" for n in range(check_imports.MOST_LAZY)}
    assert "fewer than" in check_imports.lazy_problems(package, reasons)[0]


def test_the_layers_are_in_order(monkeypatch):
    assert not check_imports.order_problems()
    monkeypatch.setitem(check_imports.ALLOWED, "base", ["cli"])
    assert check_imports.order_problems()


def test_names_can_fail():
    table = 'def HoistLoads : TilewrightPass<"tw-hoist-load"> {\n'
    problems = check_names.pass_problems(table, lambda path: False, lambda path: None)
    assert len(problems) == 3
    table = 'def HoistLoads : TilewrightPass<"tw-hoist-loads"> {\n'
    assert not check_names.pass_problems(table, lambda path: True, lambda path: "tw-hoist-loads")
    assert check_names.pass_problems(table, lambda path: True, lambda path: "hoist")
    assert check_names.constant_problems("A.h", "enum {\n  kFirst = 1,\n};") and check_names.constant_problems(
        "A.h", "  static constexpr int kMax = 4;"
    )
    assert not check_names.constant_problems(
        "A.h", "constexpr int most = 4;\nint64_t kBytes() const;\nint x = rows *\n  kBytes();"
    )
    assert check_names.unit_problems(["Layout.cpp"]) and not check_names.unit_problems(["LayoutTest.cpp"])


def test_messages_can_fail():
    rows = check_messages.catalogue("""
TILEWRIGHT_ERROR(E0106, "InvalidShape",
                 "tile dimension {i} is {n}; a power of two "
                 "is required",
                 "use {p} and a mask")
""")
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
    (problem,) = check_messages.message_problems(rows, {"E0999"}, {"t.py": "E0999"}, set())
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
    assert not check_messages.literal_problems(
        emitted, {"t.mlir": good["t.mlir"], "t.py": good["t.py"]}, {"it contains no loop": "why"}
    )
    assert check_messages.literal_problems(emitted, good, {"it contains no loop": "why"})


def test_given_reasons_can_fail():
    code = """
    // return "of a comment: no text";
    if (isVolatile) return "its loads are volatile";
    return refuse(load, isShort ? "it has few elements" : "some have one " "address");
    case Unit::Mma: return "mma";
    op->emitError("layouts differ: ") << a;
    """
    assert check_messages.given_in(code) == ["its loads are volatile", "it has few elements", "some have one address"]


def test_messages_of_python_can_fail():
    code = """
raise ValueError(f"{name} is not "
                 f"a number: {value}")
raise errors.make("E0117", message="the grid is " + grid, help="give numbers")
raise KeyError("name")
"""
    emitted = {"a.py": check_messages.emitted_in_python(code)}
    assert emitted["a.py"] == ["is not a number:", "the grid is", "give numbers"]
    good = 'assert text == "x is not " \\\n    "a number: 3"\n"the grid is none" "give numbers"'
    assert not check_messages.literal_problems(emitted, {"t.py": good}, {})
    assert len(check_messages.literal_problems(emitted, {"t.py": "is not"}, {})) == 3


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from marshal import loads",
        "eval('1')",
        "import os\nos.system('x')",
        "import subprocess\nsubprocess.run('x', shell=True)",
        "exec(text)",
    ],
)
def test_word_is_refused(text):
    assert check_words.python_problems(Path("python/tilewright/a.py"), text)


def test_words_can_fail():
    assert check_words.cpp_problems(Path("a.cpp"), 'int x = std::system("ls");')
    assert check_words.licence_problems(Path("a.h"), "#pragma once\n")
    assert not check_words.python_problems(Path("a.py"), "import re\nre.compile('x')\n'eval'")


OP = """def TW_FooOp : TW_Op<"foo"> {
  let summary = "what it does";
  let description = [{
    What it means.

        %0 = tw.foo %x : i32
  }];
}
"""


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ("what it does", "foo", "no summary"),
        ("description", "remark", "no description"),
        ("    What it means.\n", "", "says nothing"),
        ("tw.foo", "tw.bar", "no example"),
        ("%x : i32", "%x : i64", "no round-trip test has the example"),
        ("def TW_FooOp", "class Foo", "no ops"),
    ],
)
def test_op_without_documentation(old, new, problem):
    test = "  %a = tw.foo %b : i32\n"
    assert not check_ops.table_problems(OP, [test])
    assert problem in "\n".join(check_ops.table_problems(OP.replace(old, new), [test]))


@pytest.mark.parametrize(
    "name, text",
    [
        ("a.md", "<<<<<<< HEAD\nold\n=======\nnew\n>>>>>>> main\n"),
        ("a.md", "The fence stands in front of the load.\n"),
        ("a.cpp", "// Of each atomic.\n"),
        ("a.py", "# Stands in front of the load.\n"),
        ("a.h", "  // A register that nobody reads.\n"),
    ],
)
def test_wording_is_refused(name, text):
    assert check_words.wording_problems(Path(name), text)


def test_plain_wording_is_accepted():
    assert not check_words.wording_problems(Path("a.md"), "Title\n=======\n\nOf two loads the first one waits.\n")
    assert not check_words.wording_problems(Path("a.cpp"), "// The results\n// Of each atomic.\nint front;\n")


def test_docstring_without_a_subject_is_refused():
    assert check_words.docstring_problems(Path("a.py"), '"""What a launch asks of arrays."""\n')
    assert not check_words.docstring_problems(Path("a.py"), '"""Questions of a launch about arrays."""\n')


@pytest.mark.parametrize("text", ["x" * 121 + "\n", "```console\ntilewright lint a.py\n```\n\nreports mistakes in a file.\n"])
def test_page_is_refused(text):
    assert check_words.page_problems(Path("a.md"), text)


def test_page_is_accepted():
    text = f"# A\n\n| {'x' * 130} |\n\n```python\n{'x' * 130}\n```\n\nThis line says more.\nand goes on in lower case.\n"
    assert not check_words.page_problems(Path("a.md"), text)


def test_the_house_is_counted():
    """The script behind docs/house.md finds what it counts, and agrees with the checks."""
    counted = {title: value for _, title, value in count_house.rows(ROOT)}
    assert not any(counted[title] for title in counted if "that include each other" in title or "kFoo" in title)
    assert counted["ops of the dialect"] == counted["ops with an example"] == counted["ops in a round-trip test"] > 60
    assert 20 < counted["passes: methods of the widest class"] <= check_classes.METHODS
    assert 400 < counted["messages of C++ and Python that a test matches"] <= counted["messages of C++ and Python"]
    assert counted["attributes without a reader or a writer"] == 0 < counted["tests of C++"]
