# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a jit function knows of itself: source, parameters, names, digest."""

import ast
import inspect
import linecache
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright
from tilewright import _core, errors
from tilewright.runtime.dependencies import _code_names, digest, encode_value


class constexpr:
    """The annotation alone."""


@tilewright.jit
def plain(x_ptr, n: "i64", SIZE: constexpr, scale=1.5):
    """The docstring."""
    value = x_ptr + n
    return value


def decorated(**options):
    return tilewright.jit(**options)


def make_nested():

    @decorated(do_not_specialize=["n"], noinline=True)
    def nested(x, n):
        long = (x +
    n)  # fmt: skip
        return long

    return nested


def position_of(text, name):
    """(line, column from 0) of `text` in this file below `def name`."""
    lines = inspect.getsource(sys.modules[__name__]).splitlines()
    start = next(i for i, line in enumerate(lines) if f"def {name}(" in line)
    row = next(i for i in range(start, len(lines)) if text in lines[i])
    return row + 1, lines[row].index(text)


def test_positions_are_those_of_the_file():
    tree = plain.parse()
    assert isinstance(tree, ast.FunctionDef) and plain.parse() is tree
    add = next(n for n in ast.walk(tree) if isinstance(n, ast.BinOp))
    assert (add.lineno, add.col_offset) == position_of("x_ptr + n", "plain")
    assert plain.source_line(add.lineno) == "    value = x_ptr + n"


def test_positions_in_an_indented_function():
    nested = make_nested()
    tree = nested.parse()
    assert (tree.lineno, tree.col_offset) == position_of("def nested", "nested") and tree.decorator_list == []
    ret = tree.body[-1]
    assert (ret.lineno, ret.col_offset) == position_of("return long", "nested")
    # A continuation line that is indented less than the function.
    n = next(node for node in ast.walk(tree.body[0]) if isinstance(node, ast.Name) and node.id == "n")
    assert (n.lineno, n.col_offset) == position_of("n)  # fmt", "nested")
    assert nested.src.startswith("def nested(x, n):\n    long")
    assert nested.starting_line_number < tree.lineno


@pytest.mark.parametrize(
    "name, value",
    [
        ("raw_src", ["def f():\n"]),
        ("starting_line_number", 7),
        ("def_file_line_number", 9),
        ("def_file_col_number", 2),
        ("file_name", "template.py"),
    ],
)
def test_what_generators_say_of_a_kernel(name, value):
    """A kernel made from a template tells of the template; its own text is compiled."""

    @tilewright.jit
    def made(x):
        pass

    line = made.parse().lineno
    before = getattr(made, name)
    setattr(made, name, value)
    assert getattr(made, name) == value != before
    assert made.parse().lineno == line and made.src.startswith("def made")


def test_attributes_that_others_read():
    assert plain.__name__ == "plain" and plain.__doc__ == "The docstring." and plain.__module__ == __name__
    assert plain.arg_names == ["x_ptr", "n", "SIZE", "scale"] and plain.constexprs == [2]
    n, size, scale = plain.params[1:]
    assert (n.num, n.annotation_type, n.is_constexpr) == (1, "i64", False)
    assert size.is_constexpr and not size.has_default
    assert scale.has_default and scale.default == 1.5
    assert list(plain.signature.parameters) == plain.arg_names
    assert not plain.noinline and make_nested().noinline and make_nested().params[1].do_not_specialize
    assert plain.file == __file__ and plain.fn.__code__.co_name == "plain"
    assert isinstance(plain, tilewright.KernelInterface) and not plain.is_gluon()
    with pytest.raises(AttributeError):
        plain.src = ""


@pytest.mark.parametrize(
    "annotation,type_name,is_const",
    [
        ("i32", "i32", False),
        ("tl.int64", "i64", False),
        ("*fp32", "*fp32", False),
        ("*kfp16", "*kfp16", True),
        ("const", "", True),
        ("tl.const", "", True),
        (int, "", False),
        (float, "", False),
        ("bool", "i1", False),
        ("uint1", "i1", False),
        ("u1", "i1", False),
        ("torch.Tensor", "", False),
        ("float8e5", "fp8e5", False),
        ("bf16", "bf16", False),
    ],
)
def test_annotations(annotation, type_name, is_const):

    def f(a):
        pass

    f.__annotations__ = {"a": annotation}
    param = tilewright.jit(f).params[0]
    assert (param.annotation_type, param.is_const, param.is_constexpr) == (type_name, is_const, False)


LIMIT = 7


def test_names_are_looked_up_as_python_does():
    captured = 3

    @tilewright.jit
    def f(a):
        return a + captured + LIMIT + len

    assert f.lookup_global("captured") == 3 and f.lookup_global("LIMIT") == 7 and f.lookup_global("len") is len
    with pytest.raises(KeyError):
        f.lookup_global("nothing")
    assert {name for name, _ in f.used_global_vals} == {"captured", "LIMIT"}
    captured = 4
    assert f.lookup_global("captured") == 4


