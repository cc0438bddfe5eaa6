# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned results in exports: which rows a library gets, and which configuration its launches take."""

import pytest

from harness.exported import lines_of
from tilewright import cli, errors
from tilewright.exporting.command import export_command
from tilewright.exporting.package import nearest
from tilewright.exporting.requests import KernelRequest
from tilewright.exporting.tuned import add_tuned_results
from tilewright.kernel_arguments import load_object
from tilewright.tuning import table

KERNEL = """
import tilewright as tw
import tilewright.language as tl

@tw.autotune([tw.Config({"BLOCK": b}, num_warps=w) for b, w in ((128, 2), (256, 4), (512, 8))], key=["n", "m"])
@tw.jit
def fill(x, n, m, value, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, value, mask=i < n * m)

@tw.jit
def plain(x, n):
    tl.store(x, n)
"""
SIGNATURE = "*fp32:16,i32,i32,fp32"
H200 = {"device": "NVIDIA H200, 132 multiprocessors, 140 GiB", "driver": "CUDA 13"}
MOCK = {"device": "Mock GPU, 132 multiprocessors, 16 GiB", "driver": "CUDA 13"}


@pytest.fixture
def tuned(tmp_path, monkeypatch):
    """The kernel's file, and a function that notes the best configuration (its number) of a key."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_INTERPRET", raising=False)
    (tmp_path / "tuned_kernels.py").write_text(KERNEL)
    name = f"{tmp_path / 'tuned_kernels.py'}:fill"
    tuner, function = load_object(name)

    def note(n, m, best, device=H200, dtype="torch.float32", **more):
        with monkeypatch.context() as patch:
            patch.setattr(table, "device_fields", lambda _: device)
            one = table.Table(tuner, function.__name__, (n, m, dtype), 0)
        records = {
            table.config_identity(config)[0]: {"config": str(config), "status": "ok", "median": 2.0 - (number == best)}
            for number, config in enumerate(tuner.configs)
        }
        one.save(records, **more)
        return one

    return name, note, tuner


def request_of(name, **more):
    request = KernelRequest(name, [SIGNATURE], "cdiv(n * m, BLOCK)", is_tuned=True, **more)
    add_tuned_results(request)
    return request


def test_rows_are_the_best_of_each_key(tuned):
    name, note, tuner = tuned
    note(100, 1, 2)
    note(4096, 8, 0)
    note(64, 64, 1, device=MOCK)
    note(7, 7, 1, dtype="torch.float16")  # of other arrays
    identity = table.config_identity(tuner.configs[1])[0]
    note(9, 9, 0).pin(identity)
    request = request_of(name)
    assert [c["BLOCK"] for c in request.configurations] == [128, 256, 512]
    assert request.table.keys == ["n", "m"]
    assert request.table.devices[H200["device"]] == [([9, 9], 1), ([100, 1], 2), ([4096, 8], 0)]
    assert request.table.devices[MOCK["device"]] == [([64, 64], 1)]


def test_what_has_no_results(tuned):
    name, note, _ = tuned
    for kernel, more, sentence, help in (
        (
            name,
            {},
            "there are no tuned results of 'fill' for such arguments on this machine",
            "run the program that tunes it, import its tables (tilewright tune import), or name configurations: --config",
        ),
        (
            name.replace(":fill", ":plain"),
            {},
            "'plain' is not tuned",
            "decorate it with @autotune, or name configurations: --config BLOCK=256,num_warps=4",
        ),
        (
            name,
            {"configurations": [{"BLOCK": 1}]},
            "'fill' has configurations and is to have the tuned ones",
            "leave --config or --tuned away",
        ),
    ):
        with pytest.raises(errors.TilewrightError, match=r"\[E0117\]") as caught:
            request_of(kernel, **more)
        assert (caught.value.message, caught.value.help) == (sentence, help)


def test_a_key_that_no_launch_is_given(tuned):
    name, note, _ = tuned
    note(1000, 1, 0)
    with pytest.raises(
        errors.TilewrightError, match=r"\[E0117\] the key 'm' of the tuner is no integer parameter of the exported function"
    ) as caught:
        arguments = [
            "export",
            name,
            "--tuned",
            "-g",
            "cdiv(n * m, BLOCK)",
            "-s",
            "*fp32:16,i32,m=1,value=fp32",
            "-o",
            "/nowhere",
        ]
        export_command(cli._parser().parse_args(arguments))
    assert caught.value.help == "give it a type in the signature, so that the launch can choose by it"


def test_nearest():
    rows = [([100, 1], 2), ([4096, 8], 1), ([0, 4], 0)]
    assert [nearest(rows, values) for values in ([4096, 8], [120, 1], [5000, 9], [-3, 4], [0, 5])] == [1, 2, 1, 0, 0]


def test_launches_take_the_nearest_row(tuned, tmp_path):
    name, note, _ = tuned
    note(100, 1, 2, device=MOCK)
    note(4096, 8, 0, device=MOCK)
    for n in (1, 2, 3):
        note(n, 1, 1)  # another device's, and more of them
    assert (
        cli.main(
            [
                "export",
                name,
                "-s",
                SIGNATURE,
                "--tuned",
                "-g",
                "cdiv(n * m, BLOCK)",
                "-t",
                "sm_90a",
                "--no-ptx",
                "-o",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    lines = lines_of(
        tmp_path,
        "out",
        """
for n, m in ((100, 1), (4096, 8), (130, 1), (3000, 20)):
    assert library.fill(stream, pointer, n, m, ctypes.c_float(1)) == 0
    numbers, _ = launch()
    print(numbers[0], numbers[3])
""",
    )
    assert lines == ["1 256", "256 64", "1 256", "469 64"]


def test_a_constant_of_one_signature_is_a_parameter_of_the_grid_all_the_same():
    from tilewright.exporting.grid import Grid

    grid = Grid("cdiv(n, 128)", ["n"], [], set())
    assert grid.sizes({}, {"n": 1000}, lambda: 132) == (8, 1, 1)
    wide = Grid("cdiv(n, 65536 * 65536)", ["n"], [], set()).as_c({}, {"n": "n"}, "state")
    assert wide[0] == "tw_cdiv((int64_t)n, tw_multiply(INT64_C(65536), INT64_C(65536)))"
    with pytest.raises(errors.TilewrightError, match="has more than 64 bits"):
        Grid(f"cdiv(n, {2**70})", ["n"], [], set())
