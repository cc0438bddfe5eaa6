# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Internal errors: what they say, the file that they leave, and what `tilewright repro` makes of it.

TILEWRIGHT_TEST_FAULT puts a pass that fails into the pipeline (passes/testing/TestFault.cpp).
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

import tilewright
import tilewright.language as tl
from harness.native import program
from tilewright import _core, cli, errors
from tilewright.compiler.bisect import find_culprit, optimisations, shrink
from tilewright.compiler.reproducer import Reproducer


@tilewright.jit
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    unused = tl.sum(x, axis=0)
    tl.store(out_ptr + offsets, x + x * 0.5 + unused, mask=offsets < n)


def compile_it(target="sm_90a"):
    source = tilewright.ASTSource(doubled, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": 128})
    return tilewright.compile(source, target, {"num_warps": 2})


def fail(fault="fail@tw-insert-barriers"):
    os.environ["TILEWRIGHT_TEST_FAULT"] = fault
    with pytest.raises(errors.InternalError) as info:
        compile_it()
    return info.value


def path_in(error):
    return pathlib.Path(re.search(r"re-run with 'tilewright repro (.+)'$", error.help)[1])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_REPRODUCER_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_TEST_FAULT", "")
    return tmp_path


@pytest.fixture
def reproducer(folder):
    return path_in(fail())


def repro(*arguments):
    """(status, standard output, standard error) of the command."""
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "repro", *map(str, arguments)], capture_output=True, text=True, env=os.environ
    )
    return done.returncode, done.stdout, done.stderr


# ---------------------------------------------------------------------------
# The error and the file
# ---------------------------------------------------------------------------


def test_error_names_the_pass_and_the_place(folder):
    error = fail()
    assert error.code == "E0900" and error.message == "tw-test-fault: this pass always fails"
    assert error.frames[0].file == __file__ and "tl.store" in error.frames[0].source_line
    path = path_in(error)
    assert path.parent == folder and re.fullmatch(r"doubled-tw-test-fault-[0-9a-f]{8}\.mlir", path.name)
    assert error.help == f"this is a bug; reproducer and versions in {path}; re-run with 'tilewright repro {path}'"


def test_file_holds_module_options_and_versions(reproducer):
    first, second, modules = reproducer.read_text().split("\n", 2)
    head = json.loads(second.removeprefix("// "))
    assert first == "// tilewright reproducer 1" and reproducer.stat().st_mode & 0o777 == 0o600
    assert (head["kernel"], head["step"], head["target"]) == ("doubled", "tw-test-fault", "sm_90a")
    assert head["version"] == f"{tilewright.__version__} {_core.build_id()}" and "assembler" in head
    before, original = modules.split("\n// -----\n")
    # The module before the step: with layouts and offsets, without barriers; and the front end's.
    assert "tw.scratch_offset" in before and "tw.barrier" not in before and "test_reproducers.py" in before
    assert "tw.scratch_offset" not in original and "@doubled" in original


def test_printed_command_shows_the_same_error(folder):
    error = fail()
    command = re.search(r"'(tilewright repro .+)'$", error.help)[1]
    arguments = shlex.split(command)
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 1
    assert f"InternalError[E0900] {error.message}\n" in done.stderr and error.help in done.stderr
    assert list(folder.glob("*.mlir")) == [path_in(error)]  # and leaves no second file


def test_equal_failures_have_one_file_and_others_their_own(folder):
    assert path_in(fail()) == path_in(fail())
    assert path_in(fail("fail@tw-assign-layouts")) != path_in(fail())
    assert len(list(folder.glob("*.mlir"))) == 2