def test_source_can_be_given_or_replaced():
    space = {}
    text = "def f(a):\n    return a\n"
    exec(text, space)
    f = tilewright.jit(space["f"], source=text)
    assert f.src == text and f.parse().body[0].lineno == 2
    before = f.cache_key
    f._unsafe_update_src("def f(a):\n    return a + 1\n")
    assert isinstance(f.parse().body[0].value, ast.BinOp) and f.cache_key != before


def test_source_of_a_notebook_cell():
    # IPython puts each cell into linecache under a made-up name.
    text = "@tilewright.jit\ndef cell(a):\n    return a\n"
    name = "<ipython-input-7>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"tilewright": tilewright}
    exec(compile(text, name, "exec"), space)
    assert space["cell"].parse().lineno == 2 and space["cell"].file == name


def test_text_that_is_registered_goes_before_a_file(tmp_path):
    """What somebody has put into linecache is the text, also where a file has that name."""
    path = tmp_path / "cell.py"
    path.write_text("something = 'else'\n" * 9)
    text = "@tilewright.jit\ndef cell(a):\n    return a\n"
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    space = {"tilewright": tilewright}
    exec(compile(text, str(path), "exec"), space)
    assert space["cell"].src == "def cell(a):\n    return a\n"


BODY = "def f(a):  # täxt\n    b = 'ä'\n\n    return a\n"
FILES = {
    "plain": BODY + "x = 1\n",
    "at the end": BODY,
    "without a last line break": BODY.rstrip(),
    "behind others": "import os\n\n\n" + BODY + "def g(): pass\n",
    "form feed": "\f\n" + BODY,
    "line separators in strings": BODY.replace("'ä'", "'\x0b\x1c\u2028'"),
}
# What Python changes when it reads a file: such files are left to it.
OTHERS = {
    "carriage returns": BODY.replace("\n", "\r\n").encode(),
    "old Mac": BODY.replace("\n", "\r").encode(),
    "mark": b"\xef\xbb\xbf" + BODY.encode(),
    "declared": b"# -*- coding: latin-1 -*-\n" + BODY.encode("latin-1"),
    "declared below": b"\n# vim: set fileencoding=latin-1 :\n" + BODY.encode("latin-1"),
}


@pytest.mark.parametrize("name", [*FILES, *OTHERS])
def test_text_is_that_of_linecache(tmp_path, name):
    path = tmp_path / "module.py"
    path.write_bytes(FILES[name].encode() if name in FILES else OTHERS[name])
    space = {}
    exec(compile(path.read_bytes(), str(path), "exec"), space)
    ours, theirs = tilewright.jit(space["f"])._source, tilewright.jit(space["f"])._source
    first = space["f"].__code__.co_firstlineno
    assert (_core.read_source_block(str(path), first) is not None) == (name in FILES)
    lines = theirs._lines_by_linecache(first)
    assert ours.text == "".join(lines) and ours.first_line == first
    assert ours.meaning == theirs._meaning and "return a" in ours.meaning


