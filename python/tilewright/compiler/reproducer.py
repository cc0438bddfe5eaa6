# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright repro FILE`: a failed compilation, run again, searched for its cause, made smaller.

codegen/emit/Reproducer.h has the form of the file. All runs are in worker processes, because
the failure may be a crash.
"""

from __future__ import annotations

import json
import re

from .. import _core, errors
from .._version import __version__
from .bisect import find_culprit, shrink
from .isolated import Job

_MAGIC = "// tilewright reproducer "
_FORMAT = 1
_SEPARATOR = "\n// -----\n"
_MOST_BYTES = 256 << 20
_FIELDS = {
    "kernel": str,
    "step": str,
    "message": str,
    "version": str,
    "target": str,
    "first_step": int,
    "first_name": str,
    "enable_fp_fusion": bool,
    "ptx_version": int,
    "ptx_options": str,
    "line_info": bool,
    "last_stage": str,
    "maxnreg": int,
    "skip_passes": list,
}


def _refuse(path, reason):
    return errors.make("E0709", file=path, reason=reason)


class Reproducer:
    """A file, read and checked; E0709 for what is none."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as file:
                content = file.read(_MOST_BYTES + 1)
        except OSError as error:
            raise _refuse(path, error.strerror) from None
        if len(content) > _MOST_BYTES:
            raise _refuse(path, f"it is larger than {_MOST_BYTES >> 20} MiB")
        first, _, rest = content.decode(errors="replace").partition("\n")
        if not first.startswith(_MAGIC):
            raise _refuse(path, f"it does not begin with '{_MAGIC.strip()}'")
        if first[len(_MAGIC) :].strip() != str(_FORMAT):
            raise _refuse(
                path,
                f"its format is {first[len(_MAGIC) :].strip()!r}, and this is version {__version__}, "
                f"which reads format {_FORMAT}",
            )
        second, _, modules = rest.partition("\n")
        self.head = self._checked_head(second)
        self.module, separator, self.original = modules.partition(_SEPARATOR)
        if not separator or not self.original.strip():
            raise _refuse(path, "it is cut short: the module of the front end is missing")
        self._check_steps()

    def _checked_head(self, line) -> dict:
        try:
            head = json.loads(line.removeprefix("//"))
        except ValueError:
            raise _refuse(self.path, "its second line is no JSON; it is cut short or was changed") from None
        if not isinstance(head, dict):
            raise _refuse(self.path, "its second line holds no options")
        for name, kind in _FIELDS.items():
            if type(head.get(name)) is not kind:
                raise _refuse(
                    self.path, f"its options have no '{name}'" if name not in head else f"its option '{name}' is {head[name]!r}"
                )
        if not all(isinstance(name, str) for name in head["skip_passes"]):
            raise _refuse(self.path, f"its option 'skip_passes' is {head['skip_passes']!r}")
        return head

    def _check_steps(self):
        names = [name for name, _ in _core.pipeline_passes()] + ["lower-to-llvm"]
        first = self.head["first_step"]
        if not 0 <= first < len(names) or names[first] != self.head["first_name"]:
            raise _refuse(
                self.path, f"it was written by {self.head['version']}, whose passes are not those of {this_version()}"
            )

    def job(self, text=None, **changed) -> Job:
        """The compilation of `text`, or of the module before the step that failed."""
        head = self.head
        names = ("enable_fp_fusion", "line_info", "last_stage", "maxnreg", "ptx_version", "ptx_options", "skip_passes")
        options = {name: head[name] for name in names}
        options.update(first_step=head["first_step"], reproducer=self.path)
        options.update(changed)
        return Job(
            head["kernel"], f"the options of {self.path}", self.module if text is None else text, options, head["target"]
        )

    def failure(self, text=None, **changed):
        """The error of the compilation, or None where it succeeds. E0709 where a module is damaged."""
        try:
            self.job(text, **changed).run()
        except errors.TilewrightError as error:
            if isinstance(error, (errors.IRParseError, errors.IRVerifyError)) and text in (None, self.original):
                raise _refuse(
                    self.path,
                    f"its module cannot be read: {error.message}; it is cut short, was changed, or is "
                    f"of another version ({self.head['version']})",
                ) from None
            return error
        return None


def this_version() -> str:
    return f"{__version__} {_core.build_id()}"


def signature(error):
    """What makes two failures the same: code and sentence, but for numbers and names in it."""
    return None if error is None else (error.code, re.sub(r"'[^']*'|%\w+|\d+", "_", error.message))


def _reproduce(reproducer) -> int:
    head = reproducer.head
    print(f"'{head['kernel']}' for {head['target']}, written by {head['version']}: failed in {head['step']}")
    if head["version"] != this_version():
        print(f"this is {this_version()}")
    failure = reproducer.failure()
    if failure is not None:
        raise failure
    print("it does not fail here: the module compiles")
    return 0


def _bisect(reproducer) -> int:
    """Which optimisation the failure needs, and whether a broken rule can be seen earlier."""

    def failure(skipped, **changed):
        return reproducer.failure(reproducer.original, first_step=0, skip_passes=skipped, **changed)

    given = reproducer.head["skip_passes"]
    found = failure(given)
    if found is None:
        print("it does not fail here: the module of the front end compiles")
        return 0
    print(f"fails: {found.message}")
    checked = failure(given, verify_each=True)
    if checked is not None and signature(checked) != signature(found):
        print(f"first broken rule, with the verifier after each pass: {checked.message}")
    culprit, _ = find_culprit(lambda skipped: signature(failure([*given, *skipped])) == signature(found))
    if culprit is None:
        print("it fails without any optimisation, so none of them is the cause")
        return 1
    print(f"first pass with which it fails: {culprit}")
    if failure([*given, culprit]) is None:
        print(f"TILEWRIGHT_SKIP_PASSES={','.join([*given, culprit])} compiles it (tried)")
    return 1


def _reduce(reproducer, output) -> int:
    wanted = signature(reproducer.failure())
    if wanted is None:
        print("it does not fail here: the module compiles")
        return 0
    before = _core.count_operations(reproducer.module)
    small = shrink(reproducer.module, lambda text: signature(reproducer.failure(text)) == wanted)
    with open(reproducer.path, encoding="utf-8") as file:
        head = "".join([file.readline(), file.readline()])
    with open(output, "w", encoding="utf-8") as file:
        file.write(f"{head}{small}{'' if small.endswith(chr(10)) else chr(10)}// -----\n{reproducer.original}")
    print(f"{before} operations became {_core.count_operations(small)}: {output}")
    return 0


def repro_command(arguments) -> int:
    reproducer = Reproducer(arguments.file)
    if arguments.bisect:
        return _bisect(reproducer)
    if arguments.reduce:
        return _reduce(reproducer, arguments.output or arguments.file.removesuffix(".mlir") + "-small.mlir")
    return _reproduce(reproducer)


def passes_command(arguments) -> int:
    for name, may_be_skipped in _core.pipeline_passes():
        print(f"{name:<24}{'may be skipped' if may_be_skipped else ''}".rstrip())
    return 0