def test_temporary_folder_where_none_is_named(folder, monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_REPRODUCER_DIR")
    monkeypatch.setenv("TMPDIR", str(folder / "own"))
    (folder / "own").mkdir()
    assert path_in(fail()).parent == folder / "own"


def test_folder_that_cannot_be_written(folder, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_REPRODUCER_DIR", str(folder / "missing"))
    error = fail()
    assert re.fullmatch(
        r"this is a bug; no reproducer could be written to .*/missing/doubled-tw-test-fault-\w+\.mlir: "
        r"No such file or directory; set TILEWRIGHT_REPRODUCER_DIR",
        error.help,
    )


def test_planted_link_is_not_followed(folder):
    path = path_in(fail())
    path.unlink()
    (folder / "victim").write_text("precious")
    path.symlink_to(folder / "victim")
    assert "no reproducer could be written" in fail().help
    assert (folder / "victim").read_text() == "precious"


def test_broken_ir_is_reported_where_it_breaks_something(reproducer):
    """A pass that leaves wrong IR: the release build notices later, and --bisect says who it was."""
    os.environ["TILEWRIGHT_TEST_FAULT"] = "break@tw-verify-resources"
    status, out, _ = repro(path_in(fail("break@tw-verify-resources")), "--bisect")
    assert status == 1 and "first broken rule, with the verifier after each pass: tw-test-fault: " in out


# ---------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------


def test_repaired_compiler(reproducer):
    os.environ["TILEWRIGHT_TEST_FAULT"] = ""
    status, out, err = repro(reproducer)
    assert (status, err) == (0, "") and "it does not fail here: the module compiles" in out
    assert "it does not fail here" in repro(reproducer, "--bisect")[1]
    assert "it does not fail here" in repro(reproducer, "--reduce")[1]


def test_pass_driver_runs_it_too():
    path = path_in(fail("fail@tw-assign-layouts"))
    assert "#tw.layout" not in path.read_text()
    done = subprocess.run(
        [program("tools/tilewright-opt"), "--split-input-file", "--run-reproducer", path], capture_output=True, text=True
    )
    assert done.returncode == 0 and "#tw.layout" in done.stdout, done.stderr


def test_bisect_finds_the_optimisation():
    # The faulty pass runs only where the optimisation after it does.
    status, out, _ = repro(path_in(fail("fail@tw-stage-loads")), "--bisect")
    assert status == 1 and "first pass with which it fails: tw-stage-loads" in out
    assert "TILEWRIGHT_SKIP_PASSES=tw-stage-loads compiles it (tried)" in out


def test_bisect_clears_the_optimisations(reproducer):
    status, out, _ = repro(reproducer, "--bisect")
    assert status == 1 and "it fails without any optimisation" in out


def test_reduce_keeps_what_fails(reproducer, folder):
    small = folder / "small.mlir"
    status, out, err = repro(reproducer, "--reduce", "-o", small)
    assert status == 0, err
    before, after = map(int, re.search(r"(\d+) operations became (\d+)", out).groups())
    assert after < before / 2 and "tw.store" in small.read_text()
    status, _, err = repro(small)
    assert status == 1 and "[E0900] tw-test-fault: this pass always fails" in err


def damaged(text):
    """(name, text, reason) of files that are not as they were written."""
    first, second, modules = text.split("\n", 2)
    head = json.loads(second.removeprefix("// "))

    def with_head(**changed):
        kept = {k: v for k, v in {**head, **changed}.items() if v is not None}
        return f"{first}\n// {json.dumps(kept)}\n{modules}"

    yield "empty", "", "it does not begin with"
    yield "not ours", "module {}\n", "it does not begin with '// tilewright reproducer'"
    yield "binary", "\x7fELF\x00\x01", "it does not begin with"
    yield "later format", text.replace("reproducer 1", "reproducer 2", 1), "its format is '2', and this is version"
    yield "cut in the head", text[:60], "its second line is no JSON; it is cut short or was changed"
    yield "list", f"{first}\n// [1]\n{modules}", "its second line holds no options"
    yield "no target", with_head(target=None), "its options have no 'target'"
    yield "wrong option", with_head(first_step="3"), "its option 'first_step' is '3'"
    yield "wrong names", with_head(skip_passes=[3]), "its option 'skip_passes' is [3]"
    yield "other passes", with_head(first_name="tw-older"), "whose passes are not those of"
    yield "no such pass", with_head(first_step=99), "whose passes are not those of"
    yield "cut in the module", text[: len(text) // 2], "it is cut short: the module of the front end is missing"
    yield "other words", text.replace("tw.range", "tw.ranges"), "its module cannot be read"


def test_damaged_files(reproducer, folder):
    text = reproducer.read_text()
    path = folder / "damaged.mlir"
    for name, content, reason in damaged(text):
        path.write_text(content)
        with pytest.raises(errors.ConfigError) as info:
            Reproducer(str(path)).failure()
        assert str(info.value).startswith(f"[E0709] '{path}' is no reproducer that can be run: "), name
        assert reason in str(info.value), (name, str(info.value))


def test_file_cut_anywhere(reproducer, folder):
    """Each is refused with a code, or fails as the whole does; nothing else is raised."""
    text, path = reproducer.read_text(), folder / "cut.mlir"
    for size in range(0, len(text), max(1, len(text) // 60)):
        path.write_text(text[:size])
        try:
            assert Reproducer(str(path)).failure().code == "E0900"
        except errors.ConfigError as error:
            assert error.code == "E0709"


def test_missing_file(folder, capsys):
    assert cli.main(["repro", str(folder / "none.mlir")]) == 1
    assert "[E0709]" in (err := capsys.readouterr().err) and "No such file or directory" in err


# ---------------------------------------------------------------------------
# The searches
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("culprit", [None, *range(len(optimisations()))])
def test_search_of_the_culprit(culprit):
    names, asked = optimisations(), []

    def is_wrong(skipped):
        asked.append(skipped)
        return culprit is None or names[culprit] not in skipped

    found, skipped = find_culprit(is_wrong)
    assert found == (None if culprit is None else names[culprit]) and len(asked) <= 2 + len(names).bit_length()
    assert is_wrong(skipped) and (found is None or not is_wrong([found, *skipped]))


def test_shrinking_keeps_what_is_interesting():
    def shrink_text(text, first, count):
        return text[:first] + text[first + count :] if count else None

    interesting = "a" * 50 + "X" + "b" * 30 + "Y" + "c" * 41
    assert shrink(interesting, lambda t: "X" in t and "Y" in t, len, shrink_text) == "XY"
    assert shrink("abc", lambda t: t == "abc", len, shrink_text) == "abc"


def test_every_operation_can_be_asked_for(reproducer):
    """Whatever goes, what is left can be read again."""
    text = Reproducer(str(reproducer)).module
    number, fewer = _core.count_operations(text), 0
    for first in range(number):
        candidate = _core.shrink_module(text, first, 1)
        if candidate is not None:
            assert _core.count_operations(candidate) <= number
            fewer += 1
    assert number > 5 and fewer > 2 and _core.shrink_module(text, number, 1) is None
