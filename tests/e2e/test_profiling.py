# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright profile`, its counts of work, and TILEWRIGHT_LOG=recompiles."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import warnings

import pytest
from harness.mock_driver import build, run_in_mock_process

import tilewright
import tilewright.language as tl
from tilewright import _core
from tilewright.profiler.work import Roof, amounts_of

HERE = pathlib.Path(__file__).parent


def test_recompilations_are_explained(tmp_path):
    code, output = run_in_mock_process(HERE / "mock" / "cases_recompiles.py", tmp_path)
    assert code == 0 and " passed" in output, output


@pytest.mark.parametrize("source", ["events", "cupti", "fails", "loses", "more"])
def test_launches_are_recorded(tmp_path, monkeypatch, source):
    monkeypatch.setenv("TILEWRIGHT_CUPTI_PATH", "off" if source == "events" else build(tmp_path, "MockCupti"))
    monkeypatch.setenv("MOCK_CUPTI", source)
    monkeypatch.setenv("NVTX_INJECTION64_PATH", build(tmp_path, "MockNvtx"))
    selected = {"fails": ["-k", "say_why"], "loses": ["-k", "lost"], "more": ["-k", "others"]}.get(source, [])
    code, output = run_in_mock_process(HERE / "mock" / "cases_launch_log.py", tmp_path, *selected)
    assert code == 0 and " passed" in output, output


# -- counts of the compiler -----------------------------------------------------------


@tilewright.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    m = pid // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    n = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        x = tl.load(a + m[:, None] * K + (i * BK + k)[None, :])
        y = tl.load(b + (i * BK + k)[:, None] * N + n[None, :])
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))


@tilewright.jit
def triangle(x, y, n, B: tl.constexpr):
    """Program p loads p + 1 blocks."""
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for j in range(0, (tl.program_id(0) + 1) * B, B):
        total += tl.load(x + j + i)
    if n > 3:
        tl.store(y + i, total)


