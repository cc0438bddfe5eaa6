# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright check --compare`, and launches in files: the PTX emulator stands for the GPU.

On a machine with a GPU, `-k gpu` runs the command itself there.
"""

import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.devices import Emulator
from tilewright import cli, errors, knobs
from tilewright.checking import journal, replay
from tilewright.checking.comparison import first_difference
from tilewright.checking.saved import SavedLaunch
from tilewright.checking.session import Options, Session
from tilewright.runtime.host_arrays import lies_on_gpu
from tilewright.tools.tensor_descriptor import TensorDescriptor

SCALE: tl.constexpr = 3


@tilewright.constexpr_function
def doubled(n):
    return 2 * n


@tilewright.jit
def scaled(x, FACTOR: tl.constexpr):
    return x * SCALE * doubled(FACTOR)


@tilewright.jit
def scale_add(x, y, out, n, BLOCK: tl.constexpr, FACTOR: tl.constexpr = 1):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = o < n
    total = tl.load(x + o, mask) + scaled(tl.load(y + o, mask), FACTOR)
    tl.store(out + o, total, mask)


@tilewright.jit
def by_descriptor(descriptor, out, BLOCK: tl.constexpr):
    tile = descriptor.load([0, tl.program_id(0) * BLOCK])
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.sum(tile.to(tl.float32), axis=0))


def emulate(edit):
    """A compiled side on this machine: the PTX, changed by `edit`, in the emulator."""
    device = Emulator("sm_80", edit=edit)

    def run(kernel, sizes, bound, options):
        device.run(kernel, sizes, *(bound[name] for name in kernel.arg_names), **options)

    return run


def session(folder, edit=lambda ptx: ptx, **options):
    from dataclasses import asdict

    journal.create(folder, asdict(Options(compare=True, **options)))
    return Session(folder, emulate(edit))


def arguments(n=200):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-50, 50, n).astype(np.float32) for _ in range(2))
    return {"x": x, "y": y, "out": np.zeros(n, np.float32), "n": n, "BLOCK": 64, "FACTOR": 1}


def records(folder, kind):
    return [r for r in journal.read(folder) if r["kind"] == kind]


def test_equal_sides_agree_and_the_program_gets_the_compiled_results(tmp_path):
    bound = arguments()
    session(tmp_path).launch(scale_add, (4,), bound, {})
    assert np.array_equal(bound["out"], bound["x"] + 6 * bound["y"])
    assert [r["status"] for r in records(tmp_path, "launch")] == ["compared"]
    assert records(tmp_path, "finding") == []


def broken(ptx):
    """The kernel without its stores."""
    wrong = re.sub(r"(?m)^.*\bst\.global.*$", "", ptx)
    assert wrong != ptx
    return wrong


def test_the_first_element_that_differs_is_reported_with_its_writer(tmp_path):
    bound = arguments()
    bound["x"][:70], bound["y"][:70] = 0, 0  # zero is right there, as nothing is written
    bound["x"][70], bound["y"][70] = 1, 0
    session(tmp_path, broken, save=str(tmp_path / "launch.zip")).launch(scale_add, (4,), bound, {})
    (finding,) = records(tmp_path, "finding")
    assert finding["code"] == "E0425" and finding["program"] == [1, 0, 0] and finding["kernel"] == "scale_add"
    assert "'out'[70] is 1.0 from the interpreter and 0.0 from the compiled kernel" in finding["text"]
    assert "tl.store(out + o, total, mask)" in finding["frames"][0]["source_line"]
    assert finding["frames"][0]["file"] == __file__
    assert (bound["out"] == 0).all()  # the program goes on with what the compiled kernel wrote

    saved = SavedLaunch(tmp_path / "launch.zip")
    findings, interpreted, table = replay.run_interpreted(saved, "", (1, 0, 0))
    assert findings == [] and [row.kind for row in table] == ["load", "load", "store"]
    assert {row.program for row in table} == {(1, 0, 0)}
    findings, interpreted, _ = replay.run_interpreted(saved)
    expected = bound["x"] + 6 * bound["y"]
    assert np.array_equal(interpreted[2].view(np.float32), expected)
    (found,) = replay.differences(saved, interpreted, [bound[name].view(np.uint32) for name in ("x", "y", "out")])
    assert (found.array, found.index, found.interpreted, found.compiled) == ("out", (70,), 1.0, 0.0)


def test_descriptors_and_arrays_that_overlap_are_saved(tmp_path):
    memory = np.arange(4 * 64, dtype=np.float16).reshape(4, 64)
    bound = {"descriptor": TensorDescriptor.from_tensor(memory, [4, 32]), "out": np.zeros(64, np.float32), "BLOCK": 32}
    path = tmp_path / "launch.zip"
    session(tmp_path, broken, save=str(path)).launch(by_descriptor, (2,), bound, {"num_warps": 4})
    saved = SavedLaunch(path)
    _, interpreted, _ = replay.run_interpreted(saved)
    assert np.array_equal(interpreted[1].view(np.float32), memory.astype(np.float32).sum(axis=0))


def test_what_cannot_be_saved_is_said(tmp_path, monkeypatch):
    from tilewright.checking import saved

    monkeypatch.setattr(saved, "LARGEST", 100)
    bound = arguments()
    session(tmp_path, broken, save=str(tmp_path / "launch.zip")).launch(scale_add, (4,), bound, {})
    (finding,) = records(tmp_path, "finding")
    # E0706
    assert any("the launch of 'scale_add' cannot be saved: its arrays have 2,400 bytes" in note for note in finding["notes"])


@tilewright.jit
def through_a_table(table, out):
    tl.store(out, tl.load(tl.load(table).to(tl.pointer_type(tl.float32))))


@pytest.mark.parametrize("on_gpu", [True, False])
def test_arrays_found_through_a_table_of_addresses_are_not_judged(tmp_path, monkeypatch, on_gpu):
    asked, launched = [], []
    monkeypatch.setattr("tilewright.checking.session.lies_on_gpu", lambda address: asked.append(address) or on_gpu)
    journal.create(tmp_path, {})
    checked = Session(tmp_path, lambda *launch: launched.append(launch))
    checked.launch(through_a_table, (1,), {"table": np.array([0x7F0012345600]), "out": np.zeros(1, np.float32)}, {})
    assert asked == [0x7F0012345600] and len(launched) == on_gpu
    (launch,) = records(tmp_path, "launch")
    assert launch["status"] == ("unchecked" if on_gpu else "checked")
    assert [finding["code"] for finding in records(tmp_path, "finding")] == ([] if on_gpu else ["E0407"])


def test_without_a_driver_no_address_lies_on_a_gpu(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda *_: (_ for _ in ()).throw(OSError("no library")))
    assert not lies_on_gpu(0x7F0012345600)


def test_a_compiled_kernel_that_fails_is_a_finding_and_an_error(tmp_path):

    def fails(*_):
        raise errors.make("E0401", error="an illegal address", name="scale_add", file="f", line=1, config="c")

    checked = session(tmp_path)
    checked._run_other_side = fails
    with pytest.raises(errors.DeviceFault):
        checked.launch(scale_add, (4,), arguments(), {})
    (finding,) = records(tmp_path, "finding")
    assert finding["code"] == "E0426"
    assert "the interpreter ran the launch, and the compiled kernel failed with E0401" in finding["text"]


@pytest.fixture
def saved_file(tmp_path):
    path = tmp_path / "launch.zip"
    session(tmp_path, broken, save=str(path)).launch(scale_add, (4,), arguments(), {})
    return path


def rewritten(path, change):
    """The archive with its members changed by `change(name, bytes)`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: change(name, archive.read(name)) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def flipped(data):
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    "damage,reason",
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-200]), ""),
        (lambda path: path.write_bytes(b"no archive"), ""),
        (
            lambda path: rewritten(path, lambda name, data: flipped(data) if name == "memory/0.npy" else data),
            "memory/0.npy was changed",
        ),
        (lambda path: rewritten(path, lambda name, data: data.replace(b"scale_add", b"scale_sub")), "launch.json was changed"),
        (lambda path: rewritten(path, lambda name, data: b"0" * 64 if name == "digest" else data), "launch.json was changed"),
        (
            lambda path: rewritten(path, lambda name, data: data + b"\0" * (1 << 20) if name == "memory/1.npy" else data),
            "memory/1.npy is larger than ",
        ),
    ],
    ids=["cut", "other", "memory", "text", "digest", "size"],
)
def test_a_damaged_file_is_a_coded_error(saved_file, damage, reason):
    damage(saved_file)
    with pytest.raises(errors.ConfigError) as info:
        SavedLaunch(saved_file)
    assert info.value.code == "E0705" and f"'{saved_file}' is no launch that can be run again: {reason}" in str(info.value)


