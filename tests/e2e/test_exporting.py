# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels exported as a C library: a program without Python launches them as Python would.

The library of data/exported/ops.json is compiled with a program that stands beside it. Against the
recording driver its launches are compared with those of the same kernels from Python, byte by byte;
on a GPU, its results.
"""

import json
import os
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest

from harness import devices, mock_driver
from harness.exported import compile_c
from tilewright import cli, errors
from tilewright.exporting.grid import Grid
from tilewright.exporting import c_library, requests
from tilewright.exporting.c_parameters import identifier
from tilewright.exporting.command import export_command

DATA = mock_driver.ROOT / "tests" / "e2e" / "data" / "exported"
TUTORIALS = mock_driver.ROOT / "tutorials"


def export(*arguments):
    assert cli.main(["export", *map(str, arguments)]) == 0


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with the library, the program, and the recording driver under the real one's name."""
    folder = tmp_path_factory.mktemp("exported")
    compiler = shutil.which("c++") or shutil.which("clang++-19")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE", "1")
        patch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "export-cache"))
        patch.delenv("TILEWRIGHT_INTERPRET", raising=False)
        export(DATA / "ops.json", "-o", folder / "ops")
    compile_c(folder / "ops" / "ops.c", folder / "ops.o", "-c")
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{folder / 'ops'}",
            str(DATA / "program.cpp"),
            str(folder / "ops.o"),
            "-o",
            str(folder / "program"),
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    (folder / "driver").mkdir()
    shutil.copy(mock_driver.build(folder), folder / "driver" / "libcuda.so.1")
    return folder


