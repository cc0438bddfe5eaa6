# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright lint`: a finding and a silent twin for each rule, how rules are turned off, and that the compiler agrees."""

import importlib.util
import json
import re
import textwrap
from pathlib import Path

import pytest

import tilewright
from tilewright import cli, errors
from tilewright.compiler.sources import ASTSource
from tilewright.frontend_rules import FORBIDDEN
from tilewright.linting.command import enabled_rules, lint_text
from tilewright.linting.rules import RULES

HEAD = """
import triton
import triton.language as tl
import tilewright
"""

LAUNCH = """
def launch(x, y, n):
    kernel[(1,)](x, y, n, BLOCK=64)
"""


def kernel_of(body: str, launch: str = LAUNCH) -> str:
    return (
        f"{HEAD}\n@triton.jit\ndef kernel(x, y, n, BLOCK: tl.constexpr, FLAG: tl.constexpr = False):\n"
        f"{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n{launch}"
    )


def findings(text: str, *, enable=("all",), disable=()):
    return lint_text("file.py", text, enabled_rules(enable, disable))


def rules_of(text: str) -> list:
    return [found.code for found in findings(text)]


INDEX = "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
LOADED_ROWS = "j = tl.arange(0, BLOCK)\na = tl.load(x + i[:, None] * 8 + j[None, :], mask=i[:, None] < n)\n"

# rule -> (what is found, with the line's text; its silent twin). The bodies stand in a launched kernel.
PAIRS = {
    "forbidden": [
        ("while n > 0:\n    break  # found", "while n > 0:\n    n -= 1"),
        ("values = {1: 2}  # found", "values = (1, 2)"),
        ("a = b = n  # found", "a = n"),
        ("for i in range(4):\n    n += 1\nelse:\n    n = 0", "if FLAG:\n    raise ValueError('no such type')"),
        ("a = x @ y  # found", "a = x.T"),
        ("a = n in (1, 2)  # found", "a = [i for i in (1, 2)]"),
        ("import math  # found", "import pdb"),
    ],
    "constexpr-needed": [
        ("i = tl.arange(0, n)  # found", "i = tl.arange(0, BLOCK)"),
        ("z = tl.zeros((tl.cdiv(n, 2), ), tl.float32)  # found", "z = tl.zeros((tl.cdiv(BLOCK, 2), ), tl.float32)"),
        ("for i in tl.static_range(tl.load(x)):  # found\n    n += i", "for i in range(tl.load(x)):\n    n += i"),
    ],
    "unknown-name": [
        ("i = tl.arrange(0, BLOCK)  # found", "i = tl.arange(0, BLOCK)"),
        ("tl.printf('n', n)  # found", "i = tl.math.exp(n * 1.0)"),
    ],
    "unknown-keyword": [
        (INDEX + "a = tl.load(x + i, mask=i < n, othr=0)  # found", INDEX + "a = tl.load(x + i, mask=i < n, other=0)"),
        ("a = tl.dot(x, y, trans_b=True)  # found", "a = tl.dot(x, y, acc=None)"),
    ],
    "missing-mask": [
        (
            INDEX + "a = tl.load(x + i, mask=i < n, other=0)\ntl.store(y + i, a)  # found",
            INDEX + "a = tl.load(x + i, mask=i < n, other=0)\ntl.store(y + i, a, mask=i < n)",
        ),
        # By way of names; a mask that is known while compiling is no sign that others need one.
        (
            INDEX + "p, q = x + i, y + i\nmask = i < n\ntl.store(p, 1, mask)\ntl.store(y + i, 1)  # found",
            INDEX + "tl.store(x + i, 1, mask=i < BLOCK - 1)\ntl.store(y + i, 1, mask=None if FLAG else i < n)",
        ),
    ],
    "undefined-lanes": [
        (
            INDEX + "a = tl.load(x + i, mask=i < n)\ns = tl.sum(a * 2.0, axis=0)  # found",
            INDEX + "a = tl.load(x + i, mask=i < n, other=0.0)\ns = tl.sum(a * 2.0, axis=0)",
        ),
        (INDEX + LOADED_ROWS + "s = a.sum(0)  # found", INDEX + LOADED_ROWS + "s = a.sum(1)"),
        (
            INDEX + "a = tl.load(x + i[:, None] + i[None, :], mask=i[None, :] < n)\ns = tl.dot(a, y)  # found",
            INDEX + "a = tl.load(x + i[:, None] + i[None, :], mask=i[None, :] < n)\ns = tl.dot(a.T, y)",
        ),
        (
            INDEX + "a = tl.load(x + i, i < n)\nb = a.to(tl.float32)\ns = tl.max(b)  # found",
            INDEX + "a = tl.load(x + i, i < n)\nb = tl.where(i < n, a, 0)\ns = tl.max(b)",
        ),
    ],
    "unused-mask": [
        (INDEX + "mask = i < n  # found\ntl.store(y + i % n, 1)", INDEX + "mask = i < n\ntl.store(y + i, 1, mask=mask)")
    ],
    "half-accumulator": [
        (
            "acc = tl.zeros((16, 16), tl.float16)\nfor k in range(n):\n    acc += tl.dot(x, y)  # found",
            "acc = tl.zeros((16, 16), tl.float32)\nfor k in range(n):\n    acc += tl.dot(x, y)",
        ),
        (
            "acc = tl.full([16], 0, dtype=tl.bfloat16)\nfor k in range(n):\n    acc = acc + k  # found",
            "acc = tl.full([16], 0, dtype=tl.bfloat16)\nfor k in range(n):\n    acc = acc * k",
        ),
    ],
    "lost-accumulator": [
        (
            "for k in range(n):\n    acc = tl.zeros((16, 16), tl.float32)  # found\n    acc += tl.dot(x, y)\ntl.store(x, acc)",
            "acc = tl.zeros((16, 16), tl.float32)\nfor k in range(n):\n    acc += tl.dot(x, y)\ntl.store(x, acc)",
        ),
        (
            "for k in range(n):\n    acc = tl.zeros((16, 16), tl.float32)  # found\n"
            "    acc = tl.dot(x, y, acc)\ntl.store(x, acc)",
            "for k in range(n):\n    acc = tl.zeros((16, 16), tl.float32)\n"
            "    acc = tl.dot(x, y, acc)\n    tl.store(x + k, acc)",
        ),
    ],
    "float64-constant": [
        ("a = tl.maximum(n * 1.0, 1e-45)  # found", "a = tl.maximum(n * 1.0, 1e-37)"),
        ("a = tl.where(n > 0, 1e39, 0.0)  # found", "a = tl.where(n > 0, -float('inf'), 0.0)"),
    ],
    "print-left": [
        ("print(n)  # found", "if FLAG:\n    print(n)"),
        ("tl.device_print('n', n)  # found", "tl.static_assert(BLOCK > 1)"),
    ],
    "unmasked-tail": [
        (INDEX + "tl.store(x + i, 1)  # found", INDEX + "tl.store(x + i % n, 1)"),
        (INDEX + "a = tl.load(x + i)  # found", "i = tl.arange(0, BLOCK)\na = tl.load(x + i)"),
    ],
}

