# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command: doctor, compile, run, knobs."""

import os
import subprocess
import sys
import textwrap

import pytest

import tilewright
from tilewright import kernel_arguments
from tilewright.cli import main


def command(*arguments, ok=True, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", *map(str, arguments)], capture_output=True, env={**os.environ, **environment}
    )
    assert (done.returncode == 0) == ok, done.stderr.decode()
    return done.stdout if ok else done.stderr.decode()


@pytest.fixture
def kernel_file(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        textwrap.dedent("""
        import triton
        import triton.language as tl

        @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
        @triton.jit
        def tuned(x, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(x + i, i, i < n)

        @triton.jit
        def fill(x, value, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + i, value, i < n)
    """)
    )
    return path


@pytest.mark.parametrize(
    "stage,needle", [("ptx", b".entry fill"), ("ir", b"func"), ("layout", b"func"), ("llir", b"define"), ("cubin", b"\x7fELF")]
)
def test_compile_without_a_gpu(kernel_file, stage, needle):
    if stage == "cubin" and b"nvJitLink was not found" in command("doctor"):
        pytest.skip("no assembler")
    output = command("compile", f"{kernel_file}:fill", "--signature", "*fp32:16,fp32,i32,1024", "--emit", stage)
    assert needle in output


@pytest.mark.parametrize("target,line", [("sm_80", b".target sm_80"), ("sm_90a", b".target sm_90a")])
def test_compile_for_targets(kernel_file, target, line):
    output = command("compile", f"{kernel_file}:fill", "-s", "*fp32,fp32,i32,64", "-t", target)
    assert line in output


def test_compile_writes_a_file_and_looks_through_the_tuner(kernel_file, tmp_path):
    out = tmp_path / "out.ptx"
    command("compile", f"{kernel_file}:tuned", "-s", "x=*i32,n=i32,BLOCK=64", "-o", out, "--num-warps", 2)
    assert ".reqntid 64" in out.read_text() or ".maxntid 64" in out.read_text()


@pytest.mark.parametrize(
    "kernel,signature,text",
    [
        ("fill", "*fp32,fp32,i32", "[E0205] missing argument 'BLOCK'"),
        ("fill", "*fp32,fp32,i32,64,5", "more entries in the signature than fill(x, value, n, BLOCK) has parameters"),
        ("fill", "x=*fp32,y=i32", "[E0205] unexpected argument 'y'"),
        ("nothing", "*fp32", "'nothing' is no jit function"),
        ("fill", "*fp32:4,fp32,i32,64", "'*fp32:4' ends in none of :16 or :8 (divisible by it) and :1 (equal to 1)"),
        ("fill", "*fp32:x,fp32,i32,64", "'*fp32:x' ends in none"),
        ("fill", "x=*fp32,x=*fp16,value=fp32,n=i32,BLOCK=64", "'x' is in the signature twice"),
        ("fill", "*fp32,fp32,i32,48", "InvalidShape[E0106] tile dimension 0 is 48"),
    ],
)
def test_compile_mistakes(kernel_file, kernel, signature, text):
    output = command("compile", f"{kernel_file}:{kernel}", "-s", signature, ok=False)
    assert text in output and "Traceback" not in output


@pytest.mark.parametrize("target", ["sm_70", "volta"])
def test_compile_for_what_is_no_target(kernel_file, target):
    output = command("compile", f"{kernel_file}:fill", "-s", "*fp32,fp32,i32,64", "-t", target, ok=False)
    first = output.splitlines()[0]
    assert first.startswith("UnsupportedTarget[E0306] '") and first.endswith(f"{target}' is no target of Tilewright")
    assert "supported: sm_80, sm_86, sm_89, sm_90, sm_90a" in output


def test_compile_for_a_newer_chip_says_what_it_makes(kernel_file):
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "compile", f"{kernel_file}:fill", "-s", "*fp32,fp32,i32,64", "-t", "sm_100"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "sm_100 is not known; this is code for sm_90" in done.stderr


def test_a_program_with_a_kernel_waits_for_no_names_of_triton():
    code = (
        "import sys, tilewright; tilewright.autotune([tilewright.Config({})], key=[]); tilewright.jit; "
        "print([name for name in ('tilewright.triton_alias', 'pathlib', 'importlib.util') if name in sys.modules])"
    )
    # -S: what starts with Python in this environment is no matter of the package's.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TILEWRIGHT_AS_TRITON": ""},
    )
    assert done.stdout == "[]\n", done.stderr


def test_prove_a_kernel_whose_file_imports_triton(kernel_file):
    pytest.importorskip("z3")
    output = command(
        "prove", f"{kernel_file}:fill", "--signature", "*fp32,fp32,i32,64", "--grid", "(n+63)//64", "--array", "x=n"
    )
    assert b"proved" in output


