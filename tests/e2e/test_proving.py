# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proofs: each verdict, for launches and for all sizes, and agreement with running everything."""

import inspect
import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tilewright as tw
import tilewright.language as tl
from tilewright import errors, knobs
from tilewright.cli import main
from tilewright.proving import prove_conditions, prove_launch

pytest.importorskip("z3", reason="proofs need z3-solver")


@tw.jit
def copy_kernel(x, y, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n + SHIFT), mask=offsets < n)


@tw.jit
def overlapping_kernel(y, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.program_id(0).to(tl.float32))


@tw.jit
def gather_kernel(x, index, y, CHECKED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = tl.load(index + offsets)
    tl.store(y + offsets, tl.load(x + places, mask=(places >= 0) & (places < 64) if CHECKED else offsets >= 0))


@tw.jit
def transpose_kernel(x, y, rows, columns, stride, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tile = tl.load(x + m[:, None] * columns + n[None, :], mask=inside)
    tl.store(y + n[:, None] * stride + m[None, :], tile.T, mask=inside.T)


@tw.jit
def rows_kernel(x, stride, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) if WIDE else tl.program_id(0)
    tl.store(x + row * stride + tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.int8))


@tw.jit
def sum_kernel(x, y, n, BLOCK: tl.constexpr):
    pointers = x + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(pointers, mask=tl.arange(0, BLOCK) < n - start)
        pointers += BLOCK
    tl.store(y + tl.program_id(0), tl.sum(total))


@tw.jit
def unrolled_kernel(x, LENGTH: tl.constexpr):
    place = tl.program_id(0)
    for _ in tl.static_range(LENGTH):
        place = place + tl.program_id(1)
    tl.store(x + place, 1.0)


@tw.jit
def counting_steps_kernel(x, n):
    place = 0
    for i in range(n):
        steps = 0
        while steps < i:
            steps += 1
        place += steps
        tl.store(x + place, 1.0)


@tw.jit
def locked_kernel(x, lock):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(x, tl.load(x) + 1.0)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def launch(kernel, grid, *args, **constants):
    bound = inspect.signature(kernel.fn).bind(*args, **constants)
    return prove_launch(kernel, grid, dict(bound.arguments))


def floats(count):
    return np.arange(count, dtype=np.float32)


def verdicts(proof, question):
    return [getattr(finding, question).verdict for finding in proof.findings]


# ---------------------------------------------------------------------------
# One launch
# ---------------------------------------------------------------------------


def test_right_kernel_is_proved():
    proof = launch(copy_kernel, (7,), floats(100), floats(100), 100, SHIFT=0, BLOCK=16)
    assert proof.proved and not proof.refuted
    assert [finding.mask for finding in proof.findings] == ["needed", "needed"]
    assert verdicts(proof, "wraps") == ["proved", "proved"]


def test_mask_that_is_off_by_one_is_refuted_and_replayed():
    proof = launch(copy_kernel, (7,), floats(100), floats(100), 100, SHIFT=1, BLOCK=16)
    load, store = proof.findings
    assert load.bounds.verdict == "refuted" and store.bounds.verdict == "proved"
    witness = load.bounds.witness
    assert (witness["array"], witness["element"], witness["program"], witness["lane"]) == ("x", 100, (6, 0, 0), (4,))
    assert witness["report"].startswith("E0407: load of 'x' at element 100; size is 100")


def test_replay_leaves_the_arrays_alone():
    y = floats(100)
    assert launch(overlapping_kernel, (4,), y, STEP=15, BLOCK=16).refuted
    np.testing.assert_array_equal(y, floats(100))


def test_tiles_that_overlap_are_a_race():
    proof = launch(overlapping_kernel, (4,), floats(64), STEP=15, BLOCK=16)
    witness = proof.findings[0].races.witness
    assert verdicts(proof, "races") == ["refuted"] and witness["confirmed"]
    assert witness["other program"][0] - witness["program"][0] == 1 and witness["element"] % 15 == 0
    assert launch(overlapping_kernel, (4,), floats(64), STEP=16, BLOCK=16).proved


def test_views_of_one_buffer_race():
    buffer = floats(100)
    proof = launch(copy_kernel, (3,), buffer[:40], buffer[30:70], 40, SHIFT=0, BLOCK=16)
    assert verdicts(proof, "bounds") == ["proved", "proved"]
    assert "proved" not in verdicts(proof, "races")


def test_loaded_addresses_are_outside_unless_a_mask_bounds_them():
    index = np.arange(64, dtype=np.int32)
    proof = launch(gather_kernel, (4,), floats(64), index, floats(64), CHECKED=False, BLOCK=16)
    assert verdicts(proof, "bounds") == ["proved", "outside", "proved"]
    assert proof.findings[1].bounds.reason.startswith("loaded at line") and not proof.refuted
    assert launch(gather_kernel, (4,), floats(64), index, floats(64), CHECKED=True, BLOCK=16).proved


@tw.jit
def table_kernel(table, places, n, arrays, BLOCK: tl.constexpr):
    entry = table + tl.load(places + tl.program_id(0))
    offsets = tl.arange(0, BLOCK)
    pointers = tl.load(entry).to(tl.pointer_type(tl.float32)) + offsets
    tl.store(pointers, tl.load(pointers, mask=offsets < n) + 1, mask=offsets < n)


def test_addresses_in_a_table_are_outside():
    arrays = np.zeros(8, np.float32), np.zeros(8, np.float32)
    table = np.array([array.ctypes.data for array in arrays], np.int64)
    arguments = {"table": table, "places": np.array([1, 0], np.int32), "n": 8, "arrays": arrays, "BLOCK": 8}
    proof = prove_launch(table_kernel, (2,), arguments)
    assert [finding.bounds.verdict for finding in proof.findings] == ["proved", "outside", "outside", "outside"]
    # The replay works on copies of the arrays, to which no entry of the table leads.
    arguments["places"][0] = 5
    proof = prove_launch(table_kernel, (2,), arguments)
    assert [finding.bounds.verdict for finding in proof.findings] == ["proved", "refuted", "outside", "outside"]


def test_mask_that_is_always_true_is_superfluous():
    proof = launch(copy_kernel, (4,), floats(64), floats(64), 64, SHIFT=0, BLOCK=16)
    assert proof.proved and [finding.mask for finding in proof.findings] == ["superfluous", "superfluous"]


def test_transposed_strides():
    matrix = floats(40 * 24).reshape(40, 24)
    grid, sizes = (3, 2), (40, 24)
    assert launch(transpose_kernel, grid, matrix, matrix.copy(), *sizes, 40, BLOCK=16).proved
    wrong = launch(transpose_kernel, grid, matrix, matrix.copy(), *sizes, 24, BLOCK=16)
    assert verdicts(wrong, "races")[1] == "refuted"


def test_pointers_that_a_loop_advances():
    assert launch(sum_kernel, (1,), floats(100), floats(1), 100, BLOCK=16).proved
    assert verdicts(launch(sum_kernel, (1,), floats(99), floats(1), 100, BLOCK=16), "bounds") == ["refuted", "proved"]


def test_long_expressions():
    assert launch(unrolled_kernel, (1, 1), floats(1), LENGTH=1000).proved
    assert launch(unrolled_kernel, (1, 2), floats(1000), LENGTH=1000).refuted


def test_steps_of_a_loop_that_are_counted_in_it_are_not_known():
    # 0 + 1 + 2 + 3 + 4: no step is like the other.
    assert verdicts(launch(counting_steps_kernel, (1,), floats(10), 5), "bounds") != ["proved"]


def test_programs_that_wait_for_each_other_are_not_refuted():
    proof = launch(locked_kernel, (3,), floats(1), np.zeros(1, np.int32))
    assert verdicts(proof, "bounds") == ["proved"] * 4
    found = [finding.races for finding in proof.findings if finding.access.arrays == ["x"]]
    assert all(outcome.verdict == "outside" or outcome.witness["confirmed"] for outcome in found)


def test_wrapped_products():
    # Only the last rows lie beyond 2^31 bytes; memory that is not touched is not there.
    x = np.empty(3 * 2**30, np.int8)
    proof = launch(rows_kernel, (3,), x, 2**30, WIDE=False, BLOCK=16)
    assert verdicts(proof, "wraps") == ["refuted"] and verdicts(proof, "bounds") == ["refuted"]
    assert -(2**31) <= proof.findings[0].bounds.witness["element"] < -(2**31) + 16
    assert launch(rows_kernel, (3,), x, 2**30, WIDE=True, BLOCK=16).proved


@tw.jit
def divided_kernel(x, y, heads, groups):
    tl.store(y + tl.program_id(0), tl.load(x + tl.program_id(0) // (heads // groups)))


@tw.jit
def watching_kernel(x, y, count):
    if tl.program_id(0) == 0:
        tl.store(y, tl.atomic_load(x))
    tl.atomic_add(x, 1.0)


def test_atomic_loads_do_not_race_with_atomics():
    assert launch(watching_kernel, (4,), floats(1), floats(1), 7).proved


def test_division_by_zero_is_no_witness():
    proof = launch(divided_kernel, (4,), floats(4), floats(4), 2, 4)
    assert verdicts(proof, "bounds") == ["outside", "proved"]
    assert proof.findings[0].bounds.reason == "a division that may be by zero"
    assert launch(divided_kernel, (4,), floats(4), floats(4), 4, 2).proved


@tw.jit
def counting_kernel(x, SCOPE: tl.constexpr):
    tl.atomic_add(x, 1.0, scope=SCOPE)


def test_atomics_do_not_race_unless_they_are_for_one_block():
    assert launch(counting_kernel, (4,), floats(1), SCOPE="gpu").proved
    assert verdicts(launch(counting_kernel, (4,), floats(1), SCOPE="cta"), "races") == ["refuted"]


# ---------------------------------------------------------------------------
# All sizes
# ---------------------------------------------------------------------------

POINTERS = {"x": "*fp32", "y": "*fp32"}


def copies(shift, extent="n", assume="n > 0"):
    return prove_conditions(
        copy_kernel, {**POINTERS, "n": "i32"}, {"SHIFT": shift, "BLOCK": 16}, "cdiv(n, BLOCK)", {"x": extent, "y": "n"}, assume
    )


def test_all_sizes_are_proved():
    assert copies(0).proved
    for n in (1, 15, 16, 17, 100):
        assert launch(copy_kernel, (tw.cdiv(n, 16),), floats(n), floats(n), n, SHIFT=0, BLOCK=16).proved


def test_witness_of_a_size_is_small_and_replayed():
    witness = copies(1).findings[0].bounds.witness
    assert witness["sizes"]["n"] <= 8 and witness["element"] == witness["sizes"]["n"] and witness["confirmed"]
    assert copies(1, extent="n + 1").proved
    assert copies(1, assume="n > 0, n % 16 == 0").proved


def transposed(stride):
    signature = {**POINTERS, "rows": "i32", "columns": "i32", "stride": "i32"}
    return prove_conditions(
        transpose_kernel,
        signature,
        {"BLOCK": 16},
        "cdiv(rows, BLOCK), cdiv(columns, BLOCK)",
        {"x": "[rows, columns]", "y": "[columns, rows]"},
        f"0 < rows <= 2**14, 0 < columns <= 2**14, stride == {stride}",
    )


def test_products_of_sizes():
    assert transposed("rows").proved
    wrong = transposed("columns")
    assert wrong.refuted and wrong.findings[1].bounds.witness["confirmed"]


def test_sizes_for_which_32_bits_are_few():
    signature, arrays = {"x": "*i8", "stride": "i32"}, {"x": "rows * stride"}
    narrow = prove_conditions(rows_kernel, signature, {"WIDE": False, "BLOCK": 16}, "rows", arrays, "stride >= 16")
    assert verdicts(narrow, "wraps") == ["refuted"]
    witness = narrow.findings[0].wraps.witness
    assert abs(witness["number"]) >= 2**31 and witness["bits"] == 32
    bounded = "16 <= stride <= 2**15, rows <= 2**15"
    assert prove_conditions(rows_kernel, signature, {"WIDE": False, "BLOCK": 16}, "rows", arrays, bounded).proved
    assert prove_conditions(rows_kernel, signature, {"WIDE": True, "BLOCK": 16}, "rows", arrays, "stride >= 16").proved


@tw.jit
def tiles_kernel(x, out, M, N, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    tiles = tl.cdiv(N, BLOCK)
    rows = tl.program_id(0) // tiles * BLOCK + tl.arange(0, BLOCK) + WRONG
    columns = tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK)
    places = rows[:, None] * N + columns[None, :]
    tl.store(out + places, tl.load(x + places) + 1.0)


def tiled(wrong):
    signature = {"x": "*fp32", "out": "*fp32", "M": "i32", "N": "i32"}
    return prove_conditions(
        tiles_kernel,
        signature,
        {"BLOCK": 32, "WRONG": wrong},
        "(M // BLOCK) * (N // BLOCK)",
        {"x": "[M, N]", "out": "[M, N]"},
        "0 < M <= 2**14, 0 < N <= 2**14, M % BLOCK == 0, N % BLOCK == 0",
        timeout=60,
    )


def test_tiles_counted_by_one_program_id():
    """Sizes that are multiples, a division by one of them, and an address of rows and columns."""
    assert tiled(0).proved
    witness = tiled(1).findings[0].bounds.witness
    assert witness["sizes"]["M"] % 32 == witness["sizes"]["N"] % 32 == 0 < witness["sizes"]["N"] and witness["confirmed"]


# ---------------------------------------------------------------------------
# Agreement with running everything
# ---------------------------------------------------------------------------


@tw.jit
def random_kernel(
    y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr, LIMIT: tl.constexpr, FORM: tl.constexpr
):
    program, lane = tl.program_id(0), tl.arange(0, 8)
    place = program * A + lane * B + C
    if FORM == 1:
        place = place % D
    if FORM == 2:
        place = place // D * 3 + lane
    if FORM == 3:
        place = tl.where(lane < D, place, program * 8 + lane)
    if FORM == 4:
        place = (tl.minimum(place, D) & 7) | (lane * 8 ^ 0)
    mask = (place < LIMIT) & (place >= 0) if LIMIT % 2 else lane < LIMIT
    if FORM == 5:
        for i in range(C, D, 2):
            tl.store(y + place + i * A, program.to(tl.float32), mask=mask)
    else:
        if program < D:
            tl.store(y + place, program.to(tl.float32), mask=mask)


def run_everything(check, programs, size, constants):
    """Whether the interpreter finds something with this check."""
    y = np.full(1000, -1, np.float32)[500 : 500 + size]
    try:
        with knobs.runtime.scope():
            knobs.runtime.check = check
            random_kernel[(programs,)](y, **constants)
    except errors.OutOfBounds:
        return "bounds"
    except errors.DataRace:
        return "races"
    return None


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    st.integers(1, 5),
    st.integers(1, 40),
    st.fixed_dictionaries(
        {
            "A": st.integers(-3, 9),
            "B": st.integers(-2, 3),
            "C": st.integers(-9, 9),
            "D": st.integers(1, 9),
            "LIMIT": st.integers(0, 40),
            "FORM": st.integers(0, 5),
        }
    ),
)
def test_agreement_with_running_everything(programs, size, constants):
    y = np.zeros(size, np.float32)
    (finding,) = launch(random_kernel, (programs,), y, **constants).findings
    assert finding.bounds.verdict == ("refuted" if run_everything("none,bounds", programs, size, constants) else "proved")
    if finding.bounds.verdict == "proved":
        assert finding.races.verdict == (
            "refuted" if run_everything("none,bounds,races", programs, size, constants) == "races" else "proved"
        )


# ---------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------

SCRIPT = """
import numpy as np
import tilewright as tw
import tilewright.language as tl

@tw.jit
def kernel(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, 1.0, mask=offsets < n)

if __name__ == "__main__":
    for _ in range(2):
        kernel[(2,)](np.zeros(20, np.float32), 20, BLOCK=16)
    kernel[(2,)](np.zeros(20, np.float32), 20, BLOCK=16)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "some_kernels.py"
    path.write_text(SCRIPT)
    return str(path)


def test_command_for_a_kernel(script, capsys):
    given = ["prove", script + ":kernel", "-s", "*fp32,i32,BLOCK=16", "-g", "cdiv(n, BLOCK)", "--assume", "n > 0"]
    assert main([*given, "-a", "x=n"]) == 0
    assert "proved" in capsys.readouterr().out
    assert main([*given, "-a", "x=n - 1", "--json", "-"]) == 1
    (proof,) = json.loads(capsys.readouterr().out)
    (access,) = proof["accesses"]
    assert access["bounds"]["verdict"] == "refuted" and access["bounds"]["witness"]["confirmed"]
    assert (access["line"], access["access"], access["array"]) == (9, "store", "x")


@pytest.mark.parametrize("text, said", [("print('nothing')", "launched no kernel"), ("raise SystemExit(3)", "ended with 3")])
def test_command_for_a_script_without_launches(tmp_path, capsys, text, said):
    path = tmp_path / "script.py"
    path.write_text(text)
    assert main(["prove", str(path)]) == 1
    assert said in capsys.readouterr().err


def test_script_that_ends_with_an_error_is_not_proved(tmp_path, capsys):
    path = tmp_path / "failing.py"
    path.write_text(SCRIPT + "\nraise SystemExit(3)\n")
    assert main(["prove", str(path)]) == 1
    captured = capsys.readouterr()
    assert "proved" in captured.out and "ended with 3" in captured.err


@pytest.mark.parametrize("command", [["prove"], ["check", "--prove"]])
def test_command_for_a_script(command, script, capsys):
    before = list(sys.argv), list(sys.path)
    try:
        assert main([*command, script]) == 0
    finally:
        sys.argv, sys.path[:] = before
    # Launches that are alike are proved once.
    assert capsys.readouterr().out.count("a launch of 2 x 1 x 1 programs") == 1


def test_check_gives_its_options_and_those_of_the_script_to_proofs(tmp_path, capsys):
    path, answers = tmp_path / "with_arguments.py", tmp_path / "answers.json"
    path.write_text(SCRIPT.replace("if __name__", "import sys\nprint('given', sys.argv[1:])\nif __name__"))
    before = list(sys.argv), list(sys.path)
    try:
        assert main(["check", "--prove", "--json", str(answers), str(path), "--launches", "7"]) == 0
    finally:
        sys.argv, sys.path[:] = before
    assert "given ['--launches', '7']" in capsys.readouterr().err  # what the script prints
    assert json.loads(answers.read_text())
    # A kernel's options are those of the proof.
    assert (
        main(
            [
                "check",
                "--prove",
                f"{path}:kernel",
                "-s",
                "*fp32,i32,BLOCK=16",
                "-g",
                "cdiv(n, BLOCK)",
                "-a",
                "x=n - 1",
                "--assume",
                "n > 0",
            ]
        )
        == 1
    )
