# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs written for Triton import and ask: names, modules, knobs."""

import importlib
import os
import pathlib
import pkgutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs
from tilewright.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged, store_ragged

NAMES = pathlib.Path(__file__).parent / "data" / "triton_names.txt"


def recorded():
    """{module: names} of the file."""
    rows, module = {}, None
    for line in NAMES.read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            module, _, line = line.partition(":")
            rows[module] = []
        rows[module] += line.split()
    return rows


@pytest.mark.parametrize("module", sorted(recorded()))
def test_names_are_there(module):
    if module in ("triton.tools.mxfp",):
        pytest.importorskip("torch")
    loaded = importlib.import_module("tilewright" + module.removeprefix("triton"))
    missing = [name for name in recorded()[module] if not hasattr(loaded, name)]
    assert not missing


def test_every_lazily_loaded_name_has_a_home():
    found = 0
    for place in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
        if place.name.split(".")[-1] in ("__main__", "_core", "sitecustomize", "torch", "mxfp"):
            continue
        module = importlib.import_module(place.name)
        for name in getattr(vars(module).get("__getattr__"), "homes", ()):
            getattr(module, name)
            found += 1
    for name in tilewright.__getattr__.homes:
        if name != "torch":
            getattr(tilewright, name)
            found += 1
    assert found > 50


def run_as_triton(text):
    """A script under `tilewright run`."""
    script = "from tilewright import triton_alias\ntriton_alias.install()\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_reported_release_has_these_names():
    assert run_as_triton("import triton; print(triton.__version__)").strip() == "3.9.0"


@pytest.mark.parametrize(
    "first",
    [
        "import triton.runtime.driver",
        "from triton.runtime.driver import driver",
        "import triton.runtime.driver as d; d.active",
        "from triton.runtime import driver",
        "import triton.runtime.autotuner",
        "import triton",
    ],
)
def test_the_driver_answers_however_it_was_imported(first):
    run_as_triton(f"""
        {first}
        import triton
        class Mine:
            pass
        mine = Mine()
        triton.runtime.driver.active.get_current_device
        triton.runtime.driver.set_active(mine)
        assert triton.runtime.driver.active is mine
        from triton.runtime.driver import driver
        assert driver.active is mine
        triton.runtime.driver.reset_active()
        assert driver.active is triton.runtime.driver.default
        """)


def test_libdevice_by_its_path_for_cuda():
    run_as_triton("""
        from triton.language.extra.cuda import libdevice
        from triton.language.extra.cuda.libdevice import tanh
        import triton.language.extra.libdevice as portable
        assert libdevice.tanh is tanh is portable.tanh
        """)


def test_names_of_older_releases():
    assert tl.math.tanh is tl.libdevice.tanh is tl.extra.libdevice.tanh and tl.math.pow is tl.extra.libdevice.pow
    assert not hasattr(tl.math, "nonsense") and not hasattr(tl.math, "_language_of_no_name")
    assert tl._experimental_make_tensor_descriptor is tl.make_tensor_descriptor
    assert tl.tensor.advance is tl.advance


def test_types_of_arguments():
    from tilewright.runtime.jit import mangle_type

    values = (1, 2**40, 2**63, True, 1.0, None, tl.float32, np.zeros(1, np.float16), (1, 2.0))
    assert [mangle_type(v) for v in values] == [
        "i32",
        "i64",
        "u64",
        "u1",
        "fp32",
        "constexpr",
        "constexpr",
        "*fp16",
        ("i32", "fp32"),
    ]


def test_types_from_their_texts():
    assert tl.str_to_ty("*kfp32", None) == tl.pointer_type(tl.float32, const=True)
    assert tl.str_to_ty("i64", None) == tl.int64 and tl.str_to_ty("u1", None) == tl.int1
    assert tl.str_to_ty("constexpr", 3) == tl.constexpr_type(3)
    assert str(tl.str_to_ty("tensordesc<fp16[16, 32]>", None)) == f"tensor_descriptor<{tl.block_type(tl.float16, [16, 32])}>"
    assert tl.float32.is_dtype("fp32") and not tl.float32.is_dtype("float33")
    assert isinstance(tl.float32, tl.core.base_type) and isinstance(tl.constexpr(1), tl.core.base_value)


@tilewright.jit
def combined(x, out):
    i = tl.arange(0, 64)
    values = tl.load(x + i)
    tl.store(out, tl.reduce(values, 0, tl.standard._sum_combine))
    top, at = tl.reduce((values, i), 0, tl.standard._argmax_combine_tie_break_left)
    tl.store(out + 1, top)
    tl.store(out + 2, at.to(tl.float32))
    log: tl.constexpr = tl.standard._log2(64)
    tl.store(out + 3 + i, tl.standard._bitonic_merge(values, log, 1, log))