def test_compile_of_a_module_that_is_not_there():
    output = command("compile", "no.such.module:f", "-s", "*fp32", ok=False)
    assert output == "InvalidArgument[E0117] no module 'no.such.module'\n  help: the name of a file ends in .py\n"


@pytest.mark.parametrize("words", [["run"], ["check"], ["prove"], ["check", "--prove"], ["profile"]])
def test_programs_that_are_not_there(words, capsys):
    program = [] if words == ["prove"] else ["-m", "no_such_module"]
    for given, text in ((["nowhere.py"], "no file 'nowhere.py'"), (program, "no module 'no_such_module'")):
        if not given or "--prove" in words and given is program:  # it takes scripts alone
            continue
        with pytest.raises(SystemExit) as ended:
            main([*words, *given])
        assert ended.value.code == f"tilewright {words[0]}: {text}"


@pytest.mark.parametrize("words", [["compile"], ["explain"], ["prove", "-g", "1"]])
def test_kernels_that_commands_cannot_find(words, kernel_file, capsys):
    for kernel, signature, text in (
        (f"{kernel_file}:nothing", "i32", "'nothing' is no jit function"),
        (f"{kernel_file}:fill", "x=i32,x=i32", "'x' is in the signature twice"),
        ("nowhere.py:fill", "i32", "no file 'nowhere.py'"),
    ):
        assert main([*words, kernel, "--signature", signature]) == 1
        assert f"[E0117] {text}" in capsys.readouterr().err


def test_signatures():

    class constexpr:
        pass

    @tilewright.jit
    def f(a, b, c, D: constexpr, E: constexpr):
        pass

    assert kernel_arguments.parse_signature(f, "*fp32:16, i32:1, fp32, (1, 2), 'a,b'") == (
        {"a": "*fp32", "c": "fp32"},
        {"b": 1, "D": (1, 2), "E": "a,b"},
        {"a": 16},
    )
    assert kernel_arguments.parse_signature(f, "D=4, *fp32, i64:8, i32, E=None") == (
        {"a": "*fp32", "b": "i64", "c": "i32"},
        {"D": 4, "E": None},
        {"b": 8},
    )


def test_run_makes_triton_mean_tilewright(tmp_path):
    (tmp_path / "library.py").write_text("from triton.language import constexpr\nimport triton.runtime.jit as j\n")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import sys, os
        import library
        import triton, triton.language as tl, triton.testing
        import tilewright, tilewright.language
        assert triton.language is tilewright.language and triton.jit is tilewright.jit
        assert library.j is tilewright.runtime.jit and tl.constexpr is library.constexpr
        assert tilewright.language.__name__ == "tilewright.language"
        assert tuple(map(int, triton.__version__.split("."))) >= (3, 0)
        print(__name__, sys.argv[1:], triton.cdiv(5, 2))
    """)
    )
    assert command("run", script, "a", "--flag") == b"__main__ ['a', '--flag'] 3\n"
    assert (
        command("run", "-m", "script", "b", PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
        == b"__main__ ['b'] 3\n"
    )
    assert "no file" in command("run", tmp_path / "missing.py", ok=False)


def test_triton_kernels_run_unchanged(kernel_file, tmp_path):
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent("""
        import numpy as np
        from kernels import fill
        x = np.zeros(10, np.float32)
        fill[(3,)](x, 2.5, 9, BLOCK=4)
        print(x.tolist())
    """)
    )
    assert command("run", script) == b"[2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 0.0]\n"


def test_knobs_are_listed():
    output = command("knobs").decode()
    assert "TILEWRIGHT_INTERPRET" in output and "TILEWRIGHT_REMARKS" in output


def test_doctor():
    output = command("doctor").decode()
    for word in ("version", "Python", "assembler", "libdevice", "driver", "interpreter   ok", "compiler      ok"):
        assert word in output, output
    assert "FAILED" not in output


def test_doctor_says_what_brings_what_is_missing():
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "doctor"],
        capture_output=True,
        text=True,
        env={**os.environ, "TILEWRIGHT_NVJITLINK": "off"},
    )
    assert f"{sys.executable} -m pip install nvidia-nvjitlink  # machine code without a GPU" in done.stdout
    found = command("doctor").decode()
    if "nvJitLink was not found" not in found:
        assert "pip install nvidia-nvjitlink" not in found


def test_dump_of_named_steps(kernel_file):
    def dumped(names):
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", "compile", f"{kernel_file}:fill", "-s", "*fp32,fp32,i32,64"],
            capture_output=True,
            text=True,
            env={**os.environ, "TILEWRIGHT_DUMP": names},
        )
        assert done.returncode == 0
        return done.stderr

    assert dumped("assign-layouts").count("// ----- after") == 1 and "tw-assign-layouts" in dumped("tw-assign-layouts")
    unknown = dumped("layouts,frontend")
    assert "no step is called 'layouts'; there are all, frontend, " in unknown and "after frontend" in unknown
    assert dumped("") == dumped("0") == ""
