# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs see of a specialisation, on the recording driver; run by test_launch_mock.py."""

import concurrent.futures
import json
import os

import pytest

import tilewright
import tilewright.language as tl
from harness.mock_driver import FakeTensor
from tilewright import knobs
from tilewright.compiler import compiler

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


# -- constants that a program changes -------------------------------------------------


GLOBAL_TYPE = tl.int32


def global_type_kernel(x):
    y = GLOBAL_TYPE  # noqa: F841


global_type_kernel.__tilewright_reads__ = ("GLOBAL_TYPE",)


def make_closure(constant):

    def closure(x):
        return constant

    closure.__tilewright_reads__ = ("constant",)
    return tilewright.jit(closure)


def test_value_of_a_constexpr_that_code_holds(mock):
    constant = tl.constexpr(42)
    first, second = make_closure(constant), make_closure(constant)
    for kernel in (first, second):
        kernel[(1,)](2)
    constant.value = 43
    for kernel in (first, first, second):
        with pytest.raises(
            RuntimeError,
            match=r"constant has changed since we compiled this kernel, from constexpr\[42\] "
            r"to constexpr\[43\]",
        ):
            kernel[(1,)](2)
    make_closure(constant)[(1,)](2)  # compiled with the new value
    constant.value = 42
    first[(1,)](2)
    assert mock.count == 4


def test_constexpr_outlives_its_kernels(mock):
    constant = tl.constexpr(42)
    make_closure(constant)[(1,)](2)
    constant.value = 43
    assert constant.value == 43 and mock.count == 1


def test_global_element_type(mock, monkeypatch):
    kernel = tilewright.jit(global_type_kernel)
    kernel[(1,)](2)
    monkeypatch.setitem(globals(), "GLOBAL_TYPE", tl.int64)
    with pytest.raises(RuntimeError, match="GLOBAL_TYPE has changed since we compiled this kernel, from .*int32 to .*int64;"):
        kernel[(1,)](2)
    monkeypatch.setitem(globals(), "GLOBAL_TYPE", tl.int32)
    kernel[(1,)](2)
    assert mock.count == 2


# -- names, hooks, recorded specialisations -------------------------------------------


def test_name_by_repr():

    def name(specialization):
        ones = [name for name, value in specialization.constants.items() if value == 1]
        return f"kernel_{specialization.signature['value']}_{'_'.join(ones)}"

    @tilewright.jit(repr=name)
    def kernel(value, is_one, x):
        pass

    for value, kind in ((-1, "i32"), (2**31, "i64"), (2**63, "u64")):
        compiled = kernel.warmup(value, 1, FakeTensor(), grid=(1,))
        assert compiled.name == f"kernel_{kind}_is_one"
        assert compiled.metadata.name == "kernel"  # the symbol in the code
        compiled[(1,)](value, FakeTensor())


def test_name_by_repr_that_fails():

    @tilewright.jit(repr=lambda specialization: specialization.nonsense)
    def kernel(x):
        pass

    assert kernel.warmup(FakeTensor(), grid=(1,)).name == "kernel"


def test_warm_up_is_looked_for_once(monkeypatch):
    requests = []

    def counted(*arguments, original=compiler.Request):
        requests.append(original(*arguments))
        return requests[-1]

    monkeypatch.setattr(compiler, "Request", counted)

    @tilewright.jit
    def kernel(x, n, SIZE: tl.constexpr):
        pass

    def warm(n=16, size=1, **options):
        return kernel.warmup(FakeTensor(), n, SIZE=size, grid=(1,), **options)

    first = warm()
    assert warm() is first and warm(32) is first  # the second looks once more: the first had nothing to compare
    count = len(requests)
    assert all(warm() is first for _ in range(3)) and len(requests) == count
    others = [warm(17), warm(size=1.0), warm(size=True), warm(num_warps=8)]
    assert len({id(each) for each in (first, *others)}) == 5
    assert [warm(17), warm(size=1.0), warm(size=True), warm(num_warps=8), warm()] == [*others, first]
    # What a program sets between two of them counts, and so does setting it back.
    for group, name, value in (
        ("language", "fp32_default", "ieee"),
        ("runtime", "debug", True),
        ("runtime", "override_arch", "sm_80"),
        ("nvidia", "ptxas_options", "--opt-level=1"),
    ):
        with getattr(knobs, group).scope():
            setattr(getattr(knobs, group), name, value)
            changed = warm()
            assert changed is not first and warm() is changed, name
        assert warm() is first, name
    count = len(requests)
    with knobs.compilation.scope():
        knobs.compilation.always_compile = True
        warm(), warm()
    assert len(requests) == count + 2
    kernel.device_caches[0][0].clear()
    assert warm() is not first