def resealed(path, change):
    """The file with its record changed and the digest made to fit."""
    import hashlib

    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    record = json.loads(members["launch.json"])
    change(record)
    members["launch.json"] = json.dumps(record).encode()
    members["digest"] = hashlib.sha256(members["launch.json"]).hexdigest().encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    "change,reason",
    [
        (lambda record: record.update(format=99), "it has format 99, and this version reads format "),
        (lambda record: record["memory"][0].update(size=8), "memory/0.npy is no 8 bytes"),
        (lambda record: record["arrays"][0].update(offset=1 << 20), "array 'x' lies outside of its memory"),
    ],
)
def test_a_record_that_does_not_fit_is_named(saved_file, change, reason):
    resealed(saved_file, change)
    with pytest.raises(errors.ConfigError) as info:
        SavedLaunch(saved_file)
    assert f"is no launch that can be run again: {reason}" in str(info.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(format=99),
        lambda record: record["arrays"][0].update(offset=1 << 20),
        lambda record: record["arrays"][0].update(strides=[-4]),
        lambda record: record["arrays"][0].update(dtype="fp99"),
        lambda record: record.pop("functions"),
        lambda record: record["functions"][1][0]["names"].update(tl={"module": "os"}),
    ],
    ids=["format", "outside", "below", "dtype", "missing", "module"],
)
def test_a_record_that_makes_no_sense_is_refused(saved_file, change):
    resealed(saved_file, change)
    with pytest.raises(errors.ConfigError, match="E0705"):
        SavedLaunch(saved_file)


