# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which pages the site has, in which order, and where links between files lead on it."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Files outside docs/ that are pages of the site, too.
FROM_ELSEWHERE = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/results/h200.md": "project/h200.md",
    "ir/dialect/Rationale.md": "project/rationale.md",
}

# Files that a page of the site is made from -> that page.
MADE_FROM = {
    "docs/examples/tiles.py": "reference/tiles.md",
    "docs/examples/memory.py": "reference/memory.md",
    "docs/examples/computing.py": "reference/arithmetic.md",
    "docs/examples/package.py": "reference/package.md",
}

# Title -> pages of docs/ in their order. A page that no row names stands at the end of "Guides".
SECTIONS = {
    "Guides": [
        "launch.md",
        "interpreter.md",
        "proving.md",
        "autotuner.md",
        "profiling.md",
        "explaining.md",
        "exporting.md",
        "torch.md",
        "jax.md",
        "editors.md",
        "cache.md",
        "recipes.md",
    ],
    "Reference": ["errors.md", "internal_errors.md", "knobs.md", "glossary.md"],
    "From Triton": ["coming_from_triton.md", "compatibility.md"],
    "How it works": [
        "architecture.md",
        *(
            f"architecture/{phase}.md"
            for phase in (
                "launch",
                "cache",
                "front_end",
                "interpreter",
                "tile_level",
                "layout_level",
                "asynchrony",
                "resources",
                "code_generation",
                "assembler",
                "around",
            )
        ),
        "layouts.md",
        "house.md",
    ],
}


def lessons() -> list[Path]:
    return sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.py"))


def lesson_page(path: Path) -> str:
    return f"lessons/{path.stem}.md"


def navigation(reference: list[str]) -> list:
    """The `nav` of mkdocs; `reference` are the generated pages of the reference."""
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    placed = {page for pages in SECTIONS.values() for page in pages} | {"index.md"}
    sections = {title: [page for page in pages if page in there] for title, pages in SECTIONS.items()}
    sections["Guides"] += sorted(there - placed)
    sections["Reference"] = reference + sections["Reference"]
    return [
        {"Start": ["index.md"]},
        {"Lessons": ["lessons/index.md", *map(lesson_page, lessons())]},
        {"Guides": sections["Guides"]},
        {"Reference": sections["Reference"]},
        {"Performance": ["performance.md", "project/h200.md", "project/benchmarks.md"]},
        {"From Triton": sections["From Triton"]},
        {"How it works": sections["How it works"]},
        {"Project": ["project/contributing.md", "project/changelog.md", "project/security.md", "project/rationale.md"]},
    ]


def site_path(repository_path: str) -> str | None:
    """The page that shows a file of the repository."""
    shown = {**FROM_ELSEWHERE, **MADE_FROM}.get(repository_path)
    if shown:
        return shown
    if re.fullmatch(r"docs/[\w/]+\.md", repository_path):
        return repository_path[len("docs/") :]
    if re.fullmatch(r"tutorials/\d\d_\w+\.py", repository_path):
        return f"lessons/{Path(repository_path).stem}.md"
    return None


def repository_path(page: str) -> str:
    """Where the text of a page comes from."""
    return next((source for source, shown in FROM_ELSEWHERE.items() if shown == page), f"docs/{page}")


LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s:]+)\)")


def on_the_site(text: str, page: str) -> str:
    """`text` with its links to files of the repository as links to pages; a file without a page is named only."""
    source = repository_path(page)

    def replaced(match):
        words, target = match.groups()
        path, _, anchor = target.partition("#")
        if not path:
            return match.group(0)
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        shown = site_path(file)
        if shown is None:
            # Pages that are generated are linked as they are.
            return words if (ROOT / file).exists() else match.group(0)
        link = posixpath.relpath(shown, posixpath.dirname(page) or ".")
        return f"[{words}]({link}{'#' + anchor if anchor else ''})"

    return LINK.sub(replaced, text)
