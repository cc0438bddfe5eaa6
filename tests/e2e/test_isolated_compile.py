# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TILEWRIGHT_COMPILE=isolated: what happens to the worker is an error here, and results are those of compiling here."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import pytest

import tilewright
import tilewright.language as tl
from harness.mock_driver import build
from tilewright import _core, errors, knobs
from tilewright.compiler import isolated


@tilewright.jit
def shifted(x_ptr, out_ptr, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + SHIFT, mask=offsets < n)


@tilewright.jit
def product(a_ptr, b_ptr, c_ptr, k, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        a = tl.load(a_ptr + rows * k + start + columns)
        b = tl.load(b_ptr + (start + rows) * BLOCK + columns)
        total += tl.dot(a, b)
    tl.store(c_ptr + rows * BLOCK + columns, total)


def compile_shifted(shift=1.5, **options):
    source = tilewright.ASTSource(shifted, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"SHIFT": shift, "BLOCK": 128})
    return tilewright.compile(source, "sm_90a", {"num_warps": 2, **options})


def compile_product(block=64, **options):
    source = tilewright.ASTSource(
        product,
        {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"},
        {"BLOCK": block},
        {"a_ptr": 16, "b_ptr": 16, "c_ptr": 16, "k": 16},
    )
    return tilewright.compile(source, "sm_90a", options)


@pytest.fixture(autouse=True)
def isolation(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_COMPILE", "isolated")
    monkeypatch.setenv("TILEWRIGHT_REPRODUCER_DIR", str(tmp_path))
    yield tmp_path
    isolated._close_all()


def workers():
    return {worker.child.process.pid for worker in isolated._idle}


# ---------------------------------------------------------------------------
# The same results
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("compile_it", [compile_shifted, compile_product])
def test_same_kernel(monkeypatch, compile_it):
    there = compile_it()
    assert len(workers()) == 1
    monkeypatch.delenv("TILEWRIGHT_COMPILE")
    here = compile_it()
    for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        assert there.asm.get(stage) == here.asm.get(stage), stage
    assert there.metadata._asdict() == here.metadata._asdict()
    assert there.remarks == here.remarks and set(there.step_seconds) == set(here.step_seconds)


def test_errors_of_kernels_cross(monkeypatch):
    def message():
        with pytest.raises(errors.OutOfResources) as info:
            compile_product(512, num_stages=6)
        assert info.value.code == "E0301" and info.value.required > info.value.limit
        return str(info.value)

    there = message()
    monkeypatch.delenv("TILEWRIGHT_COMPILE")
    assert there == message()


def test_workers_are_kept_and_see_switches_as_they_are_now(monkeypatch, capfd):
    compile_shifted()
    before = workers()
    monkeypatch.setenv("TILEWRIGHT_DUMP", "assign-layouts")
    compile_shifted(2.5)
    assert "// ----- after tw-assign-layouts -----//" in capfd.readouterr().err
    monkeypatch.delenv("TILEWRIGHT_DUMP")
    compile_shifted(3.5)
    assert capfd.readouterr().err == "" and workers() == before


def test_worker_that_died_while_it_was_idle():
    compile_shifted()
    (pid,) = workers()
    os.kill(pid, 9)
    isolated._idle[0].child.process.wait()
    assert compile_shifted(2.5).asm["ptx"] and pid not in workers()


def test_worker_of_a_program_with_many_open_files():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] not in (resource.RLIM_INFINITY,) and limits[1] < 1200:
        pytest.skip("no more than 1,200 files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 1200), limits[1]))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1050)]
    worker = None
    try:
        worker = isolated._Worker(0)
        assert worker.child.process.stdout.fileno() > 1024
    finally:
        if worker is not None:
            worker.close()
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_threads_have_workers_of_their_own():
    done = []
    threads = [threading.Thread(target=lambda s=s: done.append(compile_shifted(s))) for s in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({kernel.asm["ptx"] for kernel in done}) == 3 and 1 <= len(workers()) <= 3


def test_wrong_mode(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_COMPILE", "elsewhere")
    with pytest.raises(errors.ConfigError, match=r"\[E0701\] TILEWRIGHT_COMPILE='elsewhere': expected 'isolated', or nothing"):
        compile_shifted()


def test_nothing_of_it_is_imported_otherwise():
    code = textwrap.dedent(f"""
        import sys
        sys.path[:] = {sys.path!r}
        import tilewright, tilewright.selftest
        tilewright.selftest.compile_for("sm_90a")
        assert "tilewright.compiler.isolated" not in sys.modules and "tilewright.child_process" not in sys.modules
    """)
    environment = {name: value for name, value in os.environ.items() if name != "TILEWRIGHT_COMPILE"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# ---------------------------------------------------------------------------
# The worker's end
# ---------------------------------------------------------------------------

CONFIGURATION = "SHIFT=1.5, BLOCK=128, num_warps=2, num_stages=3"


@pytest.mark.parametrize("kind, how", [("abort", "SIGABRT"), ("segfault", "SIGSEGV")])
def test_crash(monkeypatch, isolation, kind, how):
    monkeypatch.setenv("TILEWRIGHT_TEST_FAULT", f"{kind}@tw-insert-barriers")
    with pytest.raises(errors.InternalError) as info:
        compile_shifted()
    error = info.value
    assert error.code == "E0901"
    assert error.message.startswith(
        f"the worker process that compiled 'shifted' was ended by {how} in tw-test-fault; configuration: {CONFIGURATION}"
    )
    path = pathlib.Path(re.search(r"'tilewright repro (.+)'$", error.help)[1])
    assert path.parent == isolation and path.name.startswith("shifted-tw-test-fault-")
    assert "tw.scratch_offset" in path.read_text().split("// -----")[0] or "tw.shared_bytes" in path.read_text()
    # The command shows the same error, and ends as a command does.
    done = subprocess.run([sys.executable, "-m", "tilewright", "repro", str(path)], capture_output=True, text=True)
    assert done.returncode == 1 and f"was ended by {how} in tw-test-fault" in done.stderr
    monkeypatch.delenv("TILEWRIGHT_TEST_FAULT")
    assert compile_shifted().asm["ptx"]


def test_crash_can_be_reduced(monkeypatch, isolation):
    monkeypatch.setenv("TILEWRIGHT_TEST_FAULT", "abort@tw-allocate-shared")
    with pytest.raises(errors.InternalError) as info:
        compile_shifted()
    path = re.search(r"'tilewright repro (.+)'$", info.value.help)[1]
    done = subprocess.run([sys.executable, "-m", "tilewright", "repro", path, "--reduce"], capture_output=True, text=True)
    before, after = map(int, re.search(r"(\d+) operations became (\d+)", done.stdout).groups())
    assert after < before


def test_loop_without_end(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TEST_FAULT", "loop@tw-assign-layouts")
    monkeypatch.setenv("TILEWRIGHT_COMPILE_TIMEOUT", "1")
    started = time.monotonic()
    with pytest.raises(errors.CompileTimeout, match=r"\[E0305\] compiling exceeded 1 s in stage tw-test-fault") as info:
        compile_shifted()
    assert time.monotonic() - started < 30 and f"compiling 'shifted' with {CONFIGURATION}" in str(info.value)
    assert "reproducer written to " in info.value.help


def test_memory_without_end(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TEST_FAULT", "grow@tw-assign-layouts")
    monkeypatch.setenv("TILEWRIGHT_COMPILE_MEMORY_MB", "2048")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # it reserves memory for each
    with pytest.raises(errors.InternalError, match=r"\[E0901\].* when it had taken \d+ of 2048 MiB in tw-test-fault"):
        compile_shifted()
    # And the limit holds an ordinary compilation.
    monkeypatch.delenv("TILEWRIGHT_TEST_FAULT")
    assert compile_shifted().asm["ptx"]


def test_worker_that_cannot_start(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        errors.InternalError, match=r"\[E0901\] the worker process that compiled 'shifted' could not be started"
    ):
        compile_shifted()


# ---------------------------------------------------------------------------
# The front end's end
# ---------------------------------------------------------------------------


def end_of_front_end():
    """What the walk of the kernel below runs into; a test puts something else here."""


@tilewright.constexpr_function
def walked():
    print("walked")
    warnings.warn("met", UserWarning, stacklevel=1)
    end_of_front_end()
    return 1


@tilewright.jit
def walks(out_ptr):
    tl.store(out_ptr, walked())


def compile_walks():
    return tilewright.compile(tilewright.ASTSource(walks, {"out_ptr": "*i32"}, {}), "sm_90a", {"num_warps": 2})


@pytest.mark.parametrize("number, how", [(signal.SIGSEGV, "was ended by SIGSEGV"), (0, "ended with status 3")])
def test_crash_of_front_end(monkeypatch, number, how):
    monkeypatch.setitem(globals(), "end_of_front_end", lambda: os.kill(os.getpid(), number) if number else os._exit(3))
    message = rf"\[E0901\] the worker process that compiled 'walks' {how} in frontend"
    with pytest.raises(errors.InternalError, match=message) as info:
        compile_walks()
    assert info.value.help.endswith("the kernel and its arguments reproduce it, as the front end reads Python's objects")
    monkeypatch.undo()
    monkeypatch.setenv("TILEWRIGHT_COMPILE", "isolated")
    assert compile_walks().asm["ptx"]


def test_front_end_without_end(monkeypatch):
    monkeypatch.setitem(globals(), "end_of_front_end", lambda: time.sleep(100))
    monkeypatch.setenv("TILEWRIGHT_COMPILE_TIMEOUT", "0.5")
    started = time.monotonic()
    with pytest.raises(errors.CompileTimeout, match=r"\[E0305\] compiling exceeded 0.5 s in stage frontend"):
        compile_walks()
    assert time.monotonic() - started < 30


def test_rehearsal_is_not_seen(monkeypatch, capfd):
    before = set(os.listdir("/proc/self/fd"))
    with pytest.warns(UserWarning, match="met") as met:
        compile_walks()
    assert len(met) == 1 and capfd.readouterr() == ("walked\n", "")
    isolated._close_all()
    assert set(os.listdir("/proc/self/fd")) == before

    def fail():
        raise ValueError("no")

    monkeypatch.setitem(globals(), "end_of_front_end", fail)
    with pytest.raises(errors.TilewrightError, match="no"), pytest.warns(UserWarning, match="met"):
        compile_walks()
    assert capfd.readouterr() == ("walked\n", "")


# ---------------------------------------------------------------------------
# The tuner
# ---------------------------------------------------------------------------

TUNE = """
    import sys
    sys.path[:] = {path!r}
    import tilewright
    import tilewright.language as tl
    from harness.mock_driver import FakeTensor
    from tilewright import errors

    @tilewright.autotune(configs=[tilewright.Config({{"BLOCK": b}}) for b in (64, 128)], key=[])
    @tilewright.jit
    def kernel(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 1.0)

    try:
        kernel[(1,)](FakeTensor())
    except errors.NoValidConfig as error:
        print(error)
"""


def test_tuner_isolates_after_a_crash(isolation):
    """The first process is lost; the next one compiles in workers, and says of each configuration what it did."""
    script = isolation / "tune.py"
    script.write_text(textwrap.dedent(TUNE.format(path=sys.path)))
    environment = {
        **os.environ,
        "TILEWRIGHT_LIBCUDA_PATH": str(build(isolation)),
        "TILEWRIGHT_CACHE": "1",
        "TILEWRIGHT_CACHE_DIR": str(isolation / "cache"),
        "TILEWRIGHT_TEST_FAULT": "abort@tw-insert-barriers",
    }
    del environment["TILEWRIGHT_COMPILE"]
    first = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert first.returncode == -6, first.stderr
    for _ in range(2):  # and so does the one after it
        again = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
        assert again.returncode == 0, again.stderr
        for block in (64, 128):
            assert re.search(
                rf"BLOCK: {block}.*failed: .*\[E0901\] the worker process that compiled 'kernel' was ended by "
                rf"SIGABRT in tw-test-fault; configuration: BLOCK={block}, num_warps=",
                again.stdout,
            ), again.stdout
    # Mended, it works.
    environment["TILEWRIGHT_TEST_FAULT"] = ""
    mended = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert mended.returncode == 0 and mended.stdout == "", mended.stdout + mended.stderr


def test_one_thread_asks_for_itself(monkeypatch):
    from tilewright.compiler.options import is_isolated, must_isolate

    monkeypatch.delenv("TILEWRIGHT_COMPILE")
    token = must_isolate.set(True)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(is_isolated()))
    thread.start()
    thread.join()
    assert is_isolated() and seen == [False]
    must_isolate.reset(token)
    assert not is_isolated() and knobs.compilation.mode is None
    assert _core.pipeline_passes()
