# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright check`: an unmodified program, every launch of it checked."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from tilewright.checking.session import chosen_programs

KERNELS = """
import sys
import numpy as np
import triton, triton.language as tl

@triton.jit
def helper(x, o, n):
    return tl.load(x + o, o <= n)

@triton.jit
def past_the_end(x, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, helper(x, o, n), o < n)

@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])
@triton.jit
def right(x, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, 2 * tl.load(x + o, o < n), o < n)

@triton.jit
def with_assembly(x):
    tl.store(x, tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1))

n = 200
x, out = np.ones(n, np.float32), np.zeros(n, np.float32)

def run_right():
    right[lambda meta: (triton.cdiv(n, meta["BLOCK"]), )](x, out, n)
"""


@pytest.fixture
def check(tmp_path):

    def run(text, *options, arguments=(), **environment):
        path = tmp_path / "program.py"
        path.write_text(KERNELS + textwrap.dedent(text))
        return run_command(*options, path, *arguments, **environment)

    def run_command(*arguments, cwd="/", **environment):
        report = tmp_path / "report.json"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_") or k == "TILEWRIGHT_BUILD_DIR"}
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", "check", "--json", str(report), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=cwd,
            env={**kept, **environment},
        )
        done.report = json.loads(report.read_text()) if report.exists() else None
        return done

    run.command = run_command
    return run


def test_findings_are_collected_and_the_program_goes_on(check):
    done = check(
        """
        for _ in range(3):
            past_the_end[(2,)](x, out, n, BLOCK=128)
        run_right()
        print("end", out.sum(), sys.argv[1:])
    """,
        arguments=["--json", "file"],
    )
    assert done.returncode == 1
    assert done.stdout.split() == ["end", "400.0", "['--json',", "'file']"]
    (finding,) = done.report["findings"]
    assert (finding["code"], finding["kernel"], finding["program"]) == ("E0407", "past_the_end", [1, 0, 0])
    assert (finding["count"], finding["launches"], finding["launch"]) == (3, 3, 1)
    assert [f["function"] for f in finding["frames"]] == ["helper", "past_the_end"]
    assert finding["frames"][0]["source_line"] == "return tl.load(x + o, o <= n)"
    assert "4 launches of 2 kernels" in done.stderr and "1 finding" in done.stderr
    assert "seen 3 times in 3 launches, first in launch 1, program (1, 0, 0)" in done.stderr


def test_a_right_program_keeps_its_status(check):
    done = check("run_right(); sys.exit(int(sys.argv[1]))", arguments=["7"])
    assert done.returncode == 7 and done.report["findings"] == [] and "nothing found" in done.stderr
    # A tuned kernel runs one configuration, once.
    assert [r["grid"] for r in done.report["launches"]] == [[4, 1, 1]]
    assert check("run_right()").returncode == 0
    assert check("raise KeyError('x')").returncode == 1