def test_warm_up_sees_a_constant_that_has_changed():
    constant = tl.constexpr(42)
    kernel = make_closure(constant)
    for _ in range(3):
        kernel.warmup(2, grid=(1,))
    constant.value = 43
    with pytest.raises(RuntimeError, match="constant has changed since we compiled this kernel"):
        kernel.warmup(2, grid=(1,))


def test_hooks_get_every_option():
    seen = []

    @tilewright.jit
    def kernel(x, n):
        pass

    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = lambda **kwargs: seen.append(kwargs) and None
        knobs.runtime.jit_post_compile_hook = lambda **kwargs: seen.append(kwargs)
        kernel.warmup(FakeTensor(), 16, grid=(1,), enable_fp_fusion=False, num_warps=8)
    before, after = seen
    assert before["fn"].name == "test_hooks_get_every_option.<locals>.kernel" and before["fn"].module == __name__
    assert before["compile"]["enable_fp_fusion"] is False and before["compile"]["num_warps"] == 8
    assert before["compile"]["key"] in kernel.device_caches[0][0]
    assert before["compile"]["is_warmup"] and not before["already_compiled"] and after["already_compiled"]
    assert after["compile"]["specialization_data"] == before["compile"]["specialization_data"]


def test_hooks_get_the_name_that_a_program_has_given():
    seen = []

    @tilewright.jit
    def made(x):
        pass

    made.fn.__name__, made.fn.__qualname__, made.fn.__module__ = "named", "Library.named", "library"
    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = lambda **kwargs: seen.append(kwargs["fn"]) and None
        made.warmup(FakeTensor(), grid=(1,))
    assert [(info.module, info.name) for info in seen] == [("library", "Library.named")]


def test_compiling_ahead_of_a_launch_as_with_triton():
    """A library binds the arguments of a call by what the device's cache holds, and compiles what it reads off them."""

    @tilewright.jit
    def kernel(x, n, pair, width, step: tl.int16, SIZE: tl.constexpr = 32, num_warps: tl.constexpr = 4):
        tl.store(x + tl.arange(0, SIZE), n + pair[0] + width + step)

    kernels, *_, target, backend, binder = kernel.device_caches[0]
    arguments, options = (FakeTensor(), 48, (3, 1), 1, 32), {"num_warps": 8, "num_stages": 2}
    values, facts, rest = binder(*arguments, **options)
    assert list(values) == kernel.arg_names and values["SIZE"] == 32 and values["num_warps"] == 8
    assert [kind for kind, _ in facts] == ["*fp32", "i32", ("i32", "constexpr"), "constexpr", "i16", "constexpr", "constexpr"]
    assert facts[1] == ("i32", "D") and facts[4] == ("i16", "D")
    assert rest == {"num_stages": 2}
    with pytest.raises(TypeError, match="missing a required argument: 'pair'"):
        binder(FakeTensor(), 48)
    kinds, keys = [list(row) for row in zip(*facts)]
    find, at = tilewright.runtime.jit.find_paths_if, tilewright.runtime.jit.get_iterable_path
    constants = {path: at(list(values.values()), path) for path in find(kinds, lambda _, kind: kind == "constexpr")}
    attributes = {path: backend.parse_attr(at(keys, path)) for path in find(keys, lambda _, key: isinstance(key, str))}
    source = kernel.ASTSource(kernel, dict(zip(kernel.arg_names, kinds)), constants, attributes)
    made = kernel.compile(source, target=target, options=backend.parse_options(options).__dict__)
    assert isinstance(made, kernel.CompiledKernel) and made.metadata.num_warps == 8
    assert kernel.device_caches[0][0] is kernels
    # Another library asks by torch's object for the device: the current one, with a cache of its own.
    named, *_, same_target, _, same_binder = kernel.device_caches["cuda:0"]
    assert named == {} and (same_target, same_binder(*arguments, **options)) == (target, (values, facts, rest))


