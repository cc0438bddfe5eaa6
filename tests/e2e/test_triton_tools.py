# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs written for Triton use beside the language: pools of compilers, builds for the host, tools, hooks."""

import os
import pathlib

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs
from tilewright.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged, store_ragged


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


def test_questions_to_the_front_end():
    from types import SimpleNamespace

    from tilewright.compiler import code_generator, make_launcher

    found = code_generator.ast_to_ttir(copies, tilewright.ASTSource(copies, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 64}))
    assert "writes out" in str(found)
    facts = SimpleNamespace(equal_to_1={1}, divisible_by_16={0, 2})
    assert code_generator.kernel_suffix(["*fp32", "i32", "i32"], facts) == "0d1c2d"
    assert code_generator.check_identifier_legality("a_1", "function") == "a_1"
    with pytest.raises(errors.TilewrightError, match="invalid function identifier: a b") as info:
        code_generator.check_identifier_legality("a b", "function")
    assert info.value.help == "use letters, digits and '_'"
    assert code_generator._apply_to_tuple_values((1, 2), str) == ("1", "2") and code_generator._is_list_like([])
    assert code_generator._is_constexpr(tl.constexpr(1)) and not code_generator._is_triton_tensor(1)
    assert code_generator._is_triton_value(tl.constexpr(1))
    for refused in (code_generator.CodeGenerator, code_generator.flatten_values_to_ir, make_launcher.make_launcher_stub):
        with pytest.raises(errors.TilewrightError, match=r"\[E0125\] .* belongs to the inside of Triton's"):
            refused([])
    keys = {make_launcher.make_so_cache_key("1", {"x": kind}, {}, {}) for kind in ("*fp32", "*fp16")}
    assert len(keys) == 2


def test_the_tool_for_device_libraries_says_what_to_do():
    from tilewright.tools import build_extern

    for use in (build_extern.Libdevice, lambda: build_extern.build("", "", "libdevice", "")):
        with pytest.raises(errors.TilewrightError, match=r"\[E0125\] 'build_extern\.\w+' belongs to"):
            use()


def test_expanded_signatures():
    from tilewright.backends.driver import expand_signature

    entries = ("i32", ("tensordesc<fp16[16,32]>", "i64"), "tensordesc_im2col<fp32[1,16],input_rank=4,'layout'>")
    number, inner, *last = expand_signature(entries, [], "map")
    assert number == "i32" and inner == ("*fp16", *["i64"] * 4, "i1", "i1", "i32", "i32", "i64", "i64", "i64")
    assert last == ["*fp32", *["i64"] * 8, "i1", "i1", *["i32"] * 4, *["i64"] * 4]
    number, inner, *last = expand_signature(entries, [{}, {}], "map")
    assert inner == ("map", "i32", "i32", "i64", "i64", "i64") and last == ["map", *["i32"] * 4, *["i64"] * 4]
