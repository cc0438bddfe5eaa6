# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compile campaign on checkouts made up here: what it finds, guesses, survives and counts."""

import ast
import json
import sys
import textwrap

import pytest

from suites.campaign_table import table
from suites.compile_kernels import main, read_results
from suites.import_stubs import dotted_name, import_file
from suites.kernel_discovery import discover, launches_in
from suites.kernel_facts import Facts
from suites.signature_guess import Launch

KERNELS = """
    import missing_requirement
    from missing_requirement.parts import wrap
    import os
    import triton
    import triton.language as tl

    os.makedirs("made/by/the/import", exist_ok=True)

    @triton.jit
    def double(x):
        return x + x

    @wrap
    @triton.autotune([triton.Config({"BLOCK": 256}, num_warps=2)], key=["n"])
    @triton.jit
    def twice(x_ptr, index_ptr, out_ptr, n, HAS_INDEX: tl.constexpr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if HAS_INDEX:
            offsets = tl.load(index_ptr + offsets)
        tl.store(out_ptr + offsets, double(tl.load(x_ptr + offsets, offsets < n)), offsets < n)

    @triton.jit
    def refused(out_ptr):
        tl.store(out_ptr + tl.arange(0, 3), 1.0)

    @triton.constexpr_function
    def end_process(n):
        os.abort()

    @triton.jit
    def crashes(out_ptr, n: tl.constexpr):
        tl.store(out_ptr, end_process(n))

    @triton.constexpr_function
    def run_forever(n):
        while True:
            pass

    @triton.jit
    def hangs(out_ptr, n: tl.constexpr):
        tl.store(out_ptr, run_forever(n))

    def host(x, out):
        twice[(1,)](x, None, out, 5, HAS_INDEX=False)
        refused[(1,)](out)
"""


@pytest.fixture
def sources(tmp_path):
    package = tmp_path / "sources" / "owner+name" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('needs a GPU')\n")
    (package / "kernels.py").write_text(textwrap.dedent(KERNELS))
    (package / "old.py").write_text("print 'Python 2'\n")
    return tmp_path / "sources"


def test_kernels_of_a_checkout(sources):
    (source,) = discover(sources / "owner+name")
    assert source.path == "package/kernels.py"
    entries = [kernel.name for kernel in source.kernels if kernel.is_entry]
    assert entries == ["twice", "refused", "crashes", "hangs"]
    assert [name for name, _, _ in source.launches] == ["twice", "refused"]
    assert dotted_name(sources / "owner+name" / source.path)[0] == "package.kernels"


def test_kernel_whose_expression_is_too_deep_to_print(tmp_path):
    sums = {name: " + ".join(["x"] * 1500 + [name]) for name in "yz"}
    for name, text in sums.items():
        (tmp_path / f"{name}.py").write_text(f"@triton.jit\ndef deep(x, {name}):\n    {name} = {text}\n")
    digests = [source.kernels[0].digest for source in discover(tmp_path)]
    assert len(set(digests)) == 2


def test_file_whose_own_test_fails(tmp_path):
    path = tmp_path / "lone.py"
    path.write_text("class Kernel:\n    run = fn = None\nkernel = Kernel()\nraise AssertionError('no GPU')\n")
    assert hasattr(import_file(path), "kernel")
    path.write_text("raise AssertionError('no GPU')\n")
    with pytest.raises(AssertionError, match="no GPU"):
        import_file(path)


