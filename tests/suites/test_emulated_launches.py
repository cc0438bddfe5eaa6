# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugins that run suites on the CPU: launches are compared with the emulator, and "cuda" is the CPU."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tilewright
import tilewright.language as tl
from tilewright import observers
from tilewright.tools.tensor_descriptor import TensorDescriptor

INSIDE = Path(__file__).resolve().parent / "inside"
sys.path.insert(0, str(INSIDE))

import emulated_launches  # noqa: E402
from launch_copies import Copies  # noqa: E402


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """A function that launches in the interpreter and gives the lines that the observer wrote."""
    monkeypatch.setattr(emulated_launches, "OUT", str(tmp_path / "launches"))
    monkeypatch.setattr(emulated_launches, "seen", set())
    emulated_launches.tries.clear()
    monkeypatch.setattr(observers, "interpreted_launches", [emulated_launches.observer])

    def launch(kernel, grid, *args, **options):
        before = kernel.interpreted
        kernel.interpreted = True
        kernel._tell_native_side()
        try:
            kernel[grid](*args, **options)
        finally:
            kernel.interpreted = before
            kernel._tell_native_side()
            emulated_launches.reap(0)
        path = tmp_path / "launches"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    return launch


@tilewright.jit
def product(x, y, out, scale, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for step in range(STEPS):
        a = tl.load(x + rows[:, None] * n + (step * BLOCK + k)[None, :])
        b = tl.load(y + (step * BLOCK + k)[:, None] * BLOCK + k[None, :])
        total += tl.dot(a, b)
    tl.store(out + rows[:, None] * BLOCK + k[None, :], total * scale)


def operands(programs=3):
    random = np.random.default_rng(3)
    x = random.standard_normal((programs * 32, 64)).astype(np.float16)
    y = random.standard_normal((64, 32)).astype(np.float16)
    return x, y, np.zeros((programs * 32, 32), np.float32)


def test_a_launch_is_compared_once(tried):
    x, y, out = operands()
    for _ in range(2):
        lines = tried(product, (3,), x, y, out, 0.5, 64, BLOCK=32, STEPS=2, num_warps=4)
    assert [(line["kernel"], line["status"]) for line in lines] == [("product", "same")], lines
    assert lines[0]["at"] == "emulate sm_80 3" and lines[0]["grid"] == [3, 1, 1]
    np.testing.assert_allclose(out, x.astype(np.float32) @ y.astype(np.float32) * 0.5, rtol=1e-4, atol=1e-4)


def test_a_difference_is_found(tried, monkeypatch):
    real = emulated_launches.emulated

    def spoiled(kernel, sizes, bound, programs):
        real(kernel, sizes, bound, programs)
        bound["out"].reshape(-1)[7] += 1

    monkeypatch.setattr(emulated_launches, "emulated", spoiled)
    (line,) = tried(product, (3,), *operands(), 0.5, 64, BLOCK=32, STEPS=2)
    assert line["status"] == "WRONG" and "array 2: 1 of 3072 float32 differ, first [7]" in line["message"]


def test_a_difference_between_stages_is_found(tried, monkeypatch):
    real = emulated_launches.emulated
    runs = []

    def drifting(kernel, sizes, bound, programs):
        real(kernel, sizes, bound, programs)
        runs.append(kernel)
        bound["out"].reshape(-1)[7] *= 1 + 1e-4 * len(runs)

    monkeypatch.setattr(emulated_launches, "emulated", drifting)
    (line,) = tried(product, (3,), *operands(), 0.5, 64, BLOCK=32, STEPS=2)
    assert line["status"] == "stages"


@pytest.mark.parametrize(
    "part, what, status",
    [(lambda: os._exit(3), "", "died"), (lambda: 1 / 0, "ZeroDivisionError", "error")],
    ids=["dies", "raises"],
)
def test_a_child_that_dies_is_told(tried, monkeypatch, part, what, status):
    monkeypatch.setattr(emulated_launches, "tried", lambda *args: part())
    (line,) = tried(product, (3,), *operands(), 0.5, 64, BLOCK=32, STEPS=2)
    assert line["status"] == status and line.get("kind", "") == what


@tilewright.jit
def split(x, even, odd, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(even + 2 * i, value, mask=i < n)
    tl.store(odd + 2 * i, -value, mask=i < n)


def test_views_of_one_array_stay_in_one_memory(tried):
    out = np.zeros(32, np.float32)
    (line,) = tried(split, (1,), np.arange(1, 17, dtype=np.float32), out, out[1:], 16, BLOCK=16)
    assert line["status"] == "same", line
    assert out[:4].tolist() == [1, -1, 2, -2]


def test_threads_launch_together(tried):
    x = np.arange(1, 17, dtype=np.float32)
    kernels = [tilewright.jit(split.fn) for _ in range(6)]

    def launch(kernel):
        return tried(kernel, (1,), x, np.zeros(32, np.float32), np.zeros(32, np.float32), 16, BLOCK=16)

    with ThreadPoolExecutor(6) as pool:
        last = max(pool.map(launch, kernels), key=len)
    assert [line["status"] for line in last] == ["same"] * 6


@tilewright.jit
def add_rows(descriptor, pair, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tile = descriptor.load([pid * BLOCK, 0])
    k = tl.arange(0, 16)
    tl.store(out + pid * 16 + k, tl.sum(tile, 0) + tl.load(pair[0] + k) + pair[1])


def test_descriptors_tuples_and_views(tried):
    memory = np.arange(200, dtype=np.float32)
    base, vector = memory[8:136].reshape(8, 16), memory[136:152]
    out = np.zeros((2, 16), np.float32)
    (line,) = tried(add_rows, (2,), TensorDescriptor.from_tensor(base, [4, 16]), (vector, 3), out, BLOCK=4)
    assert line["status"] == "same", line
    np.testing.assert_array_equal(out, base.reshape(2, 4, 16).sum(1) + vector + 3)


def test_views_of_one_memory_stay_views_of_one():
    memory = np.arange(64, dtype=np.float32)
    copies = Copies()
    bound = {"a": copies.of("a", memory[1:]), "b": copies.of("b", memory[3:9])}
    again, other = copies.again(bound)
    again["a"][2] = -1
    assert again["b"][0] == -1 and bound["b"][0] == 3 and memory[3] == 3 and len(other.storages) == 1
    assert [again[name].ctypes.data % 256 for name in "ab"] == [memory[i:].ctypes.data % 256 for i in (1, 3)]


@tilewright.jit
def slow(out):
    tl.store(out + tl.program_id(0), 1)


def test_a_launch_that_takes_too_long_is_cut(tried, monkeypatch):
    monkeypatch.setattr(emulated_launches, "LAUNCH_SECONDS", -1.0)
    lines = tried(slow, (64,), np.zeros(64, np.int32))
    assert {"cut", "same"} == {line["status"] for line in lines}
    assert emulated_launches.cut.pop("") == "4 of 64 programs of slow ran"


@tilewright.jit
def backward(flags):
    own = tl.program_id(0)
    if own + 1 < tl.num_programs(0):
        while tl.atomic_add(flags + own + 1, 0) == 0:
            pass
    tl.atomic_xchg(flags + own, 1)


def test_programs_that_wait_for_a_later_part_are_cut(tried):
    lines = tried(backward, (64,), np.zeros(64, np.int32))
    assert {"cut"} == {line["status"] for line in lines if "code" not in line}
    assert emulated_launches.cut.pop("") == "programs of backward wait for those of a later part"


def test_products_of_8_bit_floats_are_compared(tried):
    """sm_80 has none, so sm_89 takes its place."""
    x = np.ones((32, 64), ml_dtypes.float8_e4m3fn)
    y, out = np.ones((64, 32), x.dtype), np.zeros((32, 32), np.float32)
    (line,) = tried(product, (1,), x, y, out, 0.5, 64, BLOCK=32, STEPS=2)
    assert line["status"] == "same" and line["at"].startswith("emulate sm_89"), line


PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def twice(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def test_everything_is_on_the_gpu():
    generator = torch.Generator(device="cuda")
    generator.manual_seed(1)
    x = torch.rand(100, device="cuda", generator=generator, dtype=torch.bfloat16)
    with torch.device("cuda"), torch.cuda.device(x.device):
        y = torch.zeros(100).to(x.dtype).copy_(x)
    assert x.is_cuda and x.device == y.device == torch.device("cuda", 0) and x.get_device() == 0
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    twice[(4,)](x, 100, BLOCK=32)
    end.record()
    torch.cuda.synchronize()
    torch.accelerator.synchronize()
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device("cuda")
    assert begin.elapsed_time(end) > 0
    torch.testing.assert_close(x, (y * 2).cuda())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.nn.Linear(4, 4).cuda()(torch.ones(2, 4, device="cuda")).dtype == torch.bfloat16
    assert triton.runtime.driver.active.get_current_target().arch == 90
    assert torch.cuda.get_device_capability() == (9, 0) and torch.cuda.current_stream().cuda_stream == 0

def test_registered_operations_see_the_gpu():
    seen = []
    library = torch.library.Library("suite_example", "DEF")
    library.define("negated(Tensor x) -> Tensor")
    library.impl("negated", lambda x: (seen.append(x.device.type), -x)[1], "CUDA")
    assert torch.ops.suite_example.negated(torch.ones(2, device="cuda")).tolist() == [-1, -1] and seen == ["cuda"]

def test_gradients_see_the_gpu():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            assert gradient.is_cuda and torch.ones(1, device="cuda").is_cuda
            return gradient * 2

    x = torch.ones(2, device="cuda", requires_grad=True)
    Twice.apply(x).sum().backward()
    assert torch.autograd.grad(Twice.apply(x).sum(), x)[0].tolist() == x.grad.tolist() == [2, 2]
"""


def test_cuda_on_the_cpu(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "test_program.py").write_text(PROGRAM)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(INSIDE), os.environ.get("PYTHONPATH", "")]),
        "EMULATED_OUT": str(tmp_path / "launches"),
        "TILEWRIGHT_INTERPRET": "1",
    }
    command = [sys.executable, "-m", "tilewright", "run", "-m", "pytest", "-q", "-p", "cuda_on_cpu", "-p", "emulated_launches"]
    ran = subprocess.run([*command, str(tmp_path)], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (line,) = map(json.loads, (tmp_path / "launches").read_text().splitlines())
    assert (line["kernel"], line["status"]) == ("twice", "same"), line