def test_combining_functions_and_steps_of_sorts():
    x = np.concatenate([np.arange(32), np.arange(32)[::-1]]).astype(np.float32)
    out = np.zeros(67, np.float32)
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        tilewright.jit(combined.fn)[(1,)](x, out)
    np.testing.assert_array_equal(out[:3], [x.sum(), 31, 31])
    np.testing.assert_array_equal(out[3:], np.sort(x)[::-1])


# -- knobs ----------------------------------------------------------------------------


def test_a_group_of_a_library(monkeypatch):
    monkeypatch.setattr(knobs, "propagate_env", False)
    monkeypatch.setenv("BAR", "off")

    class library_knobs(knobs.base_knobs):
        foo = knobs.env_str("FOO", "text")
        bar = knobs.env_bool("BAR", True)
        baz = knobs.env_opt_bool("BAZ")
        many = knobs.env_int("MANY", 3)

    group = library_knobs()
    assert group.knobs == {"foo": "text", "bar": False, "baz": None, "many": 3}
    group.bar, group.many = True, 4
    other = group.copy()
    other.foo = "else"
    assert (group.foo, other.foo, other.bar, other.many) == ("text", "else", True, 4)
    other.bar = knobs.env
    assert other.bar is False and group.bar is True
    assert other.reset().knobs == {"foo": "text", "bar": False, "baz": None, "many": 3} and group.many == 4
    assert "FOO" not in os.environ
    with pytest.raises(AttributeError, match="knobs.library has no 'fooo'"):
        group.fooo = 1


def test_scopes_put_everything_back(monkeypatch):
    monkeypatch.delenv("AMDGCN_USE_BUFFER_OPS", raising=False)
    with knobs.amd.scope():
        knobs.amd.use_buffer_ops = False
        assert os.environ["AMDGCN_USE_BUFFER_OPS"] == "0" and not knobs.amd.use_buffer_ops
    assert knobs.amd.use_buffer_ops and "AMDGCN_USE_BUFFER_OPS" not in os.environ
    hook = print
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(hook)
        assert knobs.runtime.launch_enter_hook.calls == [hook]
    assert not knobs.runtime.launch_enter_hook