def run(folder, *arguments, check=True, **environment):
    """What the program prints; against the recording driver."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "driver"), **environment}
    done = subprocess.run(
        [str(folder / "program"), *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.stdout.splitlines()


def statuses(lines):
    """{what was tried: (number, the refusal in full)}."""
    found = {}
    for line in lines:
        what, separator, rest = line.partition(": ")
        if separator and " | " in rest:
            number, _, refusal = rest.partition(" ")
            found[what] = (int(number), refusal.partition(" | ")[2])
    return found


@pytest.fixture(scope="module")
def recorded(exported):
    return run(exported, "record")


def test_launches_are_those_of_python(exported, recorded, tmp_path_factory):
    folder = exported / "recorded"
    folder.mkdir()
    launches = [line for line in recorded if line.startswith("launch ")]
    (folder / "launches.txt").write_text("\n".join(launches[:5]))
    environment = {
        "EXPORTED_LAUNCHES": str(folder / "launches.txt"),
        "TILEWRIGHT_CACHE": "1",
        "TILEWRIGHT_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "export-cache"),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        code, output = mock_driver.run_in_mock_process(
            mock_driver.ROOT / "tests" / "e2e" / "mock" / "cases_exporting.py", folder
        )
    assert code == 0, output
    assert "5 passed" in output


def test_variants_and_streams(recorded):
    said = statuses(recorded)
    assert all(said[name] == (0, "") for name in ("odd", "second", "again", "scratch", "load"))
    odd, second, again, scratch = [line.split() for line in recorded if line.startswith("launch ")][5:]
    # Name, grid, threads, shared memory, stream: the general signature, the other configuration.
    assert odd[:6] == ["launch", "add_kernel", "1", "1", "1", "256"] and odd[-1].endswith("e9030000")
    assert second[2:8] == ["385", "1", "1", "128", "0", "16"]
    assert again[1:] == next(line.split() for line in recorded if "host_descriptor" in line)[1:]
    assert "encoded 0" in recorded  # the maps of the first launch served again
    # A piece of memory for the map, after the other parameters.
    assert scratch[1] == "grouped" and len(scratch[-1]) == 2 * (8 + 8 + 4 + 8) and int(scratch[-1][-16:], 16) != 0


@pytest.mark.parametrize(
    "what, number, words",
    [
        ("no context", 10009, "the thread has no current CUDA context: call cudaSetDevice"),
        ("misaligned", 10001, "a_ptr is 0x10005000002, no multiple of 16 bytes"),
        ("misaligned tensor", 10001, "matmul: a_desc.data is 0x10005000008, no multiple of 16 bytes"),
        ("not divisible", 10002, "N is 60, no multiple of 16"),
        ("extent", 10004, "the last extent of a_desc is 509, and a multiple of 16 bytes is promised"),
        ("negative extent", 10004, "a_desc.shape[0] is -1, and must be from 0 to 2147483647"),
        ("stride", 10004, "a_desc.strides[0] is 516, and must be from 0 to 2^40 and a multiple of 16, in bytes"),
        ("last stride", 10004, "the last stride of a_desc is 2, and must be 1"),
        ("null", 10004, "a_desc is NULL"),
        ("empty tensor", 10004, "a_desc.shape[0] is 0, and a tensor map has elements"),
        ("same array", 10005, "a_desc and c_desc are the same array"),
        ("negative grid", 10006, "a grid of -4 x 1 x 1 programs"),
        ("large grid", 10006, "a grid of 1 x 70000 x 1 programs"),
        ("configuration", 10011, "there is no configuration 7"),
        ("driver", 700, "an illegal memory access was encountered"),
        ("encoding", 1, "a_desc: mock"),
        ("memory", 2, "cuMemAllocAsync: mock"),
        ("empty grid", 0, ""),
    ],
)
def test_refusals(recorded, what, number, words):
    status, refusal = statuses(recorded)[what]
    assert status == number and words in refusal


def test_what_is_refused_launches_nothing(recorded):
    assert "launched 0" in recorded


def test_many_threads_and_unloading(recorded):
    assert "threads 1600" in recorded
    assert "unloaded 8, loaded 9" in recorded  # the variants that the first context had launched; all of them


def test_contexts_that_were_unloaded_make_room(recorded):
    assert "contexts in turn 200" in recorded
    number, refusal = statuses(recorded)["too many contexts"]
    assert number != 0 and "64 contexts have launched kernels of this library" in refusal


@pytest.mark.parametrize("capability, shared", [(80, "114688"), (89, "114688"), (120, "114736")])
def test_other_gpus(exported, capability, shared):
    """Machine code for the family, and PTX for what is newer: of PTX the driver does not record parameters."""
    lines = run(exported, "record", MOCK_CAPABILITY=str(capability))
    matmul = next(line.split() for line in lines if line.startswith("launch host_descriptor"))
    assert matmul[5:7] == ["256", shared]
    if capability < 90:
        assert len(matmul[-1]) == 2 * (3 * (8 + 2 * 4 + 2 * 8) + 3 * 4)  # base, extents, strides; three numbers
        assert "encoded 0" in lines
    assert len(matmul) == (12 if capability == 120 else 13)


def test_no_code_for_an_older_gpu(exported):
    said = statuses(run(exported, "record", check=False, MOCK_CAPABILITY="75"))
    assert said["add"] == (10007, "add: no code for a GPU of capability 7.5; export it for one more target")


def test_without_a_driver(exported, tmp_path):
    said = statuses(run(exported, "record", check=False, LD_LIBRARY_PATH=str(tmp_path)))
    number, refusal = said["no context"]
    if number != 10009:  # a machine with a driver of its own
        assert number == 10008 and "libcuda.so.1 cannot be opened" in refusal


def test_as_a_part_of_a_cmake_project(exported, tmp_path):
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("no CMake")
    commands = (
        ["cmake", "-G", "Ninja", "-S", str(DATA), "-B", str(tmp_path), f"-DEXPORTED={exported / 'ops'}"],
        ["cmake", "--build", str(tmp_path)],
    )
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([str(tmp_path / "program")], check=False)
    assert done.returncode == 2  # it wants to be told what to do


# ---------------------------------------------------------------------------
# What cannot be exported
# ---------------------------------------------------------------------------

ADD = f"{TUTORIALS / '01_vector_add.py'}:add_kernel"
SIGNATURE = "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=256"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((ADD.replace("add_kernel", "nothing"), "-s", SIGNATURE), "[E0117] 'nothing' is no jit function"),
        (("no_file.py:add", "-s", SIGNATURE), "[E0117] no file 'no_file.py'"),
        (("add", "-s", SIGNATURE), "[E0117] 'add' is not of the form FILE:FUNCTION"),
        ((ADD,), "[E0117] 'add_kernel' has no signature"),
        ((ADD, "-s", "*fp32,i32"), "[E0205] missing argument 'out_ptr'"),
        ((ADD, "-s", SIGNATURE + ",7"), "[E0117] more entries in the signature than add_kernel("),
        ((ADD, "-s", SIGNATURE.replace("i32", "fp16")), "[E0117] the parameter 'n' of type fp16 has no C type"),
        ((ADD, "-s", SIGNATURE.replace("*fp32:16,", "tensordesc<fp32[3]>,", 1)), "[E0215]"),
        ((ADD, "-s", SIGNATURE.replace("*fp32:16,", "tensordesc<fp32>,", 1)), "[E0215]"),
        ((ADD, "-s", SIGNATURE, "-t", "sm_95"), "[E0306] 'sm_95' is no target that code can be exported for"),
        ((ADD, "-s", SIGNATURE, "-t", ","), "[E0306] no target to export code for"),
        ((ADD, "-s", SIGNATURE, "-c", "BLOKC=2"), "[E0117] 'BLOKC' of a configuration is neither a parameter of add_kernel("),
        ((ADD, "-s", SIGNATURE, "-c", "n=2"), "[E0117] 'n' is in the signature and in a configuration"),
        (
            (ADD, "-s", SIGNATURE[:-10], "-c", "BLOCK=128", "-c", "BLOCK=256"),
            "[E0117] 'add_kernel' has several configurations and no grid",
        ),
        ((ADD, "-s", SIGNATURE, "-s", SIGNATURE.replace("i32", "i64")), "[E0117] signatures give 'n' the types i32 and i64"),
        (
            (ADD, "-s", SIGNATURE, "-s", SIGNATURE.replace("i32", "2.5")),
            "[E0117] signatures give 'n' the type i32 and the constant 2.5",
        ),
        ((ADD, "-s", SIGNATURE, "-g", "cdiv(n, BLOCK), m"), "'m' is no integer that the launch knows"),
        ((ADD, "-s", SIGNATURE, "-g", "1,1,1,1"), "it has 4 axes"),
        ((ADD, "-s", SIGNATURE, "-g", "n +"), "it is no expression"),
        ((ADD, "-s", SIGNATURE, "--num-warps", "3"), "[E0209]"),
    ],
)
def test_mistakes(arguments, words, tmp_path, capsys):
    assert cli.main(["export", *arguments, "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert words in error and ("help: " in error or "E0205" in error)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments, sentence, help",
    [
        (
            (ADD, "-s", SIGNATURE, "-g", "n if n else 1"),
            "the grid 'n if n else 1' cannot be exported: 'n if n else 1' is none of its forms",
            "use integer parameters, constants, x.shape[0] of a descriptor, multiprocessors, + - * // %, cdiv, min and max: "
            '"cdiv(n, BLOCK), heads"',
        ),
        (
            (ADD, "-s", SIGNATURE, "-g", "2 * cdiv(n)"),
            "the grid '2 * cdiv(n)' cannot be exported: 'cdiv(n)' is none of its forms",
            "use integer parameters, constants, ",
        ),
        (
            (ADD, "-s", SIGNATURE.replace("i32", "(i32,i32)")),
            "the parameter 'n' is a tuple, which C has not",
            "give its elements as parameters of their own",
        ),
    ],
)
def test_mistakes_and_what_helps(arguments, sentence, help, tmp_path):
    refused(arguments, sentence, help, tmp_path)


@pytest.mark.parametrize("axis, reason", [("2", "'x' has the axes 0 to 1"), ("-1", "'x.shape[-1]' is none of its forms")])
def test_a_grid_names_axes_that_there_are(axis, reason):
    assert Grid("x.shape[1]", [], {"x": 2}, []).as_c({}, {"x": "x"}, "state") == ["x->shape[1]", "1", "1"]
    with pytest.raises(errors.TilewrightError) as caught:
        Grid(f"x.shape[{axis}]", [], {"x": 2}, [])
    assert caught.value.message == f"the grid 'x.shape[{axis}]' cannot be exported: {reason}"


def refused(arguments, sentence, help, folder):
    """Exports nothing, and says why and what to do."""
    with pytest.raises(errors.TilewrightError, match=r"\[E0117\]") as caught:
        export_of(*arguments, folder)
    assert caught.value.message == sentence and caught.value.help.startswith(help)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "more",
    [("-s", SIGNATURE), ("-g", "1"), ("-c", "BLOCK=64"), ("--tuned",), ("--num-warps", "2"), ("--option", "launch_pdl=True")],
)
def test_a_file_of_kernels_says_all(more, tmp_path):
    (tmp_path / "kernels.json").write_text(json.dumps({"kernels": [{"kernel": ADD, "signature": SIGNATURE}]}))
    refused(
        (tmp_path / "kernels.json", *more),
        "a file of kernels has its signatures, grids, configurations and options in it",
        "write what -s, -g, -c, --tuned and options of a launch say into the file",
        tmp_path,
    )


@pytest.mark.parametrize(
    "text, sentence, help",
    [
        (
            "{",
            "kernels.json is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            "see docs/exporting.md for an example",
        ),
        ("[]", "the file is no JSON object", "give it the fields kernels, name, targets"),
        ('{"kernel": []}', "the file has a field 'kernel'", "the fields are kernels, name, targets"),
        (
            '{"kernels": []}',
            "kernels.json names no kernels",
            '"kernels": [{"kernel": "kernels.py:add", "signature": "*fp32,i32"}]',
        ),
        (
            '{"kernels": [{"kernel": "a.py:f"}]}',
            "a kernel of the file names no 'kernel' or no 'signature'",
            '"kernel": "kernels.py:add", "signature": "*fp32:16,*fp32:16,i32"',
        ),
        (
            '{"kernels": [{"kernel": "a.py:f", "signature": "i32", "grids": ""}]}',
            "a kernel of the file has a field 'grids'",
            "the fields are configurations, grid, kernel, name, options, signature, tuned",
        ),
    ],
)
def test_files_that_name_no_kernels(text, sentence, help, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.json").write_text(text)
    refused(("kernels.json",), sentence, help, tmp_path)


@pytest.mark.parametrize("names", [("add", "add"), ("out_load",), ("add", "add_with")])
def test_two_functions_of_one_name(names, tmp_path):
    kernels = [{"kernel": ADD, "signature": SIGNATURE, "name": name} for name in names]
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps({"kernels": kernels}))
    with pytest.raises(errors.TilewrightError, match=rf"\[E0117\] two functions of the library would be called '{names[-1]}'"):
        export_of(path, tmp_path)


def test_names_that_c_does_not_have():
    assert [identifier(name) for name in ("add", "double", "9", "größe", "a.b")] == ["add", "double_", "_9", "gr__e", "a_b"]


def export_of(*arguments):
    *arguments, folder = map(str, arguments)
    return export_command(cli._parser().parse_args(["export", *arguments, "-o", os.path.join(folder, "out")]))


# ---------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------

PAGE = (mock_driver.ROOT / "docs" / "exporting.md").read_text()


def test_the_first_export_of_the_page(tmp_path, monkeypatch):
    command = shlex.split(re.search(r"^tilewright (export .*)$", PAGE, re.MULTILINE)[1])
    program = re.search(r"```c\n(.*?)```", PAGE, re.DOTALL)[1]
    monkeypatch.chdir(mock_driver.ROOT)
    monkeypatch.delenv("TILEWRIGHT_INTERPRET", raising=False)
    export(*command[1:-1], tmp_path / command[-1])
    (tmp_path / "program.c").write_text(program)
    compile_c(tmp_path / "program.c", tmp_path / "program.o", "-c", f"-I{tmp_path / 'ops'}")


def test_the_file_of_the_page_and_its_codes(tmp_path):
    text = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "kernels.json").write_text(text)
    name, targets, kernels = requests.read_file(tmp_path / "kernels.json")
    assert (name, targets, [kernel.name for kernel in kernels]) == ("ops", "sm_80,sm_90a", ["softmax", "add"])
    declared = dict(re.findall(r"\b(TW_\w+) = (1\d{4})", c_library.template("types.h.in")))
    assert dict(re.findall(r"^\| `(TW_\w+)` (\d+) \|", PAGE, re.MULTILINE)) == declared and len(declared) == 12


# ---------------------------------------------------------------------------
# On a GPU
# ---------------------------------------------------------------------------


def inputs(folder):
    """The program's inputs, as files too."""
    rng = np.random.default_rng(0)
    shapes = {
        "x": (98432,),
        "y": (98432,),
        "scores": (300, 1000),
        "a": (1024, 512),
        "b": (512, 1024),
        "q": (4, 512, 64),
        "k": (4, 512, 64),
        "v": (4, 512, 64),
    }
    arrays = {
        name: rng.standard_normal(shape).astype(np.float32 if name in ("x", "y", "scores") else np.float16)
        for name, shape in shapes.items()
    }
    for name, array in arrays.items():
        array.tofile(folder / name)
    return arrays