@tilewright.jit
def data_dependent(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for j in range(0, tl.load(y)):
        total += tl.load(x + j * B + i)
    tl.store(x + i, tl.exp(total))


@tilewright.jit
def sums_of_sums(x, n, STEPS: tl.constexpr):
    first, second = tl.program_id(0), n
    for _ in tl.static_range(STEPS):
        first, second = second, first + second
    if second > 0:
        tl.store(x, 1.0)


def work_of(function, *signature, **constants):
    types = dict(zip(function.arg_names, signature))
    source = tilewright.ASTSource(function, types, constants)
    return tilewright.compile(source, "sm_90a").metadata.work


def test_conditions_that_share_values_are_given_up():
    """Written as a tree, the condition has a million parts after 30 steps."""
    short, long = (work_of(sums_of_sums, "*fp32", "i32", STEPS=steps) for steps in (4, 30))
    assert amounts_of(short, {"n": 1, "x": 4}, (2, 1, 1)).unknown == set()
    assert amounts_of(long, {"n": 1, "x": 4}, (2, 1, 1)).unknown == {"bytes"}
    assert len(long) < 1000 and len(work_of(sums_of_sums, "*fp32", "i32", STEPS=22)) < 1000


def test_a_product_is_counted():
    work = work_of(matmul, "*fp16", "*fp16", "*fp16", "i32", "i32", "i32", BM=64, BN=128, BK=32)
    amounts = amounts_of(work, {"M": 512, "N": 1024, "K": 200, "a": 512 * 200 * 2, "b": None, "c": None}, (64, 1, 1))
    trips = 7  # 200 / 32 rounded up
    assert amounts.products == {"f16": 64 * trips * 2 * 64 * 128 * 32} and amounts.elements == {}
    assert amounts.read == {"a": 64 * trips * 64 * 32 * 2, "b": 64 * trips * 32 * 128 * 2}
    assert amounts.written == {"c": 512 * 1024 * 2} and amounts.unknown == set()
    # Of what is asked for again the caches serve all but the array itself.
    assert amounts.least_bytes == 512 * 200 * 2 + amounts.read["b"] + amounts.written["c"]
    assert amounts.requested_bytes == sum(amounts.read.values()) + amounts.written["c"]


def test_trips_that_depend_on_the_program():
    work = work_of(triangle, "*fp32", "*fp32", "i32", B=128)
    amounts = amounts_of(work, {"n": 4}, (10, 1, 1))
    assert amounts.read == {"x": (10 * 11 // 2) * 512} and amounts.written == {"y": 10 * 512}
    assert amounts.elements == {"f32": (10 * 11 // 2) * 128}
    assert amounts_of(work, {"n": 3}, (10, 1, 1)).written == {"y": 0}, "the branch is not taken"
    assert amounts_of(work, {}, (10, 1, 1)).unknown == {"bytes"}, "n is not known"
    assert amounts_of(work, {"n": 4}, (1 << 25, 1, 1)).unknown == {"bytes", "operations"}


def test_what_only_the_kernel_knows_is_unknown():
    amounts = amounts_of(work_of(data_dependent, "*fp32", "*i32", B=128), {}, (3, 1, 1))
    assert amounts.unknown == {"bytes", "operations"} and amounts.requested_bytes is None
    assert amounts.written == {"x": 3 * 512} and amounts.elements == {"f32": 3 * 128}
    assert amounts_of(None, {}, (1, 1, 1)).unknown == {"bytes", "operations"}


def test_the_roof():
    rates = _core.peak_rates(90, 114, 1755000)
    assert rates["products8"] == pytest.approx(1513e12) and rates["products16"] == pytest.approx(1513e12 / 2)
    assert _core.peak_rates(80, 108, 1410000)["products16"] == 312e12
    assert _core.peak_rates(75, 40, 1410000)["elements32"] == 0
    roof = Roof(1e12, rates)
    amounts = amounts_of(json.dumps([{"what": "read", "parameter": "x", "amount": 10**9, "times": []}]), {}, (1, 1, 1))
    assert roof.least_seconds(amounts) == (1e-3, "memory")
    amounts.products["f16"] = 1513 * 10**12
    assert roof.least_seconds(amounts) == (pytest.approx(2.0), "compute")
    amounts.unknown.add("bytes")
    assert roof.least_seconds(amounts) is None


# -- the command ------------------------------------------------------------------------

SCRIPT = textwrap.dedent("""
    import sys
    import numpy as np
    import triton
    import triton.language as tl

    @triton.jit
    def double(x, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

    x = np.ones(100, np.float32)
    for _ in range(3):
        double[(4,)](x, 100, B=32)
    print("sum", x.sum(), sys.argv[1:])
    if "fail" in sys.argv:
        sys.exit(3)
""")


def run(tmp_path, *arguments, interpret="1", script=SCRIPT, **environment):
    (tmp_path / "script.py").write_text(script)
    full = {
        **os.environ,
        "TILEWRIGHT_INTERPRET": interpret,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-m", "tilewright", "profile", *arguments], cwd=tmp_path, env=full, capture_output=True, text=True
    )


def test_grid_functions_are_called_once():
    calls = []

    @tilewright.jit
    def nothing(x):
        pass

    with tilewright.knobs.runtime.scope():
        tilewright.knobs.runtime.interpret = True
        kernel = tilewright.jit(nothing.fn)

    def grid(meta):
        calls.append(meta["x"])
        return (2,)

    with warnings.catch_warnings(), tilewright.profiler.record() as profile:
        warnings.simplefilter("ignore")
        kernel[grid](7)
        with pytest.raises(ZeroDivisionError):
            kernel[lambda meta: (1 // 0,)](7)
    assert calls == [7] and [run.grid for run in profile.interpreted] == [(2, 1, 1)]


def test_cupti_is_not_asked_without_a_driver(tmp_path):
    """The library of CUDA 13.2 fills the stack then."""
    code = f"from tilewright import _core; print(_core.profile_start([{build(tmp_path, 'MockCupti')!r}], str, False))"
    environment = {**os.environ, "TILEWRIGHT_LIBCUDA_PATH": str(tmp_path / "none"), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "no CUDA driver was found\n", done.stderr


def test_a_program_in_the_interpreter(tmp_path):
    done = run(tmp_path, "--json", "p.json", "--trace", "t.json", "script.py", "--json", "7")
    assert done.returncode == 0 and "sum 800.0 ['--json', '7']" in done.stdout, done.stderr
    assert "W0713" in done.stderr and "the times are those of the interpreter on the CPU, not of a GPU" in done.stderr
    assert "3 launches" in done.stderr and "in the interpreter" in done.stderr
    profile = json.loads((tmp_path / "p.json").read_text())
    (row,) = profile["interpreter"]
    assert row["kernel"] == "double" and row["calls"] == 3 and row["seconds"] > 0 and profile["source"] == "interpreter"
    trace = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [event["name"] for event in trace if event["ph"] == "X"] == ["double"] * 3


CHILDREN = textwrap.dedent("""
    import multiprocessing, os, subprocess, sys
    import script

    if __name__ == "__main__":
        for method in ("spawn", "fork", "forkserver"):
            child = multiprocessing.get_context(method).Process(target=script.work, args=(2,))
            child.start()
            child.join()
        subprocess.run([sys.executable, "script.py", "child"], check=True)
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        sys.stdout.flush()
        if os.fork() == 0:
            script.work(3)
            sys.exit(0)  # as scripts end
        os.wait()
        subprocess.run([sys.executable, "script.py", "child"], check=True)
        script.work(1)
""")
WORKING = SCRIPT.partition("x = np.ones")[0] + textwrap.dedent("""
    def work(count):
        for _ in range(count):
            double[(4,)](np.ones(100, np.float32), 100, B=32)

    if "child" in sys.argv:
        work(4)
""")


def test_child_processes_tell_what_they_launched(tmp_path):
    (tmp_path / "children.py").write_text(CHILDREN)
    done = run(tmp_path, "--json", "p.json", "--trace", "t.json", "children.py", script=WORKING)
    assert done.returncode == 0, done.stderr
    profile = json.loads((tmp_path / "p.json").read_text())
    assert [row["calls"] for row in profile["interpreter"]] == [1], "the program's own"
    calls = [[row["calls"] for row in process["interpreter"]] for process in profile["processes"]]
    assert calls == [[2], [2], [2], [4], [3], [4]], (
        "spawn, fork, forkserver, a program, a fork, a program; one launched nothing"
    )
    last = profile["processes"][-1]
    assert last["command"] == ["script.py", "child"]
    assert done.stderr.count("launches in") == 7 and f"process {last['process']}, script.py child\n4 launches" in done.stderr
    trace = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    slices = [event for event in trace if event["ph"] == "X"]
    assert len(slices) == 18 and len({event["pid"] for event in slices}) == 7
    own = min(event["ts"] for event in slices if event["pid"] == 0)
    assert all(0 < event["ts"] < own for event in slices if event["pid"]), "the children ran before"


def test_modules_and_programs_that_fail(tmp_path):
    done = run(tmp_path, "-m", "script", "fail")
    assert done.returncode == 3 and "3 launches" in done.stderr


def test_without_a_gpu_it_says_so(tmp_path):
    done = run(tmp_path, "script.py", interpret="0", TILEWRIGHT_LIBCUDA_PATH="/nowhere")
    assert done.returncode == 1 and "E0710" in done.stderr and "TILEWRIGHT_INTERPRET=1" in done.stderr
    assert "'tilewright profile' needs a GPU: no CUDA driver, or no GPU that it shows" in done.stderr


@pytest.mark.parametrize("arguments, text", [((), "name a script"), (("-m",), "-m needs the name of a module")])
def test_a_program_must_be_named(tmp_path, arguments, text):
    done = run(tmp_path, *arguments)
    assert done.returncode == 1 and text in done.stderr


def test_on_the_recording_driver(tmp_path):
    """Compiled for real, launched on a driver that runs nothing, timed by events."""
    script = tmp_path / "gpu.py"
    script.write_text(
        textwrap.dedent("""
        import tilewright, tilewright.language as tl
        from harness.mock_driver import FakeTensor

        @tilewright.jit
        def double(x, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(x + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

        for _ in range(3):
            double[(4,)](FakeTensor(), 100, B=128)
    """)
    )
    done = run(
        tmp_path,
        "--json",
        "p.json",
        "gpu.py",
        interpret="0",
        TILEWRIGHT_LIBCUDA_PATH=build(tmp_path),
        TILEWRIGHT_CUPTI_PATH="off",
        TILEWRIGHT_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "p.json").read_text())["kernels"]
    assert row["calls"] == row["timed"] == 3 and row["requested_bytes"] == 3 * 4 * 128 * 4 * 2
    assert row["operations"] == 3 * 4 * 128 and row["mean_seconds"] == pytest.approx(1e-3)
    assert row["compile_seconds"] > 0 and row["unknown"] == []