def test_the_command_runs_a_saved_launch(saved_file):
    command = [sys.executable, "-m", "tilewright", "replay", str(saved_file), "--interpret"]
    done = subprocess.run([*command, "--check", "all"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "scale_add[4, 1, 1]" in done.stdout and "nothing found" in done.stdout, done.stderr
    done = subprocess.run([*command, "--program", "3"], capture_output=True, text=True, timeout=120)
    assert "(3, 0, 0)" in done.stdout and "store" in done.stdout


@pytest.mark.parametrize("culprit", ["tw-combine-ops", "tw-mark-constancy", None])
def test_bisect_finds_the_optimisation_that_changes_the_result(saved_file, monkeypatch, capsys, culprit):
    """A compiled side that is wrong only with one pass, or always."""
    _, right, _ = replay.run_interpreted(SavedLaunch(saved_file))
    asked = []

    def run_compiled(saved):
        skipped = (knobs.compilation.skip_passes or "").split(",")
        asked.append(skipped)
        return [codes + (1 << 22) * (culprit not in skipped) for codes in right]

    monkeypatch.setattr(replay, "run_compiled", run_compiled)
    assert cli.main(["replay", str(saved_file), "--bisect"]) == 1
    out = capsys.readouterr().out
    if culprit is None:
        assert "results differ without any optimisation, so none of them is the cause" in out
    else:
        assert f"first pass with which results differ: {culprit}\n" in out
        assert f"TILEWRIGHT_SKIP_PASSES={culprit} computes the interpreter's results (tried)" in out
    assert len(asked) < 10 and knobs.compilation.skip_passes is None
    monkeypatch.setattr(replay, "run_compiled", lambda saved: right)
    assert cli.main(["replay", str(saved_file), "--bisect"]) == 0 and "both sides agree" in capsys.readouterr().out


def test_compiled_replay_without_a_gpu_is_a_coded_error(saved_file):
    from tilewright.checking import compiled

    if compiled.has_gpu():
        pytest.skip("a GPU is here")
    with pytest.raises(errors.NoDevice, match="E0707.*'scale_add' cannot run compiled here: no CUDA driver"):
        replay.run_compiled(SavedLaunch(saved_file))


# -- what is equal -------------------------------------------------------------


def codes(values, dtype):
    return np.array(values, dtype).view({2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize])


@pytest.mark.parametrize(
    "a, b, options, differs",
    [
        ([1.0], [1.0 + 1e-4], {}, False),
        ([1.0], [1.1], {}, True),
        ([1.0], [1.1], {"rtol": 0.2}, False),
        ([np.nan], [np.nan], {}, False),
        ([np.nan], [1.0], {}, True),
        ([np.inf], [np.inf], {}, False),
        ([np.inf], [-np.inf], {}, True),
        ([3.4e38], [np.inf], {}, True),
        ([0.0], [-0.0], {"rtol": 0, "atol": 0}, False),
        ([1.0], [np.nextafter(np.float32(1), np.float32(2))], {"rtol": 0, "atol": 0}, False),
        ([1.0], [1.0 + 1e-6], {"rtol": 0, "atol": 0}, True),
        ([-1e-45], [1e-45], {"rtol": 0, "atol": 0}, False),
        ([1e-30], [-1e-30], {"rtol": 0, "atol": 0}, True),
    ],
)
def test_tolerances(a, b, options, differs):
    assert (first_difference("x", "fp32", codes(a, np.float32), codes(b, np.float32), **options) is not None) == differs


def test_integers_are_equal_or_not():
    found = first_difference("x", "i32", codes([[1, 2], [3, 4]], np.int32), codes([[1, 2], [-3, 5]], np.int32))
    assert (found.index, found.interpreted, found.compiled, found.count) == ((1, 0), 3, -3, 2)


# -- the command ----------------------------------------------------------------

PROGRAM = """
import numpy as np, sys, torch
import triton, triton.language as tl
@triton.jit
def kernel(x, out, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, o < n)
    if WRONG:  # undefined between programs: the last of them wins here, any of them there
        tl.atomic_xchg(out, tl.program_id(0).to(tl.float32) + 1)
    else:
        tl.store(out + o, tl.exp(v), o < n)
x = torch.randn(1000, device="cuda")
out = torch.zeros(1000, device="cuda")
for wrong in (False, True):
    kernel[(8,)](x, out, 1000, WRONG=wrong, BLOCK=128)
print("end", abs(out[1].item() - x[1].exp().item()) < 1e-5 * out[1].item())
"""


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tilewright", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ},
    )


def test_compare_needs_a_gpu(tmp_path):
    from tilewright.checking import compiled

    if compiled.has_gpu():
        pytest.skip("a GPU is here")
    (tmp_path / "p.py").write_text("print('ran')")
    done = command("check", "--compare", tmp_path / "p.py")
    assert done.returncode == 1 and "[E0704] 'tilewright check --compare' needs a GPU:" in done.stderr
    assert "ran" not in done.stdout


@pytest.mark.gpu
def test_compare_on_the_gpu(gpu, tmp_path):
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    done = command("check", "--compare", "--json", tmp_path / "r.json", path)
    report = json.loads((tmp_path / "r.json").read_text())
    assert [r["status"] for r in report["launches"]] == ["compared", "compared"], done.stderr
    assert "end" in done.stdout
    # The first launch agrees; what the second leaves in out[0] is up to the order of its programs.
    assert all(f["launch"] == 2 and f["code"] == "E0425" for f in report["findings"]), done.stderr


@pytest.mark.gpu
def test_check_copies_gpu_tensors_in_and_out(gpu, tmp_path):
    path = tmp_path / "p.py"
    path.write_text(PROGRAM.replace("o < n)\n    if", "o <= n)\n    if").replace("(False, True)", "(False,)"))
    done = command("check", path)
    assert done.returncode == 1 and "E0407" in done.stderr and "end True" in done.stdout, done.stderr


@pytest.mark.gpu
def test_a_saved_launch_runs_on_the_gpu(gpu, saved_file):
    saved = SavedLaunch(saved_file)
    _, interpreted, _ = replay.run_interpreted(saved)
    computed = replay.run_compiled(saved)
    assert replay.differences(saved, interpreted, computed) == []
