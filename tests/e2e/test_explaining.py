# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright explain`: what the compiler says of a kernel, by line."""

import html.parser
import importlib.util
import inspect
import json
import linecache
import os
import re
import subprocess
import sys

import pytest

import tilewright
import tilewright.language as tl
from harness.mock_driver import FakeTensor
from tilewright import errors, knobs
from tilewright.compiler.disk_cache import store_of
from tilewright.explaining import kept, machine_code, pair_page
from tilewright.explaining.facts import Line, explain, occupancy_of
from tilewright.explaining.findings import findings, formula
from tools.sources import ROOT

ATTENTION = ("*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,fp32,i32:16,128,64,128,True", "--num-warps", "8")


@tilewright.jit
def scatter(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    good = tl.load(x + i)
    bad = tl.load(x + i * 32)  # a sector per element
    tl.store(y + i, good + bad)


@tilewright.jit
def transpose(x, y, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tl.store(y + j * B + i, tl.load(x + i * B + j))


def explained(function, *signature, divisible=(), target="sm_90a", options=None, **constants):
    source = tilewright.ASTSource(function, dict(zip(function.arg_names, signature)), constants, dict.fromkeys(divisible, 16))
    return explain(source, target, {"arguments_may_overlap": False, **(options or {})})


def line_of(function, text):
    """The number of the line of `function` that holds `text`."""
    lines, first = inspect.getsourcelines(function.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_an_access_that_is_not_coalesced():
    explanation = explained(scatter, "*fp32", "*fp32", "i32", divisible=("x", "y"), B=1024)
    bad = {number for kind, number, _ in findings(explanation) if kind == "bad" and number}
    assert bad == {line_of(scatter, "bad = ")}
    (sentence,) = [sentence for _, number, sentence in findings(explanation) if number in bad]
    assert "coalesced" in sentence and "100%" not in sentence


@tilewright.jit
def rows_of(ptr, B: tl.constexpr, STEP: tl.constexpr):
    return tl.load(ptr + tl.arange(0, B) * STEP)


@tilewright.jit
def adds_rows(x, y, out, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), rows_of(x, B, 1) + rows_of(y, B, 32))


def sentences(explanation):
    return [sentence for _, _, sentence in findings(explanation)]


def test_accesses_of_one_line_are_told_apart_by_their_parameters():
    """A function that loads for several callers says whose load is not coalesced."""
    explanation = explained(adds_rows, "*fp32", "*fp32", "*fp32", divisible=("x", "y", "out"), B=1024)
    bad = [(number, sentence) for kind, number, sentence in findings(explanation) if kind == "bad" and number]
    assert [number for number, _ in bad] == [line_of(rows_of, "tl.load")]
    assert bad[0][1].startswith("y: an access is only ")
    assert "1 of 3 accesses of global memory is not coalesced" in sentences(explanation)
    assert "x: vectors of 4 (128 bits), 100% coalesced" in explanation.text()


def test_elements_of_one_address_take_one_sector():
    """Eight neighbours read one scale: a warp touches four addresses, not 32."""

    @tilewright.jit
    def scaled(x, scales, y, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * tl.load(scales + i // 8))

    explanation = explained(scaled, "*fp32", "*fp32", "*fp32", divisible=("x", "scales", "y"), B=128, options={"num_warps": 4})
    assert "every access of global memory is coalesced: a warp uses all bytes that it moves" in sentences(explanation)
    (row,) = [r for line in explanation.lines() for r in line.remarks if r.get("parameter") == "scales"]
    assert row["numbers"]["sectorsPerWarpAccess"] == 4


def test_bank_conflicts_are_told_and_denied():
    """No conflict is said as such, with how many accesses that is about; where code has some, the line is named."""
    explanation = explained(transpose, "*fp32", "*fp32", divisible=("x", "y"), B=64)
    (sentence,) = [s for s in sentences(explanation) if "bank conflicts" in s]
    assert re.fullmatch(r"no bank conflicts in \d+ accesses of tiles in shared memory", sentence)
    explanation = explained(scatter, "*fp32", "*fp32", "i32", divisible=("x", "y"), B=1024)
    assert "no bank conflicts: no thread reads or writes shared memory" in sentences(explanation)

    @tilewright.jit
    def product(x, y, z, N: tl.constexpr):
        i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
        total = tl.zeros((N, N), tl.float32)
        for k in range(0, 4 * N * N, N * N):
            a = tl.load(x + i * N + j + k)
            total = tl.dot(a, tl.load(y + i * N + j + k), total)
        tl.store(z + i * N + j, total)

    # Four rows of 32-bit elements lie where the lanes that read a column of them meet in one bank.
    explanation = explained(product, "*fp32", "*fp32", "*fp32", divisible=("x", "y", "z"), N=32, target="sm_80")
    bad = {number: sentence for kind, number, sentence in findings(explanation) if kind == "bad"}
    assert re.fullmatch(r"bank conflicts in \d+ of \d+ accesses of tiles in shared memory", bad[None])
    words = "bank conflicts: read in vectors of 1 (32 bits), in 2 wavefronts where 1 would do"
    assert bad[line_of(product, "total = tl.dot")] == words
    for kind in ("*fp16", "*bf16"):
        explanation = explained(product, kind, kind, "*fp32", divisible=("x", "y", "z"), N=32, target="sm_80")
        assert any(s.startswith("no bank conflicts in ") for s in sentences(explanation)), kind


def test_tiles_hold_each_element():
    explanation = explained(scatter, "*fp32", "*fp32", "i32", divisible=("x", "y"), B=1024)
    tiles = [tile for line in explanation.lines() for tile in line.tiles]
    assert tiles and {tile["type"] for tile in tiles} >= {"f32"}
    for tile in tiles:
        columns = [column for name in ("register", "lane", "warp", "block") for column in tile[name]]
        reached = {(0,) * len(tile["shape"])}
        for column in columns:
            reached |= {tuple(a ^ b for a, b in zip(point, column)) for point in reached}
        assert len(reached) == 1024, "every element has a thread"


def test_code_belongs_to_lines():
    explanation = explained(scatter, "*fp32", "*fp32", "i32", divisible=("x", "y"), B=1024)
    lines = {line.number: line for line in explanation.lines()}
    load, store = lines[line_of(scatter, "good = ")], lines[line_of(scatter, "tl.store")]
    assert any("ld.global" in text for text in load.ptx) and any("st.global" in text for text in store.ptx)
    assert not any("st.global" in text for text in load.ptx)
    kinds = dict(explanation.mix)
    assert kinds["global memory"] > 0 and sum(kinds.values()) > 10


def test_shared_memory_and_exchanges():
    explanation = explained(transpose, "*fp32", "*fp32", divisible=("x", "y"), B=64)
    (piece,) = explanation.shared
    assert piece["what"] == "layout change of tile<64x64xf32>" and piece["bytes"] == explanation.resources["shared_bytes"] > 0
    assert 0 <= piece["first"] <= piece["last"] < explanation.positions
    kinds = [remark["kind"] for line in explanation.lines() for remark in line.remarks]
    assert "layout-conversion" in kinds


def test_exchanged_addresses_are_told_from_what_they_point_to():
    @tilewright.jit
    def rows(x, places, y, R: tl.constexpr, C: tl.constexpr):
        i, j = tl.arange(0, R), tl.arange(0, C)
        row = x + tl.load(places + i, volatile=True).to(tl.int64) * C  # a load that keeps its layout
        tl.store(y + i[:, None] * C + j, tl.load(row[:, None] + j))

    explanation = explained(
        rows, "*fp16", "*i32", "*fp16", divisible=("x", "places", "y"), R=64, C=128, options={"num_warps": 4}
    )
    exchanged = [piece["what"] for piece in explanation.shared]
    assert exchanged == ["result of a volatile load of tile<64xi32>", "layout change of tile<64x*f16>"], exchanged


def test_barriers_have_reasons():
    @tilewright.jit
    def two_sums(x, y, B: tl.constexpr):
        i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
        tile = tl.load(x + i * B + j)
        tl.store(y + j * B + i, tl.trans(tl.trans(tile) + tl.sum(tile, 0)[:, None]))

    explanation = explained(two_sums, "*fp32", "*fp32", divisible=("x", "y"), B=64, options={"num_warps": 4})
    reasons = [remark["reason"] for line in explanation.lines() for remark in line.remarks if remark["kind"] == "barrier"]
    assert reasons and all("other threads" in reason and "shared memory of" in reason for reason in reasons)


def test_occupancy_names_its_limit():
    few = occupancy_of("sm_90a", 128, 255, 0)
    assert few["blocks"] == 2 and few["limited_by"] == ["registers"] and "shared_memory" not in few["limits"]
    assert occupancy_of("sm_90a", 128, 32, 100_000)["limited_by"] == ["shared_memory"]
    registers, shared = few["resources"]["registers"], occupancy_of("sm_90a", 128, 32, 100_000)["resources"]["shared_memory"]
    assert registers == {"blocks": 2, "takes": 256 * 128, "has": 65536, "limit": 168}
    assert occupancy_of("sm_90a", 128, registers["limit"], 0)["blocks"] == 3
    assert occupancy_of("sm_90a", 128, registers["limit"] + 8, 0)["blocks"] == 2
    assert shared["takes"] == 101_024 and shared["has"] == 233_472
    assert occupancy_of("sm_90a", 128, 32, shared["limit"])["blocks"] == 3
    assert occupancy_of("sm_90a", 128, 32, shared["limit"] + 1)["blocks"] == 2
    full = occupancy_of("sm_90a", 1024, 16, 0)
    assert full["limited_by"] == ["threads"] and full["threads"] == full["max_threads"] == 2048


def test_the_line_that_needs_most_registers_is_named():
    @tilewright.jit
    def outer(x, y, out, B: tl.constexpr):
        i = tl.arange(0, B)
        a, b = tl.load(x + i), tl.load(y + i)
        product = a[:, None] * b[None, :]
        tl.store(out + i[:, None] * B + i[None, :], tl.exp(product) + product)

    explanation = explained(outer, "*fp32", "*fp32", "*fp32", divisible=("x", "y", "out"), B=64, options={"num_warps": 4})
    assert explanation.pressure["data"] >= 64 * 64 // 128
    lines = [number for _, number, sentence in findings(explanation) if sentence.startswith("most registers are needed here: ")]
    texts = [line.text for line in explanation.lines() if line.number in lines]
    assert len(texts) == 1 and "product" in texts[0]


def test_formulas():
    assert formula(["trips", 0, ["div", ["add", ["parameter", "K"], 31], 32], 1]) == "len(range(0, ((K + 31) // 32), 1))"
    assert formula(None) == "unknown" and formula(["program", 1]) == "program_id(1)"


def test_machine_code_by_line():
    text = """
	//## File "/a/k.py", line 4
        /*0000*/                   LDC R1, c[0x0][0x28] ;        // |   1  |
        /*0010*/              @!P0 LDG.E.128 R4, [R2.64] ;       // |   9  |
	//## File "/a/k.py", line 5
        /*0020*/                   HFMA2.MMA R1, -RZ, RZ ;       // |   7  |
"""
    found, live, every = machine_code.sass_by_line(text)
    assert found == {
        ("/a/k.py", 4): ["LDC R1, c[0x0][0x28]", "@!P0 LDG.E.128 R4, [R2.64]"],
        ("/a/k.py", 5): ["HFMA2.MMA R1, -RZ, RZ"],
    }
    assert live == {("/a/k.py", 4): 9, ("/a/k.py", 5): 7}
    assert dict(machine_code.mix(every)) == {"moves": 1, "global memory": 1, "float arithmetic": 1}


def command(*arguments, **environment):
    full = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    return subprocess.run(
        [sys.executable, "-m", "tilewright", "explain", *arguments], cwd=ROOT, env=full, capture_output=True, text=True
    )


class _Page(html.parser.HTMLParser):
    """Checks that elements nest, and that nothing is loaded from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], set(), []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        assert "src" not in values and tag != "link"
        self.ids.add(values.get("id"))
        self.links += [values["href"]] if "href" in values else []
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_of_attention(tmp_path):
    signature, *options = ATTENTION
    (tmp_path / "p.json").write_text(
        json.dumps(
            {
                "kernels": [
                    {
                        "kernel": "forward_kernel",
                        "seconds": 1.0,
                        "timed": 4,
                        "mean_seconds": 5e-4,
                        "roofline_share": 0.62,
                        "limit": "compute",
                    }
                ]
            }
        )
    )
    page = tmp_path / "page.html"
    done = command(
        "tutorials/06_fused_attention.py:forward_kernel",
        "-s",
        signature,
        *options,
        "-o",
        str(page),
        "--profile",
        str(tmp_path / "p.json"),
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert len(text) < 3_000_000
    parsed = _Page()
    parsed.feed(text)
    assert parsed.open == [] and parsed.links and {link[1:] for link in parsed.links} <= parsed.ids
    for wanted in (
        "limited by",
        "scores = tl.dot(q, k.T)",
        "data-layout=",
        "500.0 us",
        "62% of the roofline",
        "wgmma",
        "slots 3",
        # Why one block fits and not two, whether there are bank conflicts, whether loads are coalesced.
        " of 65,536 registers (",
        "of 233,472 bytes of shared memory (131,072 of the kernel and 1,024 of the system)",
        "2 blocks would fit with at most 128 registers in a thread and 115,712 bytes of shared memory in a block",
        "no bank conflicts in ",
        "every access of global memory is coalesced: a warp uses all bytes that it moves",
        "v_ptr: vectors of 8 (128 bits), 100% coalesced",
    ):
        assert wanted in text, wanted


def test_the_text(tmp_path):
    done = command("tutorials/01_vector_add.py:add_kernel", "-s", "*fp32:16,*fp32:16,*fp32:16,i32:16,1024", "--tiles")
    assert (
        done.returncode == 0 and "what stands out" in done.stdout and "vectors of 4 (128 bits), 100% coalesced" in done.stdout
    )
    assert "tile<1024xf32> of tw.load" in done.stdout


def test_two_configurations():
    kernel, signature = "tutorials/01_vector_add.py:add_kernel", "*fp32:16,*fp32:16,*fp32:16,i32:16,1024"
    done = command(kernel, "-s", signature, "--num-warps", "8", "--diff", "BLOCK=2048,num_warps=4")
    rows = {tuple(line.split()) for line in done.stdout.splitlines()}
    assert done.returncode == 0 and {("BLOCK", "1,024", "2,048"), ("num_warps", "8", "4"), ("threads", "256", "128")} <= rows, (
        done.stderr
    )
    same = command(kernel, "-s", signature, "--diff", kernel)
    assert same.returncode == 0 and "nothing differs" in same.stdout


def test_two_configurations_on_a_page(tmp_path):
    page = tmp_path / "pair.html"
    done = command(
        "tutorials/01_vector_add.py:add_kernel",
        "-s",
        "*fp32:16,*fp32:16,*fp32:16,i32:16,1024",
        "--num-warps",
        "8",
        "--diff",
        "BLOCK=2048,num_warps=4",
        "-o",
        str(page),
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    parsed = _Page()
    parsed.feed(text)
    ids = re.findall(r' id="([^"]*)"', text)
    assert parsed.open == [] and len(ids) == len(set(ids)) and {link[1:] for link in parsed.links} <= parsed.ids
    assert "<th>BLOCK=1024, num_warps=8</th><th>BLOCK=2048, num_warps=4</th>" in text
    assert "<tr><td>threads</td><td>256</td><td>128</td></tr>" in text
    line = next(
        n for n, row in enumerate((ROOT / "tutorials/01_vector_add.py").read_text().splitlines(), 1) if "tl.store" in row
    )
    (row,) = [piece for piece in text.split("<div class='pair'>") if f'id="LA{line}"' in piece]
    assert f'id="LB{line}"' in row, "the same line of both stands in one row"


def test_lines_whose_decisions_differ_are_marked():
    first, second = (explained(transpose, "*fp32", "*fp32", divisible=("x", "y"), B=size) for size in (64, 32))
    line = line_of(transpose, "tl.store")
    assert re.search(rf'class="line \w* differs" id="LB{line}"', pair_page.render(first, second))
    assert ' differs"' not in pair_page.render(first, first).partition("<body>")[2]


def test_versions_are_aligned():
    def lines(*texts):
        return [Line(number, text) for number, text in enumerate(texts, 1)]

    pairs = list(
        pair_page._aligned(lines("def f():", "a = 1", "b = 2", "end"), lines("def f():", "new", "  a = 1", "b = 3", "c", "end"))
    )
    shown = [(a and a.text, b and b.text.strip()) for a, b in pairs]
    assert shown == [
        ("def f():", "def f():"),
        (None, "new"),
        ("a = 1", "a = 1"),
        ("b = 2", "b = 3"),
        (None, "c"),
        ("end", "end"),
    ]


def test_nothing_is_compiled_twice(tmp_path, monkeypatch):
    """A second explanation comes from the disk, with the same page; a line more above the kernel is another one."""
    calls, native = [], kept._compile
    monkeypatch.setattr(kept, "_compile", lambda request: (calls.append(1), native(request))[1])
    file = tmp_path / "kernels.py"
    text = (
        "import tilewright\nimport tilewright.language as tl\n\n@tilewright.jit\ndef add(x, B: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, B), 1.0)\n"
    )

    def page(content, name, **constants):
        file.write_text(content)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        linecache.checkcache()
        return explained(module.add, "*fp32", divisible=("x",), **constants).page()

    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path / "cache")
        knobs.cache.enabled = True
        first = page(text, "first", B=128)
        assert len(calls) == 1 and page(text, "first", B=128) == first and len(calls) == 1
        page(text, "first", B=256)
        assert len(calls) == 2
        moved = page("\n\n" + text, "first", B=128)
        assert len(calls) == 3 and 'id="L8"' in moved and 'id="L8"' not in first
        for entry in (tmp_path / "cache" / "explanations-1").rglob("*.bin"):
            entry.write_bytes(entry.read_bytes()[:-9])
        with pytest.warns(Warning, match="W0501"):
            assert page(text, "first", B=128) == first
        assert len(calls) == 4, "a damaged entry is a miss"


def test_an_entry_of_another_key_is_compiled_again(tmp_path):
    """An entry that is whole but holds what its name does not say is set aside, with a warning."""

    def page():
        return explained(transpose, "*fp32", "*fp32", divisible=("x", "y"), B=16).page()

    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path)
        knobs.cache.enabled = True
        first = page()
        store = store_of(kept.AREA, kept._CAPACITY)
        ((key, _, _),) = store.native.list()
        header, sections, _, _ = store.native.load(key)
        fields = json.loads(header)["fields"]
        store.native.store(
            key, json.dumps({**json.loads(header), "symbol": "other", "fields": {**fields, "places": "elsewhere"}}), sections
        )
        with pytest.warns(
            errors.CacheWarning,
            match=r"\[W0501\] discarded a damaged cache entry \(its fields belong to another key\)\s+"
            "help: it was recompiled; see 'tilewright cache verify'",
        ):
            assert page() == first
        assert json.loads(store.native.load(key)[0])["fields"] == fields


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("tutorials/01_vector_add.py:nothing", "-s", "i32"), "is no jit function"),
        (("tutorials/01_vector_add.py:add_kernel", "-s", "*fp32"), "E0205"),
        (("tutorials/01_vector_add.py:add_kernel", "-s", "*fp32,*fp32,*fp32,i32,1024", "-t", "sm_10"), "E0306"),
        (
            ("tutorials/01_vector_add.py:add_kernel", "-s", "*fp32,*fp32,*fp32,i32,1024", "--profile", "README.md"),
            "is no profile",
        ),
    ],
)
def test_mistakes_are_told(arguments, words):
    done = command(*arguments)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr


def test_from_a_kernel(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_OVERRIDE_ARCH", "sm_90a")
    explanation = scatter.explain(FakeTensor(), FakeTensor(), 1000, B=256, num_warps=2)
    assert explanation.resources["threads"] == 64 and explanation.configuration["B"] == 256
    assert "<canvas" in explanation.page()