def test_no_text_is_an_error(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(BODY)
    space = {}
    exec(compile("\n" * 20 + BODY, str(path), "exec"), space)
    assert _core.read_source_block(str(path), 21) is None and _core.read_source_block(str(tmp_path), 1) is None
    with pytest.raises(errors.SourceUnavailable):
        tilewright.jit(space["f"]).src  # noqa: B018


@pytest.mark.parametrize("count", [3, 300, 70_000])
def test_names_of_many_globals_are_found(count):
    """From 128 and 32,768 names on they have arguments of two and three bytes."""
    space = {}
    exec("def f():\n" + "".join(f"    a{i}.b{i}\n" for i in range(count)), space)
    names, others = _code_names(space["f"].__code__)
    assert names == [f"a{i}" for i in range(count)] and set(others) == {f"{c}{i}" for c in "ab" for i in range(count)}


def test_lambda_is_refused():
    with pytest.raises(errors.SourceUnavailable):
        tilewright.jit(lambda a: a).parse()


# -- digest --------------------------------------------------------------------------


def module_from(tmp_path, name, text):
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    space = {"__name__": name, "tilewright": tilewright, "constexpr": constexpr}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space


BASE = """
    SIZE = 4
    @tilewright.jit
    def helper(a):
        return a * SIZE
    @tilewright.jit
    def kernel(x, n=1):
        return helper(x) + n
"""


def test_digest_is_content(tmp_path):
    first = module_from(tmp_path, "one", BASE)["kernel"]
    moved = module_from(tmp_path, "two", "\n\n    # moved, in another file\n" + BASE)["kernel"]
    assert digest(first) == digest(moved)
    # Programs keep what has places in it under this key, so that the line counts there.
    key = first.cache_key
    assert moved.cache_key != key == module_from(tmp_path, "again", BASE)["kernel"].cache_key
    for old, new in [
        ("a * SIZE", "a - SIZE"),
        ("SIZE = 4", "SIZE = 5"),
        ("SIZE = 4", "SIZE = 4.0"),
        ("n=1", "n=True"),
        ("+ n", "- n"),
    ]:
        assert module_from(tmp_path, "three", BASE.replace(old, new))["kernel"].cache_key != key, (old, new)


def test_digest_is_the_same_in_another_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import tilewright\nclass constexpr: pass\n" + textwrap.dedent(BASE) + "print(kernel.cache_key)\n")
    keys = {subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(keys) == 1 and len(keys.pop().strip()) == 64


def test_recursive_functions_have_a_digest(tmp_path):
    text = """
        @tilewright.jit
        def a(x):
            return b(x)
        @tilewright.jit
        def b(x):
            return a(x)
    """
    assert module_from(tmp_path, "loop", text)["a"].cache_key


def test_values_are_encoded_with_their_type():
    values = [
        1,
        True,
        1.0,
        "1",
        b"1",
        None,
        (1,),
        [1],
        (True,),
        (1, 1),
        "None",
        -0.0,
        0.0,
        float("nan"),
        np.float32(1),
        {"a": 1},
        {"a": True},
    ]
    assert len({encode_value(v) for v in values}) == len(values)
    assert encode_value(plain) == f"jit:{digest(plain)}"


# -- the package ---------------------------------------------------------------------


def test_import_is_light():
    text = """
        import sys, time, numpy
        start = time.perf_counter()
        import tilewright
        print(time.perf_counter() - start)
        print([m for m in ("torch", "cupy", "matplotlib", "pandas", "tilewright.language") if m in sys.modules])
        print("libcuda" in open("/proc/self/maps").read(), "nvJitLink" in open("/proc/self/maps").read())
    """
    seconds = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=True)
        time, modules, libraries = done.stdout.splitlines()
        assert modules == "[]" and libraries == "False False"
        seconds.append(float(time))
    print(f"import: {min(seconds) * 1e3:.1f} ms")
    assert min(seconds) < 0.5  # 0.05 on a quiet machine


@pytest.mark.parametrize(
    "path",
    [
        "runtime.driver",
        "runtime.jit",
        "runtime.autotuner",
        "runtime.cache",
        "runtime.errors",
        "compiler.compiler",
        "compiler.errors",
        "backends.compiler",
        "backends.driver",
        "backends.nvidia.compiler",
        "backends.nvidia.driver",
        "testing",
        "tools.disasm",
        "tools.tensor_descriptor",
        "knobs",
    ],
)
def test_modules_that_libraries_import(path):
    __import__(f"tilewright.{path}")


def test_names_that_libraries_import():
    from tilewright.backends.compiler import BaseBackend, GPUTarget
    from tilewright.compiler import ASTSource, CompiledKernel
    from tilewright.compiler.compiler import triton_key
    from tilewright.runtime.autotuner import OutOfResources, PTXASError
    from tilewright.runtime.cache import get_cache_manager
    from tilewright.runtime.jit import JITFunction, KernelInterface, TensorWrapper

    assert all(
        (
            BaseBackend,
            GPUTarget,
            ASTSource,
            CompiledKernel,
            OutOfResources,
            PTXASError,
            get_cache_manager,
            JITFunction,
            KernelInterface,
            TensorWrapper,
        )
    )
    assert triton_key().startswith("tilewright-")
    assert tilewright.cdiv(7, 2) == 4 and tilewright.next_power_of_2(5) == 8 and tilewright.next_power_of_2(8) == 8
    for name in tilewright.__all__:
        if name != "language":
            assert getattr(tilewright, name) is not None


def test_must_use_result():

    @tilewright.must_use_result
    def one():
        pass

    @tilewright.must_use_result("use it")
    def two():
        pass

    assert one._must_use_result is True and two._must_use_result == "use it"


def test_versions_agree():
    assert tilewright.__version__ and len(_core.build_id()) in (16, 32, 40)


# -- knobs -----------------------------------------------------------------------------


def test_knobs_read_and_write_the_environment(monkeypatch):
    from tilewright import knobs

    monkeypatch.delenv("TILEWRIGHT_DEBUG", raising=False)
    monkeypatch.delenv("TRITON_DEBUG", raising=False)
    assert knobs.runtime.debug is False
    monkeypatch.setenv("TRITON_DEBUG", "1")
    assert knobs.runtime.debug is True
    with knobs.runtime.scope():
        knobs.runtime.debug = False
        import os

        assert os.environ["TILEWRIGHT_DEBUG"] == "0" and knobs.runtime.debug is False
    assert knobs.runtime.debug is True
    with pytest.raises(AttributeError, match="knobs.runtime has no 'debugg'"):
        knobs.runtime.debugg = True
    with pytest.raises(errors.ConfigError):
        knobs.language.max_tensor_numel = "many"
    assert knobs.cache.copy().dir == knobs.cache.dir


double = lambda x: x * 2  # noqa: E731


@tilewright.jit
def after_a_lambda(x):
    pass


def test_a_lambda_ends_with_its_line():
    """What stands below it must not be taken for it."""
    with pytest.raises(errors.CompilationError, match="E0101"):
        tilewright.jit(double).parse()