def test_file_that_imports_its_neighbour(tmp_path, monkeypatch):
    """Without an `__init__` anywhere."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "an-archive" / "neighbours"
    folder.mkdir(parents=True)
    (folder / "sizes.py").write_text("SIZE = 8\n")
    (folder / "kernels.py").write_text("from .sizes import SIZE\n")
    assert import_file(folder / "kernels.py").SIZE == 8


def test_words_of_parameters():
    function = ast.parse(
        textwrap.dedent("""
        def kernel(a, b, c, n, K, MODE, T, table, *rest, **more):
            rows = tl.load(table + tl.arange(0, K))
            p = a + rows[:, None] * n
            x = tl.load(p).to(T)
            if MODE == "sum":
                tl.store(b + rows, tl.dot(x, helper(c)))
    """)
    ).body[0]
    helper = ast.parse("def helper(source):\n    return tl.load(source)").body[0]
    words = Facts(function, lambda f: (helper, lambda g: None) if getattr(f, "id", "") == "helper" else None).words
    assert words["a"] == {"pointer", "dot"} and words["b"] == {"pointer"} and words["c"] == {"pointer"}
    assert words["table"] == {"pointer", "index"} and words["n"] == {"bound"} and "extent" in words["K"]
    assert words["MODE"] == {"text:sum"} and words["T"] == {"dtype"}
    assert words["rest"] == words["more"] == set()


def test_words_of_keywords():
    function = ast.parse(
        textwrap.dedent("""
        def kernel(a, MODIFIER, FIRST, SECOND, AXIS):
            x = tl.load(a, cache_modifier=MODIFIER)
            helper(tl.dot_scaled(x, None, FIRST, x, None, rhs_format=SECOND), AXIS)
    """)
    ).body[0]
    helper = ast.parse("def helper(x, axis):\n    return tl.max(x, axis=axis)").body[0]
    words = Facts(function, lambda f: (helper, lambda g: None) if getattr(f, "id", "") == "helper" else None).words
    assert words["MODIFIER"] == {"text:.cg"} and words["FIRST"] == words["SECOND"] == {"text:e2m1"}
    assert words["AXIS"] == {"axis"}


def test_launch_takes_the_defaults_of_the_function_around_it():
    tree = ast.parse(
        textwrap.dedent("""
        def host(x, block=128, extra=None, *, stages: int = 2):
            kernel[(1,)](x, extra, BLOCK=block, STAGES=stages)
    """)
    )
    ((_, call, around),) = launches_in(tree)
    launch = Launch(call, around, {}, ["x", "extra", "BLOCK", "STAGES"])
    assert (launch.value("BLOCK"), launch.value("STAGES")) == (128, 2)
    assert not isinstance(launch.value("x"), int) and launch.value("extra") is not None, "nothing is known of these"


@pytest.mark.slow
def test_campaign_survives_and_resumes(sources, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results.jsonl"
    arguments = ["--sources", "sources", "--results", str(results), "--target", "sm_90a", "--stages", "1", "--seconds", "2"]
    assert main([*arguments, "--kernel", "twice", "--kernel", "refused"]) == 0
    assert not (tmp_path / "made").exists(), "what an import leaves goes away"
    assert main(arguments) == 1, "a crash fails the campaign"
    found = {line["kernel"]: line for line in read_results(results)}
    assert {name: line["status"] for name, line in found.items()} == {
        "twice": "compiled",
        "refused": "refused",
        "crashes": "crash",
        "hangs": "timeout",
    }
    assert len(read_results(results)) == 4, "what is known is not compiled again"
    assert found["twice"]["signature"] == {"x_ptr": "*fp16", "out_ptr": "*fp16", "n": "i32"}
    assert found["twice"]["constants"] == {"index_ptr": None, "HAS_INDEX": False, "BLOCK": 256}
    assert found["twice"]["options"] == {"num_warps": 2}
    assert found["crashes"]["message"] == "SIGABRT" and found["refused"]["code"].startswith("E01")
    text = capsys.readouterr().out
    assert "crash  owner+name/package/kernels.py:crashes sm_90a 1 stages: SIGABRT" in text


@pytest.mark.slow
def test_recorded_arguments(sources, tmp_path):
    results, recorded = tmp_path / "results.jsonl", tmp_path / "recorded.jsonl"
    given = {
        "signature": {"x_ptr": "*fp32", "index_ptr": "*i64", "out_ptr": "*fp32", "n": "i64"},
        "constants": {"HAS_INDEX": True, "BLOCK": 64},
        "divisibility": {"x_ptr": 16},
        "options": {"num_warps": 1},
    }
    recorded.write_text(json.dumps({"repository": "owner+name", "file": "package/kernels.py", "kernel": "twice", **given}))
    assert (
        main(
            [
                "--sources",
                str(sources),
                "--results",
                str(results),
                "--recorded",
                str(recorded),
                "--kernel",
                "twice",
                "--target",
                "sm_80",
                "--stages",
                "3",
            ]
        )
        == 0
    )
    (line,) = read_results(results)
    assert line["status"] == "compiled" and {name: line[name] for name in given} == given


def test_table_counts_kernels_by_their_worst_configuration():
    def line(kernel, stages, status, **more):
        return {
            "repository": "r",
            "file": "f.py",
            "kernel": kernel,
            "target": "sm_80",
            "stages": stages,
            "status": status,
            **more,
        }

    results = [
        line("a", 1, "compiled", seconds=0.5),
        line("a", 3, "crash", message="SIGSEGV"),
        line("b", 1, "compiled", seconds=4.0),
        line("b", 3, "compiled", seconds=0.5),
        line("c", 1, "refused", code="E0109", message="dot does not support i32 x i32"),
    ]
    text = table(results, [line("c", 1, "compiled")])
    assert "longest 4.0; 1 (33.33%) above 3" in text
    assert [row.split() for row in text.splitlines() if row.startswith("all")] == [["all", "3", "1", "1", "0", "0", "1", "0"]]
    assert "       1      1                1  refused E0109 dot does not support i_ x i_" in text
