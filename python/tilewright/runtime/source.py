# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source of a kernel: its text, its AST and where both stand in the file.

Line and column numbers of the AST are those of the file. A nested (indented)
function is not dedented for that: its text is parsed as it stands below an
`if 1:` line, so columns need no correction, not even in continuation lines.
"""

from __future__ import annotations

import ast
import linecache
import re
import textwrap

from .. import _core, errors
from ..parsing import parse

_DEF = re.compile(r"^def\s+\w+\s*\(", re.MULTILINE)


def text_from_def(text: str, name: str) -> str:
    """Without decorators and the indentation of the whole."""
    text = textwrap.dedent(text)
    start = _DEF.search(text)
    if start is None:
        raise errors.make("E0101", name=name)
    return text[start.start() :]


def _is_in_file(path) -> bool:
    """Whether linecache would look for the text in a file, if there is one."""
    entry = linecache.cache.get(path)
    # Text that somebody has put there (a notebook, say) has no time of modification.
    return entry is None or len(entry) == 1 or entry[1] is not None


class FunctionSource:
    """Lazily read source of one Python function."""

    def __init__(self, fn, source=None):
        self.fn = fn
        self.file = fn.__code__.co_filename
        self._given = source
        self._text = None
        self._first_line = None
        self._tree = None
        self._src = None
        self._own_src = None  # what `src` says of the function's own text, once asked
        self._meaning = None

    def _read(self):
        if self._text is not None:
            return
        if self._given is not None:
            self._first_line = 1
            self._text = self._given
            return
        code = self.fn.__code__
        first = max(code.co_firstlineno, 1)
        # inspect.getsource tokenizes in Python and looks through all modules, which
        # takes longer than a kernel in the cache may take to its launch. So does
        # linecache, without which most files can be read.
        found = _core.read_source_block(code.co_filename, first) if _is_in_file(code.co_filename) else None
        if found is not None:
            text, self._meaning = found
        else:
            text = "".join(self._lines_by_linecache(first))
        self._first_line = first
        self._text = text  # last: other threads look at it

    def _lines_by_linecache(self, first):
        """Of an archive, a notebook's cell, a file in another encoding."""
        # A file that has changed since is read as it is now, as inspect does.
        linecache.checkcache(self.file)
        lines = linecache.getlines(self.file, self.fn.__globals__)
        if first > len(lines):
            raise errors.make("E0101", name=self.fn.__name__)
        text = "".join(lines[first - 1 :])
        count, meaning = _core.scan_source_block(text.encode("utf-8", "surrogatepass"))
        self._meaning = meaning.decode("utf-8", "surrogatepass")
        return lines[first - 1 : first - 1 + count]

    @property
    def first_line(self) -> int:
        """Line of the first decorator, or of `def` where there is none."""
        self._read()
        return self._first_line

    @property
    def text(self) -> str:
        """The text as it stands in the file, decorators included."""
        self._read()
        return self._text

    @property
    def src(self) -> str:
        """The dedented text from `def` on."""
        if self._src is None:
            self._src = text_from_def(self.text, self.fn.__name__)
            if self.is_own:
                self._own_src = self._src
        return self._src

    @property
    def is_own(self) -> bool:
        """Whether the text is the one that Python compiled, not a given one."""
        return self._given is None

    @property
    def meaning(self) -> str:
        """The text without what means nothing; see frontend/python/SourceBlock.h."""
        if self._meaning is None:
            self._read()
            if self._meaning is None:
                self._meaning = self.text
        return self._meaning

    def replace(self, text: str):
        """Puts other text in place of the function's own (used by code generators)."""
        self._given = None if text == self._own_src else text
        self._text = self._first_line = self._tree = self._src = self._meaning = None

    def line(self, number: int) -> str:
        """The text of one line of the file, for messages; empty where unknown."""
        self._read()
        offset = number - self._first_line
        lines = self._text.removesuffix("\n").split("\n")
        if 0 <= offset < len(lines):
            return lines[offset]
        return linecache.getline(self.file, number).rstrip("\n")

    def tree(self) -> ast.FunctionDef:
        if self._tree is None:
            self._tree = self._parse()
        return self._tree

    def _parse(self) -> ast.FunctionDef:
        self._read()
        text = self.text
        wrapped = text[:1] in (" ", "\t")
        try:
            module = parse("if 1:\n" + text if wrapped else text, filename=self.file)
        except SyntaxError as error:
            raise errors.make("E0101", name=self.fn.__name__, cause=error) from error
        body = module.body[0].body if wrapped else module.body
        node = next((n for n in body if isinstance(n, ast.FunctionDef)), None)
        if node is None:
            # A lambda, or an async function: there is no `def` to compile.
            raise errors.make("E0101", name=self.fn.__name__)
        ast.increment_lineno(node, self._first_line - (2 if wrapped else 1))
        node.decorator_list = []
        return node
