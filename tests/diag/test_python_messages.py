# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the Python package says of wrong calls, attributes and command lines, each whole.

Errors inside kernels are in test_semantic_errors.py and its neighbours, those of launches in
test_launch_errors.py.
"""

import sys
import types
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright
import tilewright.compile_command
import tilewright.exporting.build
import tilewright.language as tl
import tilewright.profiler as profiler
import tilewright.testing
import tilewright.tools.compile
import tilewright.tuning
from tilewright import _utils, errors, exporting, toolkit
from tilewright.backends.nvidia.compiler import ptx_get_version
from tilewright.checking.replay import _position
from tilewright.compiler.kernel import AsmDict
from tilewright.language.extra import cuda
from tilewright.runtime._allocation import NullAllocator
from tilewright.runtime._async_compile import AsyncCompileMode
from tilewright.runtime.allocation import allocate
from tilewright.runtime.build import _find_compiler, _load_module_from_path, compile_so_from_src
from tilewright.runtime.cache import get_cache_manager
from tilewright.runtime.interpreter import run_interpreted
from tilewright.runtime.jit import reinterpret
from tilewright.tools.compile import CompileArgs, _c_type, compile_kernel
from tilewright.tools.disasm import get_sass
from tilewright.tools.linear_layout import LinearLayout
from tilewright.tools.link import LinkerError, read_headers
from tilewright.tools.ragged_tma import create_ragged_descriptor
from tilewright.triton_alias import install


@tilewright.jit
def copy_kernel(x, y, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), tl.load(x + tl.arange(0, B)))


@tl.core._aggregate
class Pair:
    first: tl.constexpr
    second: tl.constexpr


@tl.core._aggregate
class Typed:
    value: tl.tensor


def set_attribute(thing, name, value):
    setattr(thing, name, value)


def unequal_run(**arguments):
    raise AssertionError("no values to run with")


unequal_report = tilewright.testing.perf_report(
    tilewright.testing.Benchmark(
        x_names=["n", "m"], x_vals=[(1, 2, 3)], line_arg="p", line_vals=[1], line_names=["one"], plot_name="none", args={}
    )
)(unequal_run)


def to_c(signature, grid):
    return compile_kernel(CompileArgs(__file__, "copy_kernel", signature, grid, "cuda:80:32"))


def scratch_memory_without_framework():
    with unittest.mock.patch.dict(sys.modules, {"torch": None, "cupy": None}):
        allocate(64, 16, 0, 0)


ROW = LinearLayout.from_bases([("lane", [[1], [2]])], ["x"], [4])

HALF = LinearLayout.from_bases([("lane", [[1]])], ["x"], [4], require_surjective=False)

WIDE = LinearLayout.from_bases([("lane", [[1], [2], [4]])], ["x"], [8])

MATRIX = np.zeros((4, 8), np.float32)

# name -> what is done, the class of the error, all that it says.
CASES = {
    "layout of three": (
        lambda: LinearLayout([("lane", [[1]])], [("x", 3)]),
        ValueError,
        "dimension 'x' is 3, which is no power of two",
    ),
    "layout with holes": (
        lambda: LinearLayout([("lane", [[1]])], [("x", 4)]),
        ValueError,
        "the layout does not reach all of its result",
    ),
    "sizes left out": (
        lambda: LinearLayout.from_bases([("lane", [[1]])], ["x"], require_surjective=False),
        ValueError,
        "out_dim_sizes must be provided when require_surjective is false",
    ),
    "sizes of other dimensions": (
        lambda: LinearLayout.from_bases([("lane", [[1]])], ["x"], [2, 2]),
        ValueError,
        "out_dim_names and out_dim_sizes must have the same length",
    ),
    "basis outside": (
        lambda: LinearLayout.from_bases([("lane", [[4]])], ["x"], [4]),
        ValueError,
        "basis [4] is outside dimension 'x' of size 4",
    ),
    "composed with another": (
        lambda: ROW.compose(ROW),
        ValueError,
        "a layout over [('x', 4)] does not go into one from [('lane', 2)]",
    ),
    "inverse of a half": (HALF.invert, ValueError, "the layout has no inverse"),
    "composed with other results": (
        lambda: ROW.invert_and_compose(LinearLayout.from_bases([("lane", [[1], [2]])], ["y"], [4])),
        ValueError,
        "the layouts have different results",
    ),
    "composed with less": (
        lambda: ROW.invert_and_compose(HALF),
        ValueError,
        "the other layout does not reach all that this one does",
    ),
    "ragged vector": (
        lambda: create_ragged_descriptor(MATRIX[0], [8]),
        AssertionError,
        "ragged descriptors are of 2 or 3 dimensions, with a block of as many; got 1 and a block of 1",
    ),
    "ragged last dimension": (
        lambda: create_ragged_descriptor(MATRIX, [4, 8], ragged_dim=1),
        AssertionError,
        "dimension 1 of 2 cannot be ragged: the last one is contiguous",
    ),
    "block of a float": (
        lambda: _utils.validate_block_shape((1.0,)),
        TypeError,
        "Shape element 0 must have type `constexpr[int]`, got `constexpr[<class 'float'>]`",
    ),
    "block of three": (lambda: _utils.validate_block_shape((2, 3)), ValueError, "Shape element 1 must be a power of 2, got 3"),
    "range of the language": (
        lambda: list(tl.range(3)),
        errors.InvalidArgument,
        "[E0117] tl.range was used outside a kernel\n  help: call it inside a function decorated with @tilewright.jit",
    ),
    "fields too many": (lambda: Pair(1, 2, 3), TypeError, "Pair() takes 2 fields but 3 were given"),
    "field given twice": (lambda: Pair(1, first=2), TypeError, "Pair() got multiple values for argument 'first'"),
    "field left out": (lambda: Pair(1), TypeError, "Pair() missing required argument: 'second'"),
    "field that is none": (lambda: Pair(1, 2, third=3), TypeError, "Pair() got an unexpected keyword argument 'third'"),
    "field set later": (
        lambda: set_attribute(Pair(1, 2), "first", 3),
        AttributeError,
        "cannot assign to field 'first' on immutable aggregate Pair; tl.aggregate_replace makes a changed copy",
    ),
    "field of another type": (
        lambda: Typed(1),
        TypeError,
        "expected <class 'tilewright.language.core.tensor'> for attribute "
        "'value', got <class 'tilewright.language._values.constexpr'>",
    ),
    "replaced in a number": (
        lambda: tl.aggregate_replace(3, first=1),
        TypeError,
        "aggregate_replace() expects an aggregate instance, got <class 'int'>",
    ),
    "call from the host": (
        lambda: copy_kernel(1, 2, 3),
        RuntimeError,
        "a kernel cannot be called directly from the host; give it a grid: copy_kernel[grid](...)",
    ),
    "text set": (
        lambda: set_attribute(copy_kernel, "src", "def f(): pass"),
        AttributeError,
        "'src' is read-only; a changed text goes through _unsafe_update_src(text)",
    ),
    "hook that is none": (lambda: copy_kernel.add_pre_run_hook(3), TypeError, "a pre-run hook must be callable"),
    "bytes of no tensor": (lambda: reinterpret(3, tl.int8), TypeError, "cannot reinterpret a int"),
    "statistic": (
        lambda: tilewright.testing.do_bench(lambda: None, return_mode="mode"),
        ValueError,
        "return_mode='mode': expected one of min, max, mean, median, all",
    ),
    "language of a build": (
        lambda: compile_so_from_src("", "a", language="d"),
        ValueError,
        "language='d': expected 'c' or 'c++'",
    ),
    "cached file elsewhere": (
        lambda: get_cache_manager("key").put("text", "../name"),
        ValueError,
        "'../name' is no plain file name",
    ),
    "profile of a kind": (lambda: profiler.start(data="list"), ValueError, "data='list': expected one of 'tree', 'trace'"),
    "hook of a profile": (
        lambda: profiler.start(hook="python"),
        ValueError,
        "hook='python': expected 'triton', a Hook, or None",
    ),
    "session that is none": (lambda: profiler.finalize(77), ValueError, "there is no profiling session 77"),
    "scope left twice": (lambda: profiler.exit_scope("a"), ValueError, "scope 'a' is not the one that was entered last"),
    "metric of a scope": (
        lambda: profiler.cpu_timed_scope("a", {"cpu_time": 1}),
        ValueError,
        "the metric 'cpu_time' is the scope's own",
    ),
    "name of the language": (
        lambda: tl.no_such_name,
        AttributeError,
        "module 'tilewright.language' has no attribute 'no_such_name'",
    ),
    "name of the package": (
        lambda: tilewright.no_such_name,
        AttributeError,
        "module 'tilewright' has no attribute 'no_such_name'",
    ),
    "name of the mathematics": (
        lambda: tl.math.no_such_name,
        AttributeError,
        "module 'tilewright.language.math' has no attribute 'no_such_name'",
    ),
    "scratch memory from nobody": (
        lambda: NullAllocator()(64, 16, 0),
        RuntimeError,
        "the kernel needs 64 bytes of memory and no allocator was set; call "
        "triton.set_allocator(function) with function(size, alignment, stream)",
    ),
    "CUDA of long ago": (lambda: ptx_get_version("10.2"), RuntimeError, "CUDA 10.2 is older than 11"),
    "no GPUs": (lambda: tilewright.tuning.GpuPool([]), ValueError, "there is no GPU; name the devices"),
    "machine code without an assembler": (
        lambda: AsmDict({"ptx": ""})["sass"],
        KeyError,
        "'sass (no assembler library was found, so there is no cubin)'",
    ),
    "scratch memory from no framework": (
        scratch_memory_without_framework,
        errors.InvalidArgument,
        "[E0117] the kernel needs 64 bytes of global scratch memory and no allocator is set\n"
        "  help: call tilewright.set_allocator(fn) with fn(size, alignment, stream)",
    ),
    "module of a text": (lambda: _load_module_from_path("a", "a.txt"), RuntimeError, "a.txt is no module that can be loaded"),
    "rows beyond number": (
        lambda: create_ragged_descriptor(SimpleNamespace(shape=(2**31, 8)), [4, 8]),
        AssertionError,
        "2147483648 rows are more than 2^30",
    ),
    "values of a benchmark": (lambda: unequal_report.run(), ValueError, "expected 2 values, got 3"),
    "constant that is not specialised": (
        lambda: tilewright.compile(
            tilewright.ASTSource(
                tilewright.jit(copy_kernel.fn, do_not_specialize=["B"]), {"x": "*fp32", "y": "*fp32"}, {"B": 8}
            ),
            "sm_80",
        ),
        errors.InvalidArgument,
        "[E0117] B marked as constexpr and listed in do_not_specialize: every value of a constexpr is a "
        "specialisation\n  help: drop one of the two",
    ),
    "program of four numbers": (
        lambda: _position("1,2,3,4"),
        SystemExit,
        "tilewright replay: '1,2,3,4' is no program of a grid: 3 or 3,0,0",
    ),
    "linked text": (
        lambda: read_headers(["// tt-linker: f:float x:a"]),
        LinkerError,
        "'f' is no name that tools.compile gives",
    ),
    "linked beyond": (
        lambda: read_headers(["// tt-linker: f_01234567_1d:float x:a"]),
        LinkerError,
        "'f_01234567_1d' specialises parameter 1 and has 1: constants come last",
    ),
    "linked parameters": (
        lambda: read_headers(["// tt-linker: f_01234567_:float x:a", "// tt-linker: f_11234567_:int x:a"]),
        LinkerError,
        "f_11234567_ and f_01234567_ have different parameters",
    ),
    "linked nothing": (lambda: read_headers([""]), LinkerError, "headers of one kernel are linked, and these have none"),
    "grid of C": (
        lambda: to_c("*fp32, *fp32, 8", "1, 1"),
        errors.InvalidArgument,
        "[E0117] the grid '1, 1' has 2 parts\n  help: give three C expressions: \"(n + 127) / 128, 1, 1\"",
    ),
    "parameter of C": (
        lambda: _c_type("x", "fp8e5"),
        errors.InvalidArgument,
        "[E0117] the parameter 'x' of type fp8e5 has no C type\n  help: give numbers as fp32, fp64 or integers, and "
        "tensors as pointers or descriptors",
    ),
    "descriptor of C": (
        lambda: _c_type("x", "tensordesc<fp32[128]>"),
        errors.InvalidArgument,
        "[E0117] the descriptor 'x' has no type in C as Triton writes it\n  help: use tilewright export, or pass a pointer",
    ),
    "choices of nothing": (
        lambda: tilewright.autotune(configs=tilewright.tuning.Space({"B": []}), key=[])(copy_kernel),
        ValueError,
        "'B' has no choices",
    ),
    "memory of a tuner": (
        lambda: tilewright.autotune([tilewright.Config({"B": 8})], [], tune_memory="disk")(copy_kernel),
        ValueError,
        "tune_memory='disk': expected 'device' or 'host'",
    ),
}


@pytest.mark.parametrize("action,kind,text", CASES.values(), ids=CASES)
def test_message(action, kind, text):
    with pytest.raises(kind) as info:
        action()
    assert str(info.value) == text


def two_modes():
    with AsyncCompileMode(ThreadPoolExecutor(1)), AsyncCompileMode(ThreadPoolExecutor(1)):
        pass


def without_compiler():
    with tilewright.knobs.build.scope():
        tilewright.knobs.build.cc = None
        _find_compiler("c")


def prune_by_half_a_configuration():
    tuner = tilewright.autotune(
        [tilewright.Config({"B": 8}), tilewright.Config({"B": 16})],
        [],
        prune_configs_by={"perf_model": lambda **_: 1.0, "top_k": 2.5},
    )(copy_kernel)
    tuner.prune_configs({"B": 8})


# What needs an environment without programs: name -> action, class, text.
WITHOUT_PROGRAMS = {
    "nvidia-smi": (lambda: tilewright.testing.nvsmi(["clocks.sm"]), FileNotFoundError, "nvidia-smi was not found"),
    "disassembler": (
        lambda: get_sass(b""),
        FileNotFoundError,
        "neither nvdisasm nor cuobjdump was found; install the CUDA toolkit's binary utilities or set TILEWRIGHT_NVDISASM_PATH",
    ),
    "compiler": (without_compiler, RuntimeError, "no C compiler was found; install one or name it by CC"),
    "tool": (
        lambda: tilewright.knobs.nvidia.cuobjdump,
        RuntimeError,
        "cuobjdump was not found; install the CUDA toolkit's programs or set TRITON_CUOBJDUMP_PATH",
    ),
}


@pytest.mark.parametrize("action,kind,text", WITHOUT_PROGRAMS.values(), ids=WITHOUT_PROGRAMS)
def test_message_without_programs(action, kind, text, monkeypatch):
    for variable in ("CC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolkit, "find_tool", lambda name: None)
    with pytest.raises(kind) as info:
        action()
    assert str(info.value) == text


def test_second_mode_of_compiling_beside():
    with pytest.raises(RuntimeError) as info:
        two_modes()
    assert str(info.value) == "another AsyncCompileMode is active"


def test_share_of_configurations():
    with pytest.raises(TypeError) as info:
        prune_by_half_a_configuration()
    assert str(info.value) == "top_k of prune_configs_by must be an int, or a float of at most 1"


def test_peak_that_is_not_known(monkeypatch):
    monkeypatch.setattr(tilewright.testing, "_properties", lambda device: {"capability": 35, "sm_clock_rate": 1})
    with pytest.raises(ValueError) as info:
        tilewright.testing.get_max_tensorcore_tflops(tl.float16)
    assert str(info.value) == "the peak of sm_35 is not known"


def test_import_beside_the_real_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", types.ModuleType("triton"))
    with pytest.raises(ImportError) as info:
        install()
    assert str(info.value) == "another 'triton' is imported already; start the program with 'tilewright run'"


def test_format_of_a_profile(tmp_path):
    session = profiler.start(str(tmp_path / "profile"))
    with pytest.raises(ValueError) as info:
        profiler.finalize(session, "csv")
    assert str(info.value) == "output_format='csv': expected 'hatchet' or 'chrome_trace'"
    # Nothing is lost: the file can still be written.
    profiler.finalize(session)
    assert (tmp_path / "profile.hatchet").exists()


def test_class_of_a_cache(monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "mine")
    with pytest.raises(RuntimeError) as info:
        tilewright.knobs.cache.manager_class
    assert str(info.value) == "TRITON_CACHE_MANAGER=mine: expected MODULE:CLASS"


def test_warps_that_are_not_known_yet():

    @tilewright.jit
    def counted(x):
        tl.store(x, cuda.num_warps())

    with pytest.raises(errors.TilewrightError) as info:
        tilewright.compile(tilewright.ASTSource(counted, {"x": "*i32"}, {}, {}), "sm_80", {"num_warps": None})
    assert info.value.help == "pass num_warps= to the launch; the compiler chooses it later"
    assert info.value.code == "E0112" and info.value.frames[0].source_line.strip() == "tl.store(x, cuda.num_warps())"


def test_c_without_an_assembler(monkeypatch):
    compile_again = exporting.build.compile

    def without_machine_code(*arguments):
        kernel = compile_again(*arguments)
        kernel.asm.pop("cubin", None)
        return kernel

    monkeypatch.setattr(exporting.build, "compile", without_machine_code)
    with pytest.raises(errors.InvalidArgument) as info:
        to_c("*fp32, *fp32, 8", "1, 1, 1")
    assert (
        str(info.value) == "[E0117] there is no assembler for machine code\n  help: install nvidia-nvjitlink; see "
        "tilewright doctor"
    )


def test_grid_of_letters():
    with pytest.raises(errors.InvalidGrid) as info:
        run_interpreted(copy_kernel, ("many",), {"x": MATRIX, "y": MATRIX, "B": 8})
    assert "'many' is not an integer" in str(info.value).splitlines()[0]


def test_stream_of_a_launch():
    with pytest.raises(errors.InvalidOption) as info:
        copy_kernel[(1,)](MATRIX, MATRIX, 8, stream=0)
    lines = str(info.value).splitlines()
    assert (
        lines[0] == "[E0210] unknown option 'stream'"
        and lines[-1] == "  help: device and stream come from the framework; the grid goes in brackets before the call"
    )
    assert info.value.frames[0].file == __file__


def test_explaining_in_the_interpreter(monkeypatch):
    monkeypatch.setattr(tilewright.knobs.runtime, "interpret", True)

    @tilewright.jit
    def interpreted(x):
        tl.store(x, 1.0)

    with pytest.raises(errors.InvalidArgument) as info:
        interpreted.explain(MATRIX)
    assert str(info.value).startswith("[E0117] 'interpreted' runs in the interpreter, so there is nothing to explain\n")
    assert info.value.help == "unset TILEWRIGHT_INTERPRET"