def test_resetting_leaves_the_user_s_environment_alone(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_OVERRIDE_ARCH", "sm_80")
    knobs.runtime.reset()
    assert knobs.runtime.override_arch == "sm_80"
    knobs.runtime.override_arch = "sm_90a"
    knobs.runtime.copy().reset()
    assert os.environ["TILEWRIGHT_OVERRIDE_ARCH"] == "sm_80" == knobs.runtime.override_arch
    with knobs.runtime.scope():
        knobs.runtime.override_arch = None
        assert knobs.runtime.override_arch is None
        knobs.runtime.override_arch = "sm_89"
    assert knobs.runtime.override_arch == "sm_80"
    del knobs.runtime.override_arch
    assert knobs.runtime.override_arch == "sm_80"


def test_directories_and_tools(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    assert knobs.cache.dump_dir == str(tmp_path / ".triton" / "dump")
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "tilewright.runtime.cache:FileCacheManager")
    assert knobs.cache.manager_class is tilewright.runtime.cache.FileCacheManager
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.1'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(tool))
    assert (knobs.nvidia.ptxas.path, knobs.nvidia.ptxas.version) == (str(tool), "12.4")
    from tilewright import _core, toolkit

    monkeypatch.delenv("TRITON_PTXAS_PATH")
    monkeypatch.setattr(toolkit, "find_tool", lambda name: None)
    monkeypatch.setattr(_core, "assembler_info", lambda: ("12.9.86", "/usr/lib/libnvJitLink.so.12"))
    assert knobs.nvidia.ptxas == ("/usr/lib/libnvJitLink.so.12", "12.9")
    monkeypatch.setattr(_core, "assembler_info", lambda: ("", ""))
    with pytest.raises(RuntimeError, match="ptxas was not found"):
        knobs.nvidia.ptxas  # noqa: B018
    assert isinstance(knobs.cache.dir, str) and knobs.language.fp_fusion_enabled(None) is True
    knobs.refresh_knobs()


# -- compiling in the background, and for the host ----------------------------------------


@tilewright.jit
def copies(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@tilewright.jit
def wrong(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), nowhere)  # noqa: F821


def test_compiling_on_a_pool(monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setenv("TILEWRIGHT_OVERRIDE_ARCH", "sm_80")
    with ThreadPoolExecutor(2) as pool:
        with tilewright.AsyncCompileMode(pool):
            kernels = [copies.warmup(tl.float32, tl.float32, BLOCK=n, grid=(1,)) for n in (64, 128)]
            assert all(isinstance(kernel, tilewright.FutureKernel) for kernel in kernels)
            with pytest.raises(RuntimeError, match="another AsyncCompileMode"):
                with tilewright.AsyncCompileMode(pool):
                    pass
        assert all("st.global" in kernel.asm["ptx"] for kernel in kernels)
        with pytest.raises(errors.CompilationError):
            with tilewright.AsyncCompileMode(pool):
                wrong.warmup(tl.float32, BLOCK=64, grid=(1,))
        with tilewright.AsyncCompileMode(pool, ignore_errors=True):
            kernel = wrong.warmup(tl.float32, BLOCK=64, grid=(1,))
        assert kernel.result(ignore_errors=True) is None
    assert not isinstance(copies.warmup(tl.float32, tl.float32, BLOCK=64, grid=(1,)), tilewright.FutureKernel)


def test_a_listener_hears_of_compilations(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    heard = []
    with knobs.compilation.scope():
        knobs.compilation.listener = lambda **what: heard.append(what)
        for _ in range(2):
            source = tilewright.ASTSource(copies, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 64})
            tilewright.compile(source, "sm_80")
    first, second = heard
    assert (first["cache_hit"], second["cache_hit"]) == (False, True) and first["src"].fn is copies
    assert first["times"].total_lowering > 0 and first["times"].store_results > 0 and first["times"].total > 0
    assert second["times"].total_lowering == 0 == second["times"].store_results and second["times"].total > 0
    assert first["metadata"]["hash"] == second["metadata"]["hash"] and first["metadata"]["target"].backend == "cuda"


def test_what_free_names_mean():
    inner = 7

    def function(x):
        return inner + NAMES

    scope = tilewright.jit(function).get_capture_scope()
    assert scope["inner"] == 7 and scope["NAMES"] is NAMES


def test_building_for_the_host(monkeypatch, tmp_path):
    import shutil

    from tilewright.runtime import build

    if not any(map(shutil.which, ("clang", "gcc", "cc"))):
        pytest.skip("no C compiler")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    path = build.compile_so_from_src("int answer(void) { return 42; }", "answer")
    import ctypes

    assert ctypes.CDLL(path).answer() == 42
    assert build.compile_so_from_src("int answer(void) { return 42; }", "answer") == path
    with pytest.raises(RuntimeError, match="could not build"):
        build.compile_so_from_src("int answer(", "answer")
    import sysconfig

    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        return  # without the headers there are no modules to build
    # A module, which is built again where its file was damaged.
    text = (
        "#include <Python.h>\n#include <stdlib.h>\n"
        'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "built", NULL, -1, NULL};\n'
        "PyMODINIT_FUNC PyInit_built(void) { return PyModule_Create(&module); }\n"
    )
    damaged = build.compile_so_from_src(text, "built")
    pathlib.Path(damaged).write_bytes(b"no library")
    assert build.compile_module_from_src(text, "built").__name__ == "built"


class Touchy:
    """Raises whatever it is asked."""

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise RuntimeError(f"do not ask for {name}")


class NeedsDetach:
    """Its address is there, and one of its interfaces raises, as torch's does for tensors that need a gradient."""

    def __init__(self, array):
        self.array, self.dtype, self.shape, self.device = array, "float32", array.shape, "cpu"

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return (1,)

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("call detach() first")

    @property
    def requires_grad(self):
        raise RuntimeError("not you")


def test_arguments_that_raise_when_they_are_asked():
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        kernel = tilewright.jit(copies.fn)
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel[(1,)](NeedsDetach(x), out, BLOCK=64)
    np.testing.assert_array_equal(out, x)
    with pytest.raises(errors.InvalidArgument, match="Touchy"):
        kernel[(1,)](Touchy(), out, BLOCK=64)
    with pytest.raises(TypeError):
        tilewright.reinterpret(Touchy(), tl.float16)


# -- tools ---------------------------------------------------------------------------------


def test_microscaling_numbers():
    torch = pytest.importorskip("torch")
    from tilewright.tools.mxfp import MXFP4Tensor, MXScaleTensor

    values = torch.tensor([0.0, -0.25, 0.26, 0.75, 1.25, 1.75, 2.5, -3.5, 5.0, 6.5, 1e9, float("nan")])
    numbers = MXFP4Tensor(data=values).to(torch.float32)
    assert numbers.tolist() == [0.0, -0.0, 0.5, 1.0, 1.0, 2.0, 2.0, -4.0, 4.0, 6.0, 6.0, 6.0]
    every = MXFP4Tensor(size=(5, 7)).random()
    assert torch.equal(MXFP4Tensor(data=every.to(torch.float32)).to(torch.float32), every.to(torch.float32))
    for dim in (0, 1):
        packed = every.to_packed_tensor(dim)
        assert packed.shape[dim] == (every.data.shape[dim] + 1) // 2
        assert torch.equal(every.unpack_packed_tensor(packed, dim, (5, 7)), every.data)
    with pytest.raises(AssertionError, match="^dimension 2 is none of 2$"):
        every.to_packed_tensor(2)
    scales = MXScaleTensor(data=torch.tensor([1.0, 3.9, 2.0**-127, 0.0, float("inf")]))
    assert scales.data.tolist() == [127, 128, 0, 255, 255]
    assert scales.to(torch.float32)[:3].tolist() == [1.0, 2.0, 2.0**-127] and scales.to(torch.float32)[3:].isnan().all()
    assert 120 <= int(MXScaleTensor(size=100).random(low=1 / 128, high=2.0).data.min()) <= 128


@tilewright.jit
def moves_a_group(source, target, offset, size, row, ROWS: tl.constexpr):
    block = load_ragged(source, offset, size, [row, 0])
    store_ragged(target, offset, size, [row, 0], block)
    atomic_add_ragged(target, offset, size, [row, 0], block)


def test_ragged_groups():
    torch = pytest.importorskip("torch")
    x = torch.arange(64 * 16, dtype=torch.float32).reshape(64, 16)
    out = torch.zeros_like(x)
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        tilewright.jit(moves_a_group.fn)[(1,)](
            create_ragged_descriptor(x, [8, 16]), create_ragged_descriptor(out, [8, 16]), 10, 13, 8, ROWS=8
        )
    expected = torch.zeros_like(x)
    expected[18:23] = 2 * x[18:23]
    assert torch.equal(out, expected)
    with pytest.raises(AssertionError, match="cannot be ragged"):
        create_ragged_descriptor(x, [8, 16], ragged_dim=1)


def test_ragged_groups_compile_to_tma():
    kind = "tensordesc<fp32[1, 1, 8, 16]>"
    source = tilewright.ASTSource(
        moves_a_group, {"source": kind, "target": kind, "offset": "i32", "size": "i32", "row": "i32"}, {"ROWS": 8}
    )
    ptx = tilewright.compile(source, "sm_90a").asm["ptx"]
    assert "cp.async.bulk.tensor.4d" in ptx


class Facts:
    """What a matrix argument must tell."""

    def __init__(self, dtype="float16"):
        self.dtype = dtype

    def element_size(self):
        return 2 if self.dtype == "float16" else 1


def test_pruning_for_a_gpu_that_is_not_there(monkeypatch):
    from tilewright import _core
    from tilewright.ops.matmul_perf_model import early_config_prune, estimate_matmul_time

    def no_device(*_):
        raise errors.make("E0404")

    monkeypatch.setattr(_core, "current_device", no_device)
    configs = [tilewright.Config({"BLOCK_M": m, "BLOCK_N": 16, "BLOCK_K": 16}) for m in (16, 32)]

    @tilewright.autotune(
        configs,
        key=["n"],
        prune_configs_by={"early_config_prune": early_config_prune, "perf_model": estimate_matmul_time, "top_k": 1},
    )
    @tilewright.jit
    def first_block(A, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        tl.store(A, BLOCK_M)

    a = np.zeros(1, np.float16)
    first_block[(1,)](a, 1)
    assert a[0] == 16


def test_the_old_performance_model(monkeypatch):
    from tilewright import _core
    from tilewright.ops import matmul_perf_model as model

    device = {
        "multiprocessor_count": 132,
        "max_shared_mem": 232448,
        "sm_clock_rate": 1980000,
        "mem_clock_rate": 2619000,
        "mem_bus_width": 6144,
        "capability": 90,
    }
    monkeypatch.setattr(_core, "current_device", lambda: 0)
    monkeypatch.setattr(_core, "device_properties", lambda ordinal: device)

    def config(m, n, k, split=1, stages=3, warps=8):
        return tilewright.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SPLIT_K": split}, warps, stages)

    too_large, split = config(256, 256, 128, stages=4), config(64, 64, 32, split=4)
    depths = [config(128, 128, 32, stages=s) for s in (2, 3, 4, 5)]
    kept = model.early_config_prune([too_large, split, *depths], {"A": Facts()}, grid=(1,))
    assert too_large not in kept and split in kept and len([c for c in kept if c in depths]) == 2
    assert split not in model.early_config_prune([split, *depths], {"A": Facts("int8")})

    def time(m, n, k, **sizes):
        matrix = Facts()
        return model.estimate_matmul_time(
            num_warps=8,
            num_stages=3,
            A=matrix,
            B=matrix,
            C=matrix,
            **sizes,
            BLOCK_M=m,
            BLOCK_N=n,
            BLOCK_K=k,
            SPLIT_K=1,
            grid=(1,),
        )

    large = {"M": 8192, "N": 8192, "K": 8192}
    assert 1.0 < time(128, 256, 64, **large) < time(16, 16, 16, **large)
    assert time(128, 256, 64, **large) < time(128, 256, 64, M=16384, N=8192, K=8192)


def test_the_allocator_that_is_set_can_be_asked():
    from tilewright.runtime import _allocation

    def mine(size, alignment, stream):
        raise AssertionError("no kernel asks")

    assert not isinstance(_allocation._allocator.get(), _allocation.NullAllocator)
    tilewright.set_allocator(mine)
    try:
        assert _allocation._allocator.get() is mine
    finally:
        tilewright.set_allocator(None)


def test_variables_for_keys_of_programs(monkeypatch):
    from tilewright._C.libtriton import get_cache_invalidating_env_vars

    monkeypatch.delenv("TILEWRIGHT_WATCHDOG", raising=False)
    before = get_cache_invalidating_env_vars()
    monkeypatch.setenv("TILEWRIGHT_WATCHDOG", "7")
    assert get_cache_invalidating_env_vars() == {**before, "TILEWRIGHT_WATCHDOG": "7"}


def test_digests_of_a_kernels_text():
    from tilewright.runtime.jit import DependenciesFinder

    @tilewright.jit
    def helper(x):
        return x + 1

    @tilewright.jit
    def kernel(p):
        tl.store(p, helper(tl.load(p)))

    def digest(scope, src=kernel.src):
        finder = DependenciesFinder(name="kernel", globals=scope, src=src)
        finder.visit(kernel.parse())
        return finder.ret

    assert digest({}) == digest({}) != digest({}, kernel.src + "#")
    assert digest({"helper": helper}) == digest({"helper": helper}) != digest({})


def test_hooks_as_attributes_of_the_class():
    from tilewright.runtime.jit import JITFunction

    def hook(**facts):
        return False

    assert JITFunction.cache_hook is None and JITFunction.compiled_hook is None
    try:
        JITFunction.cache_hook = JITFunction.compiled_hook = hook
        assert knobs.runtime.jit_cache_hook is hook and knobs.runtime.jit_post_compile_hook is hook
    finally:
        JITFunction.cache_hook = JITFunction.compiled_hook = None
    assert knobs.runtime.jit_cache_hook is None and knobs.runtime.jit_post_compile_hook is None


def test_a_configuration_has_triton_s_attributes_and_no_others():
    config = tilewright.Config({"BLOCK": 64}, num_warps=8)
    assert tilewright.Config(**config.__dict__) == config
    options = {"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook", "ir_override", "all_kwargs"}
    assert {name for name in dir(config) if not name.startswith("__")} == options


@tilewright.jit
def stores_one(pointer):
    tl.store(pointer, 1)


def test_what_programs_ask_of_a_compiled_kernel():
    from tilewright.backends.compiler import GPUTarget

    source = tilewright.compiler.ASTSource(stores_one, {"pointer": "*i32"})
    compiled = tilewright.compile(source, target=GPUTarget("cuda", 80, 32))
    assert (compiled.metadata.arch, compiled.metadata.backend_name) == ("sm80", "cuda")
    assert compiled.metadata.triton_version == "3.9.0" and compiled.kernel is compiled.asm.get("cubin")
    assert "arch" not in compiled.metadata._asdict() and compiled.metadata._replace(shared=4).shared == 4


def test_a_driver_of_the_program_with_triton_s_interface():
    from tilewright.backends.compiler import GPUTarget

    class Offline:
        """A machine without a GPU, for which kernels are compiled."""

        def get_current_target(self):
            return GPUTarget("cuda", 80, 32)

        def get_current_device(self):
            return 0

        def get_current_stream(self, device):
            return 0

    tilewright.runtime.driver.set_active(Offline())
    try:
        compiled = tilewright.jit(stores_one.fn).warmup(tl.int32, grid=(1,))
    finally:
        tilewright.runtime.driver.reset_active()
    assert ".target sm_80" in compiled.asm["ptx"]