def module_level(x):
    pass


module_level = tilewright.jit(module_level)


def test_recorded_specialisation(compiler):
    recorded = []

    @tilewright.jit
    def kernel(x, SIZE: tl.constexpr, kind: tl.constexpr, helper: tl.constexpr, pair: tl.constexpr):
        pass

    @tilewright.jit
    def other(x):
        pass

    arguments = (FakeTensor(), 32, tl.float32, module_level, (1, (tl.int8, None)))
    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = lambda **kwargs: recorded.append(kwargs["compile"]["specialization_data"]) and None
        compiled = kernel.warmup(*arguments, grid=(1,))
        kernel.device_caches[0][0].clear()
        assert json.loads(recorded[0])["complete"], recorded[0]
        loaded = kernel.preload(recorded[0])
        assert loaded.hash == compiled.hash and compiler.last["constexprs"]["pair"] == (1, (tl.int8, None))
        assert compiler.last["constexprs"]["helper"] is module_level
        assert recorded[1] == recorded[0]  # the hook is asked as for a warmup
        # A launch finds it and asks nobody.
        assert kernel.warmup(*arguments, grid=(1,)).hash == compiled.hash
        assert len(recorded) == 2 and len(kernel.device_caches[0][0]) == 1
    with pytest.raises(RuntimeError, match="Specialization data is for 'kernel'"):
        other.preload(recorded[0])


def test_compiled_kernel_of_another_constructor(monkeypatch):
    """Libraries put a function with Triton's parameters in place of the constructor."""
    from tilewright.compiler.compiler import CompiledKernel

    own, seen = CompiledKernel.__init__, []

    def constructor(self, src, metadata_group, hash):
        seen.append([key for key in metadata_group if key.endswith(".json")])
        own(self, src, metadata_group, hash)

    monkeypatch.setattr(CompiledKernel, "__init__", constructor)

    @tilewright.jit
    def kernel(x):
        pass

    assert kernel.warmup(FakeTensor(), grid=(1,)).metadata.num_warps == 4 and seen == [[]]


# -- compiling on a pool ----------------------------------------------------------------


class LaterPool(concurrent.futures.Executor):
    """Begins when it is told to."""

    def __init__(self):
        self.waiting = []

    def submit(self, function, *args, **kwargs):
        future = concurrent.futures.Future()
        self.waiting.append((future, lambda: future.set_result(function(*args, **kwargs))))
        return future

    def run(self):
        while self.waiting:
            future, task = self.waiting.pop(0)
            if future.set_running_or_notify_cancel():
                task()


def test_requests_are_submitted_once(compiler):

    @tilewright.jit
    def kernel(x, n, a: tl.constexpr, unhashable: tl.constexpr = None):
        pass

    pool = LaterPool()
    narrow, wide = FakeTensor(), FakeTensor(dtype="float64")
    with tilewright.AsyncCompileMode(pool):
        for x in (narrow, wide, narrow):
            for n in (1, 8, 16, 17):
                kernel.warmup(x, n, a=0, grid=(1,))
        assert len(pool.waiting) == 8 and not compiler.calls
        kernel.warmup(narrow, 16, 0, num_warps=8, grid=(1,))
        kernel.warmup(narrow, 16, 0, [1], grid=(1,))
        kernel.warmup(narrow, 16, 0, [1], grid=(1,))
        assert len(pool.waiting) == 11  # a list cannot be compared by a key
        pool.run()
    assert len(compiler.calls) == 10


def test_error_inside_leaves_no_one_waiting():

    @tilewright.jit
    def kernel(x):
        pass

    pool = LaterPool()
    with pytest.raises(ZeroDivisionError), tilewright.AsyncCompileMode(pool):
        kernel.warmup(FakeTensor(), grid=(1,))
        1 // 0
    ((future, _),) = pool.waiting
    assert future.cancelled()
