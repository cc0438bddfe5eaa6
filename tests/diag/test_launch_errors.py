# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of launches: those that need a driver on the mock, the others here."""

import os
import pathlib
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright
from harness.mock_driver import build, run_in_mock_process
from tilewright import _core, errors

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("cases", ["cases_launch_errors.py", "cases_device_assert.py"])
def test_errors_with_a_driver(cases, tmp_path):
    code, output = run_in_mock_process(HERE / cases, tmp_path)
    assert code == 0, output
    assert " passed" in output, output


def run_python(text, **environment):
    """Runs a script that holds a kernel; its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NO_KERNEL = """
    import sys, tilewright
    from tilewright import errors
    source = "def f(a, b: 'tl.constexpr'):\\n    pass\\n"
    space = {}
    exec(source, space)
    f = tilewright.jit(space["f"], source=source)
"""


def test_no_driver(tmp_path):
    output = run_python(
        NO_KERNEL
        + """
    try:
        f[(1,)](2, 3)
    except errors.NoDevice as error:
        print(error)
    """,
        TILEWRIGHT_LIBCUDA_PATH=str(tmp_path / "nothing.so"),
    )
    assert output.splitlines()[0] == "[E0404] no CUDA driver found"
    assert output.splitlines()[-1] == "  help: set TILEWRIGHT_INTERPRET=1 to run on the CPU"


def test_driver_without_needed_functions(tmp_path):
    source = tmp_path / "old.c"
    source.write_text("int cuInit(unsigned f) { return 0; }\nint cuDriverGetVersion(int *v) { *v = 11040; return 0; }\n")
    library = tmp_path / "libold.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    output = run_python(
        NO_KERNEL
        + """
    try:
        f[(1,)](2, 3)
    except errors.DriverTooOld as error:
        print(error)
    """,
        TILEWRIGHT_LIBCUDA_PATH=str(library),
    )
    assert output.splitlines()[0] == f"[E0405] driver {library} supports CUDA 11.4; 11.8 is required"


def test_forked_child(tmp_path):
    output = run_python(
        NO_KERNEL
        + """
    import os
    from tilewright import _core
    assert _core.driver_available()
    if os.fork() == 0:
        try:
            f[(1,)](2, 3)
        except errors.ForkedProcess as error:
            print(os.getppid(), error, flush=True)
        os._exit(0)
    os.wait()
    """,
        TILEWRIGHT_LIBCUDA_PATH=build(tmp_path),
    )
    pid, text = output.split(" ", 1)
    assert text.splitlines()[0] == (f"[E0213] CUDA was initialised in the parent (pid {pid}); it cannot be used after fork")
    assert text.splitlines()[-1] == "  help: use the spawn start method"


def test_child_of_a_process_whose_framework_used_cuda(tmp_path):
    """The driver was not ours, so only cuInit tells: it returns CUDA_ERROR_NOT_INITIALIZED."""
    output = run_python(
        NO_KERNEL
        + """
    import os
    try:
        f[(1,)](2, 3)
    except errors.ForkedProcess as error:
        print(os.getppid(), error, flush=True)
    """,
        TILEWRIGHT_LIBCUDA_PATH=build(tmp_path),
        MOCK_INIT_RESULT="3",
    )
    pid, text = output.split(" ", 1)
    assert text.startswith(f"[E0213] CUDA was initialised in the parent (pid {pid})")


def test_launches_of_a_forked_child_after_warm_ones(tmp_path):
    """Also a bound launch, and one that would look at tensor maps, whose lock may be held for good."""
    output = run_python(
        """
    import os, sys
    sys.path.insert(0, os.environ["TESTS"])
    import tilewright
    from harness.mock_driver import FakeCompiler, FakeTensor
    from tilewright import _core, errors
    from tilewright.tools.tensor_descriptor import TensorDescriptor
    _core.compile_kernel = FakeCompiler()
    space = {}
    exec("def f(a, b):\\n    pass\\n", space)
    f = tilewright.jit(space["f"], source="def f(a, b):\\n    pass\\n")
    tensor = FakeTensor()
    tensor.shape = (64, 64)
    described = TensorDescriptor(tensor, [64, 64], [64, 1], [16, 16])
    f[(1,)](tensor, described)
    bound = f[(1,)].bind(tensor, described)
    bound()
    if os.fork() == 0:
        for launch in (bound, lambda: f[(1,)](tensor, described), lambda: f[(1,)](tensor, 5)):
            try:
                launch()
            except errors.ForkedProcess as error:
                print(error.code, flush=True)
        os._exit(0)
    os.wait()
    """,
        TILEWRIGHT_LIBCUDA_PATH=build(tmp_path),
        TESTS=str(HERE.parent),
        TILEWRIGHT_CACHE="0",
    )
    assert output.split() == ["E0213"] * 3


def test_fork_before_cuda_is_fine(tmp_path):
    output = run_python(
        NO_KERNEL
        + """
    import os
    from tilewright import _core
    if os.fork() == 0:
        print(_core.driver_available(), flush=True)
        os._exit(0)
    os.wait()
    """,
        TILEWRIGHT_LIBCUDA_PATH=build(tmp_path),
    )
    assert output == "True\n"


def test_source_not_available():
    space = {"tilewright": tilewright}
    exec("@tilewright.jit\ndef f(a):\n    pass\n", space)
    with pytest.raises(errors.SourceUnavailable) as info:
        space["f"].parse()
    assert str(info.value) == (
        "[E0101] cannot read the source of 'f'\n  help: put the kernel in a file, use a notebook or IPython, or pass source="
    )
    assert isinstance(info.value, tilewright.CompilationError)


def test_parameter_of_all_other_keywords():
    """Kernels of Triton 1 read their constants from one."""

    @tilewright.jit
    def f(a, **meta):
        pass

    assert f.arg_names == ["a"]
    source = tilewright.ASTSource(f, {"a": "*fp32"})
    for use in (lambda: tilewright.compile(source, "sm_80"), lambda: f.interpret(np.zeros(4, np.float32), grid=(1,))):
        with pytest.raises(errors.UnsupportedSyntax, match=r"\[E0102\] '\*\*kwargs' is not supported") as info:
            use()
        assert "parameters annotated tl.constexpr" in info.value.help


def test_not_a_function():
    with pytest.raises(errors.UnsupportedSyntax, match=r"\[E0123\] 'int' is not a kernel function"):
        tilewright.jit(5)


@pytest.mark.parametrize(
    "variable,value,kind", [("TILEWRIGHT_DEBUG", "maybe", "a boolean"), ("TILEWRIGHT_MAX_TENSOR_NUMEL", "many", "an integer")]
)
def test_knob_value(monkeypatch, variable, value, kind):
    from tilewright import knobs

    monkeypatch.setenv(variable, value)
    with pytest.raises(errors.ConfigError) as info:
        _ = knobs.runtime.debug, knobs.language.max_tensor_numel
    assert str(info.value).startswith(f"[E0701] {variable}='{value}': expected {kind}")


def test_unknown_knob():
    output = run_python(
        """
        import warnings
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            import tilewright
            tilewright.knobs.runtime
        print(seen[0].category.__name__, seen[0].message)
    """,
        TILEWRIGHT_INTERPRT="1",
    )
    assert output == ("ConfigWarning [W0702] TILEWRIGHT_INTERPRT is not known\n  help: did you mean TILEWRIGHT_INTERPRET?\n")


def test_versions_that_do_not_match():
    output = run_python("""
        import sys, types
        sys.modules["tilewright._version"] = types.SimpleNamespace(__version__="9.9.9")
        try:
            import tilewright
        except ImportError as error:
            print(type(error).__name__, error)
    """)
    assert output == (
        f"InstallError [E0703] Python package 9.9.9 and native library {_core.version()} do not match\n  help: reinstall\n"
    )


PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a) { %s ret; }
"""