STRIDES = (
    HEAD
    + """
@triton.jit
def kernel(x, stride_m, BLOCK: tl.constexpr):
    row = tl.program_id(0)WIDE
    tl.store(x + row * stride_m, 1)


kernel[(1,)](0, 1, BLOCK=4)
"""
)


def all_pairs():
    return [
        pytest.param(rule, *pair, id=f"{rule}-{number}") for rule, pairs in PAIRS.items() for number, pair in enumerate(pairs)
    ]


@pytest.mark.parametrize("rule, faulty, sound", all_pairs())
def test_rule(rule, faulty, sound):
    text = kernel_of(faulty)
    found = [f for f in findings(text) if f.code == rule]
    assert len(found) == 1, [f.code for f in findings(text)]
    marked = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# found")]
    assert not marked or marked == [found[0].place[1]]
    assert found[0].text and found[0].help and found[0].kernel == "kernel"
    assert rules_of(kernel_of(sound)) == []


def test_int32_stride():
    assert rules_of(STRIDES.replace("WIDE", "")) == ["int32-stride"]
    assert rules_of(STRIDES.replace("WIDE", ".to(tl.int64)")) == []


def test_launch_keyword():
    body = "tl.store(x, n)"
    assert rules_of(kernel_of(body)) == []
    assert rules_of(kernel_of(body, "kernel[(1,)](0, 0, 0, BLOCK=64, num_warps=4, FLAG=True)")) == []
    (found,) = findings(kernel_of(body, "kernel[(1,)](0, 0, 0, BLOCK=64, num_warp=4)"))
    assert found.code == "launch-keyword" and "num_warps" in found.help
    (found,) = findings(kernel_of(body, "kernel[(1,)](0, 0, 0, BLOCK=64, waves_per_eu=2)"))
    assert "AMD" in found.text