def test_a_program_that_dies_has_told_what_it_found(check):
    done = check("""
        import os, signal
        past_the_end[(2,)](x, out, n, BLOCK=128)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert done.returncode == 1 and len(done.report["findings"]) == 1 and "signal 9" in done.stderr


def test_child_processes_are_checked(check):
    done = check("""
        import multiprocessing, os, subprocess
        def in_a_child():
            past_the_end[(2,)](x, out, n, BLOCK=128)
        if __name__ == "__main__":
            if len(sys.argv) > 1:
                in_a_child()
            else:
                run_right()
                subprocess.run([sys.executable, __file__, "child"], check=True)
                forked = multiprocessing.get_context("fork").Process(target=in_a_child)
                forked.start()
                forked.join()
    """)
    assert len({r["process"] for r in done.report["launches"]}) == 3
    (finding,) = done.report["findings"]
    assert finding["launches"] == 2 and "in 3 processes" in done.stderr


def test_only_and_limit(check):
    text = """
        past_the_end[(2,)](x, out, n, BLOCK=128)
        run_right()
    """
    done = check(text, "--only", "right", "--limit", "2")
    assert done.returncode == 0
    assert [(r["kernel"], r["status"], r["programs"]) for r in done.report["launches"]] == [
        ("past_the_end", "unchecked", 0),
        ("right", "cut", 2),
    ]
    assert "not checked: past_the_end, 1 launch: left out by --only" in done.stderr and "--limit" in done.stderr


def test_chosen_programs_are_spread_over_the_grid():
    assert chosen_programs((4, 2, 1), 0) is None and chosen_programs((4, 2, 1), 8) is None
    assert chosen_programs((4, 2, 1), 1) == [(0, 0, 0)]
    assert chosen_programs((4, 2, 1), 3) == [(0, 0, 0), (0, 1, 0), (3, 1, 0)]


def test_checks_are_those_of_the_command(check):
    text = """
        @triton.jit
        def divides(x, by):
            tl.store(x, tl.load(x).to(tl.int32) // by)
        divides[(1,)](x, 0)
        print("end")
    """
    assert check(text, "--check=-division").returncode == 0
    done = check(text, "--check", "division")
    assert done.returncode == 1 and "end" in done.stdout and len(done.report["findings"]) == 1
    done = check(text, "--check", "nothing")
    assert done.returncode == 1 and "[E0701]" in done.stderr and "end" not in done.stdout


def test_leaves_that_need_a_gradient_are_written_as_on_the_gpu(check):
    done = check("""
        import types
        sys.modules["torch"] = types.SimpleNamespace(is_grad_enabled=lambda: True)

        class Leaf:
            dtype, shape, device, requires_grad, is_leaf = "float32", (n,), "cpu", True, True
            data_ptr = staticmethod(lambda: out.ctypes.data)
            stride = staticmethod(lambda: (1,))

        past_the_end[(1,)](x, Leaf(), 128, BLOCK=128)
        print("end", out.sum())
    """)
    assert done.returncode == 0 and done.stdout.split() == ["end", "128.0"], done.stderr


def test_what_cannot_be_interpreted_is_said(check):
    done = check("""
        run_right()
        try:
            with_assembly[(1,)](np.zeros(1, np.int32))
        except Exception as error:
            print("raised", type(error).__name__)
    """)
    # Without a GPU the program meets the refusal, and the summary has it.
    assert "raised" in done.stdout and done.returncode == 0
    assert "failed: with_assembly, 1 launch: E0120: inline assembly" in done.stderr


def test_errors_of_the_language_reach_the_program(check):
    done = check("""
        @triton.jit
        def wrong(x):
            tl.store(x, tl.arrange(0, 4))
        try:
            wrong[(1,)](x)
        except triton.TritonError as error:
            print("caught", error.code)
    """)
    assert done.stdout.split() == ["caught", "E0104"] and done.returncode == 0


def test_pytest_is_run_as_a_module(check, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "test_it.py").write_text(
        "import kernels as k\n\ndef test_it():\n"
        "    k.past_the_end[(2,)](k.x, k.out, k.n, BLOCK=128)\n"
        "    assert k.triton.testing.do_bench(k.run_right) > 0\n"
    )
    done = check.command("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", cwd=tmp_path)
    assert "1 passed" in done.stdout and done.returncode == 1, done.stdout
    assert len(done.report["findings"]) == 1 and len(done.report["launches"]) == 2


def test_a_launch_returns_the_compiled_kernel(check):
    done = check(
        "kernel = right[(4,)](x, out, n)\nprint(kernel is not None)\n"
        "print(right.fn.warmup(triton.MockTensor(tl.float32), triton.MockTensor(tl.float32), n, BLOCK=64, "
        "grid=(1,)).asm['ptx'].count('.entry'))\n",
        TILEWRIGHT_OVERRIDE_ARCH="sm_80",
        TILEWRIGHT_CACHE="0",
    )
    assert done.stdout.split() == ["True", "1"], done.stderr


def test_nothing_to_run(check):
    for arguments, text in (((), "name a script"), (("-m",), "-m needs the name")):
        done = check.command(*arguments)
        assert done.returncode != 0 and text in done.stderr


def test_program_without_launches(check):
    done = check("print('nothing')")
    assert done.returncode == 0 and "nothing was checked, as the program launched no kernel" in done.stderr