@pytest.fixture
def assembler():
    _core.find_wheel_folders(sys.path)
    version, _ = _core.assembler_info()
    if not version:
        pytest.skip("no nvJitLink library")
    return version.split()[-1]


def test_assembler_error(assembler, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_REPRODUCER_DIR", str(tmp_path))
    with pytest.raises(errors.AssemblerError) as info:
        _core.assemble_ptx(PTX % "bogus.u32 x;", "sm_90a", name="my kernel")
    first, last = str(info.value).splitlines()[0], str(info.value).splitlines()[-1]
    assert first.startswith(f"[E0304] ptxas {assembler} failed: ptxas ") and "'bogus'" in first
    path = pathlib.Path(last.removeprefix("  help: reproducer written to "))
    assert path.parent == tmp_path and "bogus.u32 x;" in path.read_text()
    assert path.read_text().startswith("// ptxas -arch=sm_90a ")
    # And the next one works.
    assert _core.assemble_ptx(PTX % "", "sm_90a")["cubin"][:4] == b"\x7fELF"


def test_target_that_the_assembler_does_not_know(assembler):
    with pytest.raises(errors.UnsupportedTarget, match=rf"\[E0306\] sm_777 is not supported by ptxas {assembler}"):
        _core.assemble_ptx(PTX % "", "sm_777")


def test_compile_timeout(tmp_path, monkeypatch):
    module = "module { func.func public @slow(%p: !tw.ptr<f32>) { func.return } }"
    options = {"num_warps": 4}
    _core.compile_ir(module, "ttir", options, "sm_90a")
    monkeypatch.setenv("TILEWRIGHT_COMPILE_TIMEOUT", "1e-9")
    monkeypatch.setenv("TILEWRIGHT_REPRODUCER_DIR", str(tmp_path))
    with pytest.raises(errors.CompileTimeout, match=r"\[E0305\] compiling exceeded 1e-09 s in stage frontend") as info:
        _core.compile_ir(module, "ttir", options, "sm_90a")
    path = pathlib.Path(str(info.value).splitlines()[-1].removeprefix("  help: reproducer written to "))
    assert path.parent == tmp_path and "@slow" in path.read_text()
    monkeypatch.setenv("TILEWRIGHT_COMPILE_TIMEOUT", "60")
    _core.compile_ir(module, "ttir", options, "sm_90a")


def test_every_code_has_a_class():
    for code, (class_name, _, _) in _core.error_catalogue().items():
        found = getattr(errors, class_name, None)
        assert isinstance(found, type), class_name
        assert issubclass(found, Warning if code[0] == "W" else errors.TilewrightError)


def test_errors_survive_pickling():
    original = errors.make("E0301", n=100, arch="sm_90", m=50, s=2, k=40, b=64)
    copy = pickle.loads(pickle.dumps(original))
    assert type(copy) is type(original) and str(copy) == str(original)
    assert (copy.code, copy.required, copy.limit) == ("E0301", 100, 50)
    plain = pickle.loads(pickle.dumps(errors.OutOfResources(10, 5, "shared memory")))
    assert (plain.required, plain.limit, plain.name) == (10, 5, "shared memory")


def test_every_error_can_be_made():
    class AnyText(dict):
        def __missing__(self, key):
            return "?"

    for code, (class_name, message, help) in _core.error_catalogue().items():
        if code[0] == "E":
            error = errors.from_native(code, class_name, message.format_map(AnyText()), help.format_map(AnyText()))
            assert error.code == code and str(error).startswith(f"[{code}] ")