def test_every_rule_is_tested_and_described():
    assert {*PAIRS, "int32-stride", "launch-keyword"} == set(RULES)
    page = (Path(__file__).resolve().parents[2] / "docs" / "linting.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (on|off) \|", page, re.MULTILINE))
    assert rows == {name: "on" if rule.is_default else "off" for name, rule in RULES.items()}


def test_what_is_no_kernel_is_not_looked_at():
    assert rules_of(HEAD + "def host(n):\n    try:\n        print({1: n})\n    finally:\n        pass\n") == []
    assert rules_of("import numba\n@numba.jit\ndef f(n):\n    print({1: n})\n") == []


def test_helpers_may_get_constants_and_tiles():
    """What a parameter of a helper is, its text does not say."""
    helper = HEAD + "@triton.jit\ndef helper(x, n):\n    return tl.sum(tl.load(x, n)) + tl.arange(0, n)\n"
    assert rules_of(helper) == []


def compile_error(tmp_path, text):
    path = tmp_path / "linted.py"
    path.write_text(
        text.replace("import triton\n", "import tilewright as triton\n").replace(
            "import triton.language", "import tilewright.language"
        )
    )
    spec = importlib.util.spec_from_file_location("linted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = ASTSource(module.kernel, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 64, "FLAG": False})
    with pytest.raises(errors.TilewrightError) as info:
        tilewright.compile(source, "sm_80")
    return info.value.code


@pytest.mark.parametrize(
    "rule, codes",
    [
        ("forbidden", {"E0102"}),
        ("constexpr-needed", {"E0112"}),
        ("unknown-name", {"E0104", "E0125"}),
        ("unknown-keyword", {"E0122", "E0125"}),
    ],
)
def test_the_compiler_refuses_it_too(tmp_path, rule, codes):
    for faulty, _ in PAIRS[rule]:
        assert compile_error(tmp_path, kernel_of(faulty, "")) in codes, faulty


def test_constructs_are_the_front_ends():
    """Every class of nodes that the front end refuses is refused by its text, unless it is a rule about types or targets."""
    texts = {
        "Await": "await n",
        "Lambda": "a = lambda: n",
        "Set": "a = {1, 2}",
        "Try": "try:\n    n += 1\nfinally:\n    pass",
        "With": "with n:\n    pass",
        "Global": "global n",
        "Delete": "del n",
        "Continue": "while n:\n    continue",
        "GeneratorExp": "a = sum(i for i in (1, 2))",
        "Match": "match n:\n    case 1:\n        pass",
        "Bytes": "a = b''",
        "Complex": "a = 1j",
        "ClassDef": "class A:\n    pass",
        "FunctionDef": "def f():\n    pass",
        "Yield": "yield n",
        "NestedComprehension": "a = [i for i in (1,) for j in (2,)]",
        "KeywordArguments": "a = tl.load(**x)",
        "WhileElse": "while n:\n    n -= 1\nelse:\n    n = 1",
        "ForTarget": "for i, j in (1, 2):\n    n += i",
    }
    for key, text in texts.items():
        found = [f for f in findings(kernel_of(text)) if f.code == "forbidden"]
        assert len(found) == 1 and FORBIDDEN[key][0] in found[0].text, key


# -- turning rules off ----------------------------------------------------------

TWO = kernel_of("print(n)\na = tl.where(n > 0, 1e39, 0.0)")


@pytest.mark.parametrize(
    "comment, left",
    [
        ("# tilewright: ignore[print-left]", ["float64-constant"]),
        ("# tilewright: ignore", ["float64-constant"]),
        ("# tilewright: ignore[unused-mask, print-left] why", ["float64-constant"]),
        ("# tilewright: ignore[unused-mask]", ["print-left", "float64-constant"]),
    ],
)
def test_comment(comment, left):
    assert rules_of(TWO.replace("print(n)", f"print(n)  {comment}")) == left


def run(capsys, *arguments):
    status = cli.main(["lint", *map(str, arguments)])
    return status, capsys.readouterr().out


def test_command(tmp_path, capsys):
    file = tmp_path / "sub" / "kernels.py"
    file.parent.mkdir()
    file.write_text(TWO)
    (tmp_path / "host.py").write_text("print(1)\n")
    status, out = run(capsys, tmp_path)
    assert status == 1 and "2 files: 2 findings" in out
    assert f"print-left at {file}:8 in kernel 'kernel'" in out and "      print(n)\n" in out and "  help: remove it" in out
    assert run(capsys, file, "--disable", "print-left,float64-constant")[0] == 0
    assert "int32-stride       (off)" in run(capsys, "--rules")[1]


def test_json(tmp_path, capsys):
    file = tmp_path / "kernels.py"
    file.write_text(TWO)
    (tmp_path / "broken.py").write_text("def jit(:\n")
    status, out = run(capsys, file, tmp_path / "broken.py", "--json", "-")
    told = json.loads(out)
    assert status == 1 and told["files"] == 2
    assert [f["code"] for f in told["findings"]] == ["print-left", "float64-constant"]
    assert told["findings"][0]["frames"][0]["line"] == 8 and told["findings"][0]["kernel"] == "kernel"
    assert [row["file"] for row in told["unread"]] == [str(tmp_path / "broken.py")]


def test_settings(tmp_path, capsys):
    pytest.importorskip("tomllib")
    file = tmp_path / "package" / "kernels.py"
    file.parent.mkdir()
    file.write_text(STRIDES.replace("WIDE", "") + TWO.replace("kernel", "other"))
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.tilewright.lint]\ndisable = ["print-left"]\nenable = ["int32-stride"]\n')
    status, out = run(capsys, file, "--json", "-")
    assert [f["code"] for f in json.loads(out)["findings"]] == ["int32-stride", "float64-constant"]
    settings.write_text('[tool.tilewright.lint]\ndisable = "print-left"\n')
    assert cli.main(["lint", str(file)]) == 1
    assert (
        f"[E0117] '{settings}': [tool.tilewright.lint] has disable = 'print-left'\n"
        '  help: write enable = ["name"] and disable = ["name"]\n' in capsys.readouterr().err
    )
    settings.write_text("[tool\n")
    assert cli.main(["lint", str(file)]) == 1
    told = capsys.readouterr().err
    assert f"[E0117] '{settings}' cannot be read: " in told and told.endswith("\n  help: mend the file\n\n")
    for text, name in (("tool = 3", "tool"), ("[tool]\ntilewright = 3", "tilewright"), ("[tool.tilewright]\nlint = 3", "lint")):
        settings.write_text(text)
        assert cli.main(["lint", str(file)]) == 1
        assert f"[E0117] '{settings}': '{name}' is 3, no table\n  help: mend the file" in capsys.readouterr().err
    settings.write_bytes(b"\xff\xfe")
    assert cli.main(["lint", str(file)]) == 1
    assert f"[E0117] '{settings}' cannot be read: 'utf-8' codec" in capsys.readouterr().err


