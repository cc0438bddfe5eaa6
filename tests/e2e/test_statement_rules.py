# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each rule of the statement level through both evaluators: one code, one sentence, one place, or one result.

The compiler's front end judges kernels for the interpreter too. So a mistake is refused
wherever the compiler would see it, in a branch that is not taken as well, and nowhere else.
"""

import itertools
import sys
import textwrap
import types

import numpy as np
import pytest

from harness.devices import Emulator, Interpreter
from harness.statement_rules import NAMES
from tilewright import _core, errors
from tilewright.frontend_rules import FORBIDDEN

NOT_HERE = "'{}' is not supported in a kernel"
NOT_CONSTANT = "Cannot access global variable '{}': it is not a constexpr"
NOT_DEFINED = "name '{}' is not defined"
NOT_KNOWN = "'{}' must be known at compile time"
NOT_CALLED = "'{}' is not a kernel function"

#: Statements that kernels may not contain, by the key of their row in FORBIDDEN.
SYNTAX = {
    "Break": "while n > 3:\n    break", "Continue": "while n > 3:\n    continue", "ClassDef": "class c:\n    pass",
    "Delete": "x = 1\ndel x", "FunctionDef": "def f():\n    pass", "Global": "global g", "Import": "import os",
    "ImportFrom": "from os import path", "Match": "match n:\n    case 1:\n        pass", "Raise": "raise ValueError",
    "Try": "try:\n    pass\nfinally:\n    pass", "With": "with out:\n    pass", "Bytes": "y = b'1'", "Complex": "y = 1j",
    "Dict": "y = {1: 2}", "DictComp": "y = {i: i for i in (1, 2)}", "GeneratorExp": "y = tuple(i for i in (1, 2))",
    "In": "y = 1 in (1, 2)", "Lambda": "f = lambda: 1", "MatMult": "y = n @ n", "NotIn": "y = 1 not in (1, 2)",
    "Set": "y = {1}", "SetComp": "y = {i for i in (1, 2)}", "Starred": "a, *b = 1, 2, 3", "Yield": "yield out",
    "YieldFrom": "yield from out", "AttributeTarget": "out.y = 1", "ChainedAssign": "a = b = 1",
    "ForElse": "for i in range(2):\n    pass\nelse:\n    pass", "ForOverTuple": "for i in (1, 2):\n    pass",
    "ForOverTile": "for i in tl.arange(0, 16):\n    pass",
    "ForTarget": "for a, b in range(2):\n    pass", "KeywordArguments": "helper(n, **out)",
    "NestedComprehension": "y = [i for i in (1, 2) for j in (1, 2)]", "PowTile": "y = n ** 2",
    "SubscriptTarget": "out[0] = 1", "WhileElse": "while n > 30:\n    n -= 1\nelse:\n    pass",
}  # fmt: skip
#: The same of Python's newer syntax, with the version that has it first.
NEWER_SYNTAX = {
    "TryStar": ((3, 11), "try:\n    pass\nexcept* ValueError:\n    pass"),
    "TypeAlias": ((3, 12), "type y = int"),
    "TemplateStr": ((3, 14), "y = t'{n}'"),
}
SYNTAX.update({key: text for key, (since, text) in NEWER_SYNTAX.items() if sys.version_info >= since})
#: Of async functions and nested ones, which are no kernels.
NOT_WRITTEN = {"AsyncFor", "AsyncFunctionDef", "AsyncWith", "Await", "Nonlocal"}

#: name: (statements, code, sentence)
REFUSED = {
    **{f"syntax {key}": (text, "E0102", NOT_HERE.format(FORBIDDEN[key][0])) for key, text in SYNTAX.items()},
    "attribute augmented": ("out.y += 1", "E0102", NOT_HERE.format("assignment to an attribute")),
    "element annotated": ("out[0]: int = 1", "E0102", NOT_HERE.format("assignment to an element")),
    "element in a tuple": ("a, out[0] = 1, 2", "E0102", NOT_HERE.format("assignment to an element")),
    "matmul augmented": ("n @= n", "E0102", NOT_HERE.format("@")),
    # Names
    "global number": ("x = n + NUMBER", "E0103", NOT_CONSTANT.format("NUMBER")),
    "global bool": ("if FLAG:\n    pass", "E0103", NOT_CONSTANT.format("FLAG")),
    "global text": ("x: tl.constexpr = TEXT", "E0103", NOT_CONSTANT.format("TEXT")),
    "global tuple": ("x = TUPLE[0]", "E0103", NOT_CONSTANT.format("TUPLE")),
    "global empty tuple": ("x: tl.constexpr = EMPTY", "E0103", NOT_CONSTANT.format("EMPTY")),
    "global list": ("x: tl.constexpr = LIST", "E0103", NOT_CONSTANT.format("LIST")),
    "global dict": ("x: tl.constexpr = DICT", "E0103", NOT_CONSTANT.format("DICT")),
    "global array": ("x: tl.constexpr = ARRAY", "E0103", NOT_CONSTANT.format("ARRAY")),
    "global object": ("x: tl.constexpr = OBJECT", "E0103", NOT_CONSTANT.format("OBJECT")),
    "global object's field": ("x: tl.constexpr = OBJECT.field", "E0103", NOT_CONSTANT.format("OBJECT")),
    "global of the package's tools": ("x: tl.constexpr = CONFIG", "E0103", NOT_CONSTANT.format("CONFIG")),
    "global enum's member": ("x: tl.constexpr = COLOR", "E0103", NOT_CONSTANT.format("COLOR")),
    "global namedtuple of numbers": ("x = PAIR.a", "E0103", NOT_CONSTANT.format("PAIR")),
    "global in a call": ("helper(NUMBER)", "E0103", NOT_CONSTANT.format("NUMBER")),
    "undefined name": ("tl.store(out, nowhere)", "E0104", NOT_DEFINED.format("nowhere")),
    "undefined statement": ("nowhere", "E0104", NOT_DEFINED.format("nowhere")),
    "undefined attribute": ("x = tl.arrange(0, 4)", "E0104", NOT_DEFINED.format("tl.arrange")),
    "attribute of a number": ("x = n.foo", "E0104", NOT_DEFINED.format("n.foo")),
    "value of a module": ("x: tl.constexpr = np.value", "E0104", NOT_DEFINED.format("np.value")),
    "name of a loop": ("for i in range(n):\n    x = i\ntl.store(out, x)", "E0104", NOT_DEFINED.format("x")),
    "name of one branch": ("if n > 3:\n    x = 1\ntl.store(out, x)", "E0104", NOT_DEFINED.format("x")),
    "name of the other branch": ("if n > 30:\n    x = 1\nelse:\n    y = 1\ntl.store(out, y)", "E0104",
                                 NOT_DEFINED.format("y")),
    # Callables
    "host function": ("x = host(n)", "E0123", NOT_CALLED.format("host")),
    "host function on a constant": ("x = host(4)", "E0123", NOT_CALLED.format("host")),
    "host function by a local name": ("f = host\nx = f(4)", "E0123", NOT_CALLED.format("f")),
    "host function as an argument": ("x = apply(host, n)", "E0123", NOT_CALLED.format("f")),
    "host class": ("x = Plain()", "E0123", NOT_CALLED.format("Plain")),
    "host partial": ("x = PARTIAL(n)", "E0123", NOT_CALLED.format("PARTIAL")),
    "host function of a module": ("x = np.log2(n)", "E0123", NOT_CALLED.format("np.log2")),
    "package function by name": ("x = assert_close(1, 1)", "E0123", NOT_CALLED.format("assert_close")),
    "type of Python": ("x = type(n)", "E0123", NOT_CALLED.format("type")),
    "sorted": ("x = sorted((2, 1))", "E0123", NOT_CALLED.format("sorted")),
    "eval": ("x = eval('1')", "E0123", NOT_CALLED.format("eval")),
    "call of a tile": ("x = n(1)", "E0123", NOT_CALLED.format("n")),
    "call of None": ("f = None\nx = f(n)", "E0123", NOT_CALLED.format("f")),
    "missing argument": ("x = helper()", "E0122", "call of 'helper': missing argument 'x'"),
    "argument given twice": ("x = helper(n, x=1)", "E0122", "call of 'helper': argument 'x' is given twice"),
    "unexpected argument": ("x = helper(n, y=1)", "E0122", "call of 'helper': unexpected argument 'y'"),
    "too many arguments": ("x = helper(n, 1, 2)", "E0122", "call of 'helper': 3 positional arguments given, 2 taken"),
    "argument of a range": ("for i in range(n, 4, 1, 2):\n    pass", "E0122",
                            "call of 'range': 4 positional arguments given, 3 taken"),
    "recursion": ("x = endless(n)", "E0111", "recursion: endless -> endless"),
    "mutual recursion": ("x = ping(n)", "E0111", "recursion: ping -> pong -> ping"),
    # What must be known
    "static call": ("x = double(n)", "E0112", NOT_KNOWN.format("n")),
    "static builtin": ("x = int(n)", "E0112", NOT_KNOWN.format("n")),
    "static method": ("x = 'a'.join((n,))", "E0112", NOT_KNOWN.format("(n,)")),
    "static range": ("for i in tl.static_range(n):\n    pass", "E0112", NOT_KNOWN.format("end of tl.static_range")),
    "index of a tuple": ("x = (1, 2)[n]", "E0112", NOT_KNOWN.format("n")),
    "comprehension over a tile": ("x = [i for i in tl.arange(0, 4)]", "E0112", NOT_KNOWN.format("tl.arange(0, 4)")),
    "condition of a comprehension": ("x = [i for i in (1, 2) if n > i]", "E0112", NOT_KNOWN.format("n > i")),
    "format": ("tl.static_assert(True, f'{n}')", "E0112", NOT_KNOWN.format("n")),
    "format of an assertion": ("assert n > 3, f'{n}'", "E0112", NOT_KNOWN.format("n")),
    "format as a statement": ("f'{n}'", "E0112", NOT_KNOWN.format("n")),
    "message of an assertion": ("assert n > 3, n", "E0112", NOT_KNOWN.format("n")),
    "static assertion": ("tl.static_assert(N == 5)", "E0113", "static assertion failed"),
    # Control flow
    "return in a loop": ("for i in range(n):\n    return", "E0115", "return inside a loop"),
    "return in a while loop": ("while n > 30:\n    return", "E0115", "return inside a loop"),
    "return under an if in a loop": ("for i in range(n):\n    if i > 100:\n        return", "E0115", "return inside a loop"),
    "returned value": ("return n", "E0116", "a kernel returns nothing; this one returns i32"),
    "returned tuple": ("return n, n", "E0116", "a kernel returns nothing; this one returns tuple"),
    "condition of text": ("if 'x':\n    pass", "E0120", "condition of 'if' has type str; bool, int or None is required"),
    "condition of float": ("while 1.5:\n    pass", "E0120",
                           "condition of 'while' has type float; bool, int or None is required"),
    "condition of a tile": ("if tl.arange(0, 4) > n:\n    pass", "E0121",
                            "condition of 'if' is a tile i1[4]; a scalar is required"),
    "choice by a tile": ("x = 1 if tl.arange(0, 4) > n else 2", "E0121",
                         "condition of 'if ... else' is a tile i1[4]; a scalar is required"),
    "unrolled for ever": ("for i in tl.static_range(20000):\n    pass", "E0114",
                          "loop would be unrolled 20000 times; the limit is 16384"),
    "bound of float": ("for i in range(n * 0.5):\n    pass", "E0120", "range() takes integer scalars, not fp32"),
    "step of zero": ("for i in range(0, n, 0):\n    pass", "E0117", "step of 'range' is zero"),
    "iteration over a number": ("x = [i for i in 4]", "E0117", "'int' object is not iterable"),
    "iteration over a kernel": ("x = [i for i in helper]", "E0117", "'JITFunction' object is not iterable"),
    "spread of a kernel": ("x = (1, *helper)", "E0117", "'JITFunction' object is not iterable"),
    # Types that meet
    "type of a branch": ("x = 0\nif n > 30:\n    x = 1.0", "E0105",
                         "Mismatched type for x: fp32 in one branch and i32 in the other"),
    "type of a branch of an elif": ("if n > 30:\n    x = 1\nelif n > 20:\n    x = 2.5\nelse:\n    x = 1\ntl.store(out, x)",
                                    "E0105", "Mismatched type for x: fp32 in one branch and i32 in the other"),
    "types of a choice": ("x = 1 if n > 3 else 2.0", "E0105",
                          "Ternary expression with dynamic condition has inconsistent types: i32 in one branch and "
                          "fp32 in the other"),
    "types of returns": ("x = two_types(n)", "E0105",
                         "Return type mismatch: two_types() gives fp32 in one branch and i32 in the other"),
    "type of a loop": ("x = 0\nfor i in range(n):\n    x = tl.zeros((4,), tl.float32)", "E0118",
                       "'x' is i32 before the loop and fp32[4] after an iteration"),
    "unpacked tile": ("a, b = tl.arange(0, 2)", "E0116", "cannot unpack i32[2] into 2 names"),
    "unpacked too many": ("a, b = 1, 2, 3", "E0116", "cannot unpack 3 values into 2 names"),
    # Python's own errors
    "division of constants": ("x = 1 / 0", "E0117", "division by zero"),
    "missing element": ("x = (1, 2)[5]", "E0117", "tuple index out of range"),
    "error of a static function": ("x = fails(1)", "E0117", "no"),
}  # fmt: skip

#: name: statements that store what they compute in out[0], out[1], ...
ACCEPTED = {
    "constant global": "tl.store(out, CONSTANT)", "annotated global": "tl.store(out, ANNOTATED)",
    "global annotated by a text": "tl.store(out, TEXT_ANNOTATED)", "global tuple of constants": "tl.store(out, CONSTANTS[1])",
    "constant tuple": "tl.store(out, CONSTANT_TUPLE[1])", "global type": "tl.store(out, n.to(DTYPE).to(tl.int32))",
    "global None": "tl.store(out, n if NOTHING is None else 0)", "number of a module": "tl.store(out, int(math.pi))",
    "class's constant": "tl.store(out, Plain.CONSTANT)", "kernel of a class": "tl.store(out, Plain.kernel(n))",
    "host function as a constant": "tl.store(out, CONSTANT_HOST(4))", "host function of a module": "tl.store(out, np.abs(-4))",
    "package function of a module": "tl.store(out, tilewright.cdiv(N, 3))", "tuned helper": "tl.store(out, TUNED(n))",
    "function as an argument": "tl.store(out, apply(helper, n))", "static function": "tl.store(out, double(N))",
    "recursion over constants": "tl.store(out, factorial(5))", "keyword only": "tl.store(out, keyword_only(n, SIZE=3))",
    "positional only": "tl.store(out, positional(n, 1) + positional(x=n, y=1))",
    "spread arguments": "tl.store(out, helper(*(n, 3)))",
    "*args": "tl.store(out, rest(n, 1, 2))", "defaults": "tl.store(out, helper(n))",
    "record": "r = Record(n, 4)\ntl.store(out, r.total + r.count)", "namedtuple": "p = Pair(n, 4)\ntl.store(out, p.a + p[1])",
    "walrus": "tl.store(out, (x := n + 1) + x)", "chained comparison": "tl.store(out, (1 < n < 9).to(tl.int32))",
    "starred elements": "t = (1, *(n, 3))\ntl.store(out, t[1] + t[2])", "list": "t = [n, 2]\ntl.store(out, t[0] + t[1])",
    "comprehension": "t = [i + n for i in (1, 2) if i > 1]\ntl.store(out, t[0])",
    "comprehension over range": "t = [i * n for i in range(4)]\ntl.store(out, t[3])",
    "range as a tuple": "tl.store(out, range(4)[3] + len(range(5)) + sum(range(3)))",
    "sum of run-time values": "tl.store(out, sum((n, 2), 1))", "min and max": "tl.store(out, min(n, 4) + max((n, 7)))",
    "options of max": "tl.store(out, max((1, 2), default=3))", "len of a tile": "tl.store(out, len(tl.arange(0, 4)))",
    "zip": "t = zip((1, 2), (n, 4))\ntl.store(out, t[0][1] + t[1][0])",
    "value of a constant": "tl.store(out, N.value + (1, 2).value[1])",
    "value of a function": "tl.store(out, helper.value(n))", "method of a number": "tl.store(out, N.to(tl.int64))",
    "augmented assignment": "x = n\nx += 2\nx //= -3\ntl.store(out, x)",
    "nested unpacking": "a, (b, c) = n, (2, 3)\ntl.store(out, a + b * c)",
    "annotation without a value": "x: int\nout[0]: int\nx = n\ntl.store(out, x)",
    "constant by another name": "x: C = 4\ntl.store(out + tl.arange(0, x), 1)",
    "constant declared before": "x: tl.constexpr\nx = 4\ntl.store(out + tl.arange(0, x), 1)",
    "type of a block pointer": "p = tl.make_block_ptr(out, (64,), (1,), (0,), (4,), (0,))\n"
        "x = tl.arange(0, 4)\nT = p.dtype.element_ty\n"
        "tl.store(p, x.to(T) + x.to(T.element_ty) + x.to(p.type.scalar.element_ty.scalar) + T.shape[0])",
    "docstrings": "'text'\nb'bytes'\n...\ntl.store(out, 1)",
    "for counts down": "x = 0\nfor i in range(n, 0, -2):\n    x = x * 10 + i\ntl.store(out, x)",
    "while": "x = n\nwhile x > 2:\n    x -= 1\ntl.store(out, x)",
    "counter afterwards": "for i in range(n):\n    pass\ntl.store(out, i)",
    "counter of no iteration": "i = 7\nfor i in range(n, 0):\n    pass\ntl.store(out, i)",
    "static range": "for i in tl.static_range(3):\n    tl.store(out + i, i)",
    "static range with a return": "for i in tl.static_range(3):\n    tl.store(out + i, i)\n    if n > 3:\n        return",
    "early return": "if n > 3:\n    tl.store(out, 1)\n    return\ntl.store(out, 2)",
    "and, or, not": "tl.store(out, ((n > 1 and n < 4) or not n > 9).to(tl.int32))",
    "and with a constant": "x = N == 5 and nowhere\ntl.store(out, n)",
    "chain with a constant": "x = 5 < N < nowhere\ntl.store(out, n)",
    "choice of constants": "tl.store(out, n if N == 4 else nowhere)",
    "tuple's methods": "tl.store(out, (1, 4).index(4) + Pair(n, 4)._replace(a=1).a)",
    "negative constant": "x: tl.constexpr = -7\ny = x\ntl.store(out, x // 2 * 10 + y // 2)",
    "constant changed in a branch": "x: tl.constexpr = -7\nif n > 50:\n    x = n\ntl.store(out, x // 2)",
    "constant changed in a loop": "x: tl.constexpr = -7\nfor i in range(n):\n    tl.store(out + i, x // 2)\n    x = x - 1",
    "constant changed in no iteration": "x: tl.constexpr = -7\nfor i in range(n, 0):\n    x = x - 1\ntl.store(out, x // 2)",
    "constant changed in a while loop": "x: tl.constexpr = -7\nwhile x // 2 > -5:\n    x = x - 1\ntl.store(out, x)",
    "constant kept by a dead branch":
        "x: tl.constexpr = 4\nfor i in range(n):\n    if N == 5:\n        x = n\n    tl.store(out + tl.arange(0, x), i)",
}  # fmt: skip


def indented(text):
    return textwrap.indent(text, "    ")


#: Where the compiler sees a mistake, and where a running kernel would not.
HIDDEN = {
    "branch not taken": "if n > 50:\n{}", "else not taken": "if n < 50:\n    tl.store(out, 1)\nelse:\n{}",
    "no iteration": "for i_ in range(n - 5):\n{}", "no iteration of while": "while n > 50:\n{}",
    "branch in a branch": "if n > 50:\n    if N == 4:\n        if n > 60:\n{}",
}  # fmt: skip
#: Where nobody sees it.
DEAD = {
    "dead branch": "if N == 5:\n{}",
    "dead else": "if N == 4:\n    pass\nelse:\n{}",
    "after a return": "if N == 4:\n    return\nif N == 4:\n{}",
    "no unrolled iteration": "for i_ in tl.static_range(0):\n{}", "dead branch of a branch": "if n > 50:\n    if N == 5:\n{}",
}  # fmt: skip

_numbers = itertools.count()


def kernel_of(statements, tmp_path):
    """A kernel of these statements in a file of its own, with the names of NAMES around it."""
    path = tmp_path / f"rules_{next(_numbers)}.py"
    text = NAMES + "\n@tilewright.jit\ndef kernel(out, n, N: tl.constexpr = 4):\n" + indented(statements) + "\n"
    path.write_text(text)
    module = types.ModuleType(path.stem)
    exec(compile(text, str(path), "exec"), vars(module))
    return module.kernel


def compiled(kernel):
    return _core.emit_ttir(kernel, {"out": "*i32", "n": "i32"}, {"N": 4})


def interpreted(kernel):
    kernel[(1,)](np.zeros(64, np.int32), 5)


def error_of(run, kernel):
    with pytest.raises(errors.TilewrightError) as info:
        run(kernel)
    return info.value


def places(error):
    return [(f.file, f.function, f.line, f.column, f.end_column) for f in error.frames]


def assert_refused_alike(statements, tmp_path, code, sentence):
    kernel = kernel_of(statements, tmp_path)
    of_compiler, of_interpreter = error_of(compiled, kernel), error_of(interpreted, kernel)
    assert (of_compiler.code, of_compiler.message) == (code, sentence)
    assert (of_interpreter.code, of_interpreter.message) == (code, sentence)
    assert of_interpreter.help == of_compiler.help and places(of_interpreter) == places(of_compiler)


@pytest.mark.parametrize("rule", REFUSED)
def test_refused(rule, tmp_path):
    assert_refused_alike(REFUSED[rule][0], tmp_path, *REFUSED[rule][1:])


@pytest.mark.parametrize("place", HIDDEN)
@pytest.mark.parametrize("rule", REFUSED)
def test_refused_where_it_does_not_run(rule, place, tmp_path):
    statements, code, sentence = REFUSED[rule]
    if "iteration" in place and code == "E0116" and "return" in statements:
        code, sentence = "E0115", "return inside a loop"
    deep = textwrap.indent(statements, "    " * (3 if place == "branch in a branch" else 1))
    assert_refused_alike(HIDDEN[place].format(deep), tmp_path, code, sentence)


@pytest.mark.parametrize("place", DEAD)
@pytest.mark.parametrize("rule", REFUSED)
def test_accepted_where_it_is_dead(rule, place, tmp_path):
    if rule in ("syntax Yield", "syntax YieldFrom"):
        place = "dead branch"  # Python itself makes something else of the function; the rewriter does not
    deep = textwrap.indent(REFUSED[rule][0], "    " * (2 if place == "dead branch of a branch" else 1))
    kernel = kernel_of(DEAD[place].format(deep), tmp_path)
    compiled(kernel)
    interpreted(kernel)


@pytest.mark.parametrize("rule", ACCEPTED)
def test_accepted(rule, tmp_path):
    kernel = kernel_of(ACCEPTED[rule], tmp_path)
    results = []
    for device in (Interpreter(), Emulator("sm_80")):
        out = device.empty((64,), np.int32)
        out[:] = 99
        device.run(kernel, (1,), out, 5)
        results.append(out.tolist())
    assert results[0] == results[1]
    assert results[0] != [99] * 64


def test_every_forbidden_construct_has_its_rule():
    assert {*SYNTAX, *NEWER_SYNTAX, *NOT_WRITTEN} == set(FORBIDDEN)


def test_kernel_runs_up_to_its_mistake(tmp_path, capsys):
    """So that prints and breakpoints before it help to find it; the first program alone."""
    kernel = kernel_of("x = n + 1\nprint('seen', x)\nif n > 3:\n    tl.store(out, tl.arange(0, 3))", tmp_path)
    with pytest.raises(errors.InvalidShape) as info:
        kernel[(3,)](np.zeros(64, np.int32), 5)
    assert capsys.readouterr().out == "seen 6\n"
    assert isinstance(info.value, errors.InterpreterError)
    frame = info.traceback[-1].frame
    assert frame.code.name == "kernel" and "x" in frame.f_locals


def test_looking_is_allowed_in_the_interpreter_alone(tmp_path, capsys):
    kernel = kernel_of("import pdb\nx = n + 1\nprint(f'{x}', repr(n), dir(n)[:0], end='!')\ntl.store(out, x)", tmp_path)
    out = np.zeros(64, np.int32)
    kernel[(1,)](out, 5)
    assert capsys.readouterr().out == "6 i32(5) []!" and out[0] == 6
    assert error_of(compiled, kernel).code == "E0102"
    assert error_of(compiled, kernel_of("breakpoint()", tmp_path)).message == NOT_CALLED.format("breakpoint")


def test_static_print_prints_once(tmp_path, capsys):
    interpreted(kernel_of("tl.static_print('once')", tmp_path))
    assert capsys.readouterr().out == "once\n"


def test_kernel_is_judged_for_each_set_of_types(tmp_path):
    kernel = kernel_of("x = 0\nif n > 50:\n    x = n\ntl.store(out, x)", tmp_path)
    out = np.zeros(64, np.int32)
    kernel[(1,)](out, 5)
    with pytest.raises(errors.TypeMismatch, match=r"\[E0105\] Mismatched type for x: fp32 .* and i32"):
        kernel[(1,)](out, 5.0)
    kernel[(1,)](out, 6)