def results_of_python(arrays):
    """The same kernels launched from Python."""
    import torch

    from tilewright.kernel_arguments import load_function
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    def kernel(name):
        return load_function(str(TUTORIALS / name))

    on = {name: torch.from_numpy(array).cuda() for name, array in arrays.items()}
    result = {
        "sum": torch.empty_like(on["x"]),
        "weights": torch.empty_like(on["scores"]),
        "c": torch.empty(1024, 1024, dtype=torch.float16, device="cuda"),
        "out": torch.empty_like(on["q"]),
        "lse": torch.empty(4, 512, device="cuda"),
    }
    kernel("01_vector_add.py:add_kernel")[97,](on["x"], on["y"], result["sum"], 98432, BLOCK=1024)
    kernel("02_fused_softmax.py:softmax_kernel")[300,](on["scores"], result["weights"], 1000, 1000, 1000, BLOCK=1024)
    blocks = {"a": [128, 64], "b": [64, 128], "c": [128, 64]}
    descriptors = [TensorDescriptor.from_tensor({**on, **result}[name], block) for name, block in blocks.items()]
    kernel("09_persistent_matmul.py:host_descriptor_kernel")[64,](
        *descriptors, 1024, 1024, 512, 128, 128, 64, 8, True, num_warps=8
    )
    kernel("06_fused_attention.py:forward_kernel")[4, 4](
        on["q"],
        on["k"],
        on["v"],
        result["out"],
        result["lse"],
        1 / 8,
        512,
        BLOCK_M=128,
        BLOCK_N=64,
        HEAD_DIM=64,
        CAUSAL=True,
        num_warps=8,
    )
    return {name: tensor.cpu().numpy() for name, tensor in result.items()}


@pytest.mark.gpu
def test_results_are_those_of_python(exported, tmp_path):
    pytest.importorskip("torch")
    if problem := devices.gpu_problem():
        pytest.skip(problem)
    arrays = inputs(tmp_path)
    done = subprocess.run([str(exported / "program"), "run", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, expected in results_of_python(arrays).items():
        found = np.fromfile(tmp_path / name, expected.dtype).reshape(expected.shape)
        # Python's launch knows that the strides are divisible by 8, and adds in another order for it.
        assert np.array_equal(found, expected) or (name == "weights" and np.allclose(found, expected, rtol=1e-6, atol=0)), name
    assert np.array_equal(np.fromfile(tmp_path / "sum", np.float32), arrays["x"] + arrays["y"])
