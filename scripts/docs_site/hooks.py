# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mkdocs calls while it builds the site: adds the pages and pictures that are made from the sources."""

from __future__ import annotations

import concurrent.futures
import sys
from pathlib import Path

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs_site import error_examples, lessons, pages, performance, pictures, reference  # noqa: E402

_made: dict[str, str | bytes] = {}


def on_config(config):
    """Makes all pages, since the navigation names them."""
    _made.clear()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        # The kernels run in processes of their own; the plots are drawn here meanwhile.
        running = [pool.submit(make) for make in (lessons.make, reference.make)]
        _made.update(performance.make())
        for one in running:
            _made.update(one.result())
    for source, page in pages.FROM_ELSEWHERE.items():
        _made[page] = (pages.ROOT / source).read_text()
    config.nav = pages.navigation(reference.PAGES)
    return config


def on_files(files, config):
    for path, content in sorted(_made.items()):
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    path = page.file.src_uri
    if path == "errors.md":
        markdown = error_examples.added_to(markdown)
    if path.startswith("architecture"):
        markdown = pictures.put_into(markdown)
    return pages.on_the_site(markdown, path)
