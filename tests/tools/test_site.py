# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation site builds without a warning, is complete, and asks no other host for anything."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import tilewright
import tilewright.language as tl
from tools.check_messages import catalogue
from tools.sources import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from docs_site import error_examples, lessons, pages, pictures, reference, run_examples  # noqa: E402

needs_mkdocs = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("material", "mkdocs", "matplotlib")),
    reason="the site needs mkdocs-material and matplotlib",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site; --strict makes an error of each broken link and anchor."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Page(HTMLParser):
    """What a page loads by itself, the pictures that it shows, and its text."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.pictures, self.words = [], [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        is_loaded = tag in ("script", "img", "iframe", "source") or (tag == "link" and found.get("rel") != "canonical")
        address = found.get("href") if tag == "link" else found.get("src")
        if is_loaded and address:
            self.loaded.append(address)
        if tag == "img":
            self.pictures.append(address)

    def handle_data(self, data):
        self.words.append(data)


def foreign_in(addresses):
    return [address for address in addresses if re.match(r"(https?:)?//", address)]


@needs_mkdocs
def test_nothing_comes_from_another_host(site):
    found = {str(path.relative_to(site)): foreign_in(Page(path).loaded) for path in site.rglob("*.html")}
    assert len(found) > 40 and not {page: addresses for page, addresses in found.items() if addresses}
    for path in site.rglob("*.css"):
        assert not foreign_in(re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", path.read_text())), path


def test_foreign_address_is_found(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="canonical" href="https://a.b"><link rel="stylesheet" href="//fonts.example/x.css">'
        '<a href="https://c.d">text</a><img src="plot.svg"><script src="https://e.f/x.js"></script>'
    )
    assert foreign_in(Page(page).loaded) == ["//fonts.example/x.css", "https://e.f/x.js"]


@needs_mkdocs
@pytest.mark.parametrize("lesson", pages.lessons(), ids=lambda path: path.stem)
def test_lesson_is_a_page(site, lesson):
    """With a plot in both forms, and with what the lesson prints: of one about a framework, what is missing."""
    page = Page(site / "lessons" / f"{lesson.stem}.html")
    plots = [picture for picture in page.pictures if "plots/" in picture]
    if any("this lesson needs" in words for words in page.words):
        assert lesson.stem in ("20_torch_custom_op", "21_jax", "22_cupy") and not plots
        return
    assert any(picture.endswith("light.svg#only-light") for picture in plots) and any(
        picture.endswith("dark.svg#only-dark") for picture in plots
    )
    assert all((site / "lessons" / picture.partition("#")[0]).is_file() for picture in plots)
    assert any("running on the CPU" in words or "running on the GPU" in words for words in page.words)


@needs_mkdocs
def test_each_phase_has_a_picture(site):
    """A page for each phase that the first page lists, with a picture; the site shows all of them as SVG."""
    first = (ROOT / "docs" / "architecture.md").read_text()
    phases = re.findall(r"^\| \[\d\w? [\w ]+\]\((architecture/\w+\.md)\)", first, re.MULTILINE)
    assert len(phases) == 10
    marked = []
    for page in ["architecture.md", *phases, "architecture/around.md"]:
        pictured = re.findall(r"<!-- picture: ([\w-]+) -->", (ROOT / "docs" / page).read_text())
        assert pictured and (site / page.replace(".md", ".html")).read_text().count("tw-picture") == len(pictured), page
        marked += pictured
    assert sorted(marked) == sorted(pictures.PICTURES)


@needs_mkdocs
def test_reference_is_whole(site):
    """Each public name of the language and of the package stands on a page of the reference."""
    text = "\n".join("".join(Page(site / page.replace(".md", ".html")).words) for page in reference.PAGES)
    words = {word.rstrip(".") for word in re.findall(r"[\w.]+", text)}
    names = [f"tl.{name}" for name in tl.__all__] + [f"tw.{name}" for name in tilewright.__all__] + reference.libdevice_names()
    names += [f"tile.{name}" for name in reference.methods()]
    names += [f"tw.{library}.{name}" for library in ("testing", "tuning") for name in getattr(tilewright, library).__all__]
    assert len(names) > 450 and not {*names} - words


def test_public_names_are_placed():
    placed = [name for _, _, names in reference.GROUPS.values() for name in names.split()] + reference.MODULES
    assert sorted(placed) == sorted(tl.__all__)
    placed = [name for names in reference.PACKAGE.values() for name in names.split()] + reference.PACKAGE_MODULES
    assert sorted(placed) == sorted(tilewright.__all__)


@pytest.mark.parametrize("prefix, module", [("", tl), ("tw.", tilewright)], ids=["language", "package"])
def test_public_names_are_documented(prefix, module):
    """By a docstring of their own, and an example; one object may have two names."""
    examples = run_examples.examples_in(ROOT / "docs" / "examples")
    shown = {id(getattr(module, name.removeprefix(prefix), None)) for name in examples if name.startswith(prefix)}
    for name in module.__all__:
        value = getattr(module, name)
        if name in reference.ELEMENTS or inspect.ismodule(value):
            continue
        assert reference.documentation(name, value), f"{name} has no docstring"
        assert prefix + name in examples or id(value) in shown, f"docs/examples has no '# %% {prefix}{name}'"


def test_each_error_has_an_example():
    rows = catalogue((ROOT / "ir" / "support" / "ErrorCatalogue.def").read_text())
    found = error_examples.examples()
    assert not [code for code, *_ in rows if code not in found]
    assert all(code in text for code, text in found.items())
    for code, _, message, _ in rows:
        if code in error_examples.MESSAGES:
            pattern = error_examples.pattern_of(message)
            assert pattern.fullmatch(f"[{code}] {error_examples.MESSAGES[code]}", len(code) + 3), code
    kernels = [code for code, text in found.items() if "```python" in text]
    assert len(kernels) >= 60


def test_lesson_is_split():
    source = (
        '"""Lesson 1: a thing.\n\nWhy.\n"""\n\nimport x\n\n# A sentence\n# of two lines.\n\n\n'
        "def f():\n    # stays\n    pass\n\n\n# beside\ny = 1\n"
    )
    assert lessons.parts_of(source) == [
        ("text", "Why."),
        ("code", "import x"),
        ("text", "A sentence\nof two lines."),
        ("code", "def f():\n    # stays\n    pass"),
        ("code", "# beside\ny = 1"),
    ]


@pytest.mark.parametrize(
    "text, page, expected",
    [
        ("[a](../CONTRIBUTING.md#wheels)", "architecture.md", "[a](project/contributing.md#wheels)"),
        ("[a](docs/launch.md)", "project/contributing.md", "[a](../launch.md)"),
        ("[a](../launch.md) [b](cache.md)", "architecture/launch.md", "[a](../launch.md) [b](cache.md)"),
        ("[a](../tutorials/01_vector_add.py)", "index.md", "[a](lessons/01_vector_add.md)"),
        ("[a](examples/tiles.py)", "index.md", "[a](reference/tiles.md)"),
        ("[a](../Makefile)", "index.md", "a"),
        ("[a](#there) [b](https://c.d/e)", "index.md", "[a](#there) [b](https://c.d/e)"),
    ],
)
def test_links_lead_to_pages(text, page, expected):
    assert pages.on_the_site(text, page) == expected