def test_what_cannot_be_opened_is_told(tmp_path, capsys):
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "kernels.py").write_text("import tilewright\n")
    assert cli.main(["lint", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "gone.py: not read: [Errno 2] No such file or directory" in told.err and "2 files" in told.out


def test_wrong_names(tmp_path, capsys):
    assert cli.main(["lint", "--disable", "no-such-rule", str(tmp_path)]) == 1
    assert f"[E0117] lint has no rule 'no-such-rule'\n  help: the rules are {', '.join(RULES)}\n" in capsys.readouterr().err
    assert cli.main(["lint", str(tmp_path / "absent.py")]) == 1
    assert "absent.py" in capsys.readouterr().err
    with pytest.raises(SystemExit) as info:
        cli.main(["lint"])
    assert info.value.code == "tilewright lint: name files or folders"


def test_lessons_are_clean(capsys):
    root = Path(__file__).resolve().parents[2]
    status, out = run(capsys, root / "tutorials")
    assert status == 0 and "nothing found" in out


@pytest.mark.parametrize("axis", ['-"x"', "-None", "+1", "~0"])
def test_an_axis_that_is_no_number_ends_nothing(axis):
    assert (
        findings(kernel_of(f"i = tl.arange(0, 8)\ntl.store(x, tl.sum(i, axis={axis}))"), disable=["missing-mask"]) is not None
    )


def test_a_file_that_begins_with_a_mark_of_its_encoding_is_read(tmp_path, capsys):
    path = tmp_path / "marked.py"
    path.write_text(kernel_of("tl.store(x, 1)"), encoding="utf-8-sig")
    cli.main(["lint", str(path)])
    assert "not read" not in capsys.readouterr().err
