# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch's compile workers do with compiled kernels: they send them, and others launch the machine code.

The steps are those of torch's own code, which takes the function out of a JITFunction
and sends the `__dict__` of a CompiledKernel.
"""

import copy
import pickle
import types

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors
from tilewright._utils import find_paths_if, get_iterable_path
from tilewright.backends.compiler import BaseBackend, GPUTarget
from tilewright.compiler import compiler
from tilewright.compiler.argument_access import argument_access
from tilewright.runtime import jit
from tilewright.runtime.cache import _base32

TARGET = GPUTarget("cuda", 90, 32)


@tilewright.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) + tl.load(y_ptr + i, i < n), i < n)


@tilewright.jit
def sometimes_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if n > 5:
        tl.store(out_ptr + i, tl.load(x_ptr + i))


@tilewright.jit
def descriptor_kernel(source, target, total_ptr, BLOCK: tl.constexpr):
    tile = source.load([0, 0])
    target.store([0, 0], tile)
    tl.atomic_add(total_ptr, 1)


@tilewright.constexpr_function
def twice(number):
    return number * 2


TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
# As torch gives it: positions, and Triton's names of attributes.
ATTRIBUTES = {(0,): [["tt.divisibility", 16]], (2,): [["tt.divisibility", 16]]}


class ConstantText:
    """torch puts such an object in place of `repr`."""

    def __init__(self, text):
        self.text = text

    def __call__(self, _):
        return self.text


def compiled(function=add_kernel, types=TYPES, **options):
    source = compiler.ASTSource(function, types, {"BLOCK": 128}, ATTRIBUTES if types is TYPES else {})
    return tilewright.compile(source, target=TARGET, options={"num_warps": 4, "num_stages": 1, "debug": False, **options})


def test_functions_are_sent_by_name():
    assert pickle.loads(pickle.dumps(add_kernel)) is add_kernel
    assert copy.deepcopy({"fn": add_kernel})["fn"] is add_kernel


def test_kernel_is_sent(monkeypatch):
    kernel = compiled()
    function, key = kernel.src.fn, kernel.src.fn.cache_key
    for name, value in (("fn", None), ("__globals__", None), ("used_global_vals", None), ("_hash_lock", None)):
        monkeypatch.setattr(function, name, value, raising=False)
    monkeypatch.setattr(function, "repr", ConstantText(function.repr(function)), raising=False)
    state = {
        **kernel.__dict__,
        "metadata": kernel.metadata._asdict(),
        "packed_metadata": kernel.packed_metadata,
        "module": None,
        "function": None,
        "run": None,
    }
    received = tilewright.CompiledKernel.__new__(tilewright.CompiledKernel)
    received.__dict__.update(pickle.loads(pickle.dumps(state)))
    described = received.src.fn
    assert described is not function and isinstance(described, tilewright.JITFunction)
    assert [p.num for p in described.params if p.is_constexpr] == [4] and described.arg_names == function.arg_names
    assert described.src == function.src and described.repr(described) == "add_kernel"
    assert described.cache_key == key
    assert received.asm["cubin"] == kernel.asm["cubin"] and received.asm["ptx"] == kernel.asm["ptx"]
    assert copy.deepcopy(described).src == function.src
    with pytest.raises(errors.TilewrightError):
        described[(1,)](1, 2, 3)
    monkeypatch.setattr(tilewright.CompiledKernel, "load", lambda self, device=None: None)
    received._init_handles()
    assert callable(received.run)


def test_whole_kernel_is_sent():
    kernel = compiled()
    received = pickle.loads(pickle.dumps(kernel))
    assert received.src.fn is add_kernel and received.hash == kernel.hash and received.asm["llir"] == kernel.asm["llir"]


def file_of(folder, kernel):
    return folder / _base32(kernel.hash) / f"{kernel.src.fn.__name__}.cubin"


def test_machine_code_lies_where_torch_looks(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernel = compiled()
    assert file_of(tmp_path, kernel).read_bytes() == kernel.asm["cubin"]
    entry = kernel.asm["ptx"].split(".entry add_kernel(")[1].split(")")[0]
    assert [line.split()[1] for line in entry.strip().splitlines()] == [".u64", ".u64", ".u64", ".u32"]


def test_no_file_for_what_plain_arguments_do_not_launch(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    types = {"source": "tensordesc<fp16[64,64]>", "target": "tensordesc<fp16[64,64]>", "total_ptr": "*i32"}
    for kernel in (compiled(descriptor_kernel, types), compiled(launch_cooperative_grid=True), compiled(num_ctas=2)):
        assert not file_of(tmp_path, kernel).exists()


def test_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file"))
    assert compiled().asm["cubin"]


def walked(source):
    """(written, read) positions of arguments, found as torch finds them: by a walk of the module."""
    module = source.make_ir(TARGET, None, {}, {}, None)
    assert module.verify()
    operations = []
    module.walk(operations.append)
    names = [op.get_name() for op in operations]
    assert names[-2:] == ["tt.func", "builtin.module"]
    assert operations[-2].get_str_attr("sym_name") == source.fn.__name__
    body = operations[0].get_block()
    assert body.get_parent().id() == operations[-2].get_region(0).id()
    arguments = [body.get_argument(i).id() for i in range(body.get_num_arguments())]

    def accessed(name):
        return {arguments.index(op.get_operand(0).id()) for op in operations if op.get_name() == name}

    return accessed("tt.store"), accessed("tt.load"), len(arguments)


def test_accesses_of_a_kernel():
    assert walked(compiler.ASTSource(add_kernel, TYPES, {"BLOCK": 128})) == ({2}, {0, 1}, 4)
    # torch 2.11 gives numbers as constants, and does not count them.
    assert walked(compiler.ASTSource(add_kernel, TYPES, {"BLOCK": 128, "n": 2})) == ({2}, {0, 1}, 3)


def test_store_that_a_number_decides_counts():
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    assert argument_access(compiler.ASTSource(sometimes_kernel, types, {"BLOCK": 32, "n": 2})) == ({"out_ptr"}, {"x_ptr"})


def test_descriptors_are_followed_by_extents_and_strides():
    types = {"source": "tensordesc<fp16[64,64]>", "target": "tensordesc<fp16[64,64]>", "total_ptr": "*i32"}
    assert walked(compiler.ASTSource(descriptor_kernel, types, {"BLOCK": 128})) == ({5, 10}, {0, 10}, 11)


def test_steps_before_the_walk():
    """What torch calls to make the source: contexts, backends, and the classification of arguments."""
    import tilewright as triton

    triton._C.libtriton.ir.load_dialects(triton._C.libtriton.ir.context())
    backend = compiler.make_backend(TARGET)
    backend.load_dialects(None)
    assert backend.get_codegen_implementation(None) == {} == backend.get_module_map()
    tensor = types.SimpleNamespace(data_ptr=lambda: 64, dtype="torch.bfloat16")
    keys = [
        jit.native_specialize_impl(BaseBackend, value, False, True, True)[1]
        for value in (tensor, 32, 7, 1, 2.5, None, (tensor, 3))
    ]
    assert keys == ["D", "D", "", 1, None, None, ("D", "")]
    paths = find_paths_if(keys, lambda _, key: isinstance(key, str))
    assert paths == [(0,), (1,), (2,), (6, 0), (6, 1)]
    assert [backend.parse_attr(get_iterable_path(keys, path)) for path in paths[:3]] == [[["tt.divisibility", 16]]] * 2 + [[]]
    assert [jit.mangle_type(value) for value in (tensor, 1, 2**40, 2**63, 2.5, True, None)] == [
        "*bf16",
        "i32",
        "i64",
        "u64",
        "fp32",
        "u1",
        "constexpr",
    ]
    assert isinstance(twice, jit.ConstexprFunction) and twice.src.startswith("def twice(number):") and twice.fn(3) == 6
    assert not isinstance(tilewright.cdiv, jit.ConstexprFunction) and not isinstance(len, jit.ConstexprFunction)


@tilewright.constexpr_function
def is_wide():
    return False


@tilewright.jit
def asks(out):
    wide: tl.constexpr = is_wide()
    tl.store(out, 1 if wide else 0)


def test_text_of_a_constexpr_function_can_be_changed():
    before, text = asks.cache_key, is_wide.src
    assert text == "def is_wide():\n    return False\n"
    is_wide._unsafe_update_src(text.replace("False", "True"))
    try:
        assert is_wide() and is_wide.src.endswith("return True\n") and asks.cache_key != before
        assert is_wide.fn() and not hasattr(is_wide.fn, "fn")  # programs look for the innermost one
        out = np.zeros(1, np.int32)
        asks[(1,)](out)
        assert out[0] == 1
    finally:
        is_wide._unsafe_update_src(text)
    assert not is_wide() and asks.cache_key == before


def test_a_constexpr_function_may_have_no_text():
    space = {"tilewright": tilewright}
    exec("@tilewright.constexpr_function\ndef three():\n    return 3", space)
    assert space["three"]() == 3 and not hasattr(space["three"], "src")
