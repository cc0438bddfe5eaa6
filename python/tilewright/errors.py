# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every exception a user can meet.

The texts live once, in the C++ catalogue (ir/support/ErrorCatalogue.def); this
module holds the classes. Native errors arrive through `from_native`; Python code
raises the same errors with `make("E0205", problem="missing", a="x", sig="...")`.

Classes that Triton has keep their names as bases, so `except CompilationError`
in existing code still catches what it did.
"""

from __future__ import annotations

import functools
import re
import warnings

from . import _core

__all__ = [
    "TilewrightError",
    "TritonError",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "OutOfResources",
    "PTXASError",
    "AutotunerError",
    "InterpreterError",
    "make",
    "from_native",
    "warn",
]


class Frame:
    """A place in the user's source; lines and columns count from 1."""

    __slots__ = ("file", "function", "line", "column", "end_line", "end_column", "source_line")

    def __init__(self, file, function, line, column=0, end_line=0, end_column=0, source_line=""):
        self.file, self.function = file, function
        self.line, self.column = line, column
        self.end_line, self.end_column = end_line, end_column
        self.source_line = source_line

    def __repr__(self):
        return f"Frame({self.file}:{self.line}:{self.column} in {self.function})"


class TilewrightError(Exception):
    """Root of all. `code`, `message`, `help`, `frames` (innermost first), `notes`."""

    code = ""
    message = ""
    help = ""
    #: Triton's sentence, where programs compare it.
    sentence = ""
    frames = ()
    notes = ()

    def __str__(self):
        # KeyError, a base of some subclasses, would show the repr of its argument.
        return str(self.args[0]) if self.args else self.message

    def __reduce__(self):
        # Tuning and compile workers send errors between processes.
        return (from_native, (self.code, type(self).__name__, self.message, self.help, [], list(self.notes), str(self)))


TritonError = TilewrightError


class _WithErrorMessage(TilewrightError):
    """Made by programs from one text, as Triton's classes are; `error_message` is that text.

    In errors of Tilewright's own it is the sentence without code, place and advice.
    """

    _prefix = ""

    def __init__(self, error_message=None):
        self.message = error_message or ""
        super().__init__(self._prefix + self.message)

    @property
    def error_message(self):
        return self.message


class CompilationError(_WithErrorMessage):
    """The kernel breaks a rule of the language (codes E01xx).

    `src` and `node` are the text and the syntax node that a program gave; errors of
    Tilewright's own have `frames` instead.
    """

    source_line_count_max_in_message = 12
    src = None
    node = None

    def __init__(self, src=None, node=None, error_message=None):
        # Triton's form: source text, AST node, message. A text alone is a message.
        if node is None and error_message is None:
            super().__init__(src)
            return
        super().__init__(error_message)
        self.src, self.node = src, node
        self.args = (self._with_place(),)

    def _with_place(self):
        line = getattr(self.node, "lineno", None)
        if self.src is None or line is None:
            return "\n".join(filter(None, (self.src or " <source unavailable>", self.message)))
        column = getattr(self.node, "col_offset", 0)
        before = self.src.split("\n")[:line][-self.source_line_count_max_in_message :]
        shown = "\n".join([*before, " " * column + "^"]) if before else " <source empty>"
        return "\n".join(filter(None, (f"at {line}:{column}:\n{shown}", self.message)))

    def __reduce__(self):
        if self.code or self.node is None:
            return super().__reduce__()
        return (type(self), (self.src, self.node, self.message))


class CompileTimeAssertionFailure(CompilationError):
    pass


class UnsupportedLanguageConstruct(CompilationError):
    pass


class SourceUnavailable(CompilationError, OSError):
    """OSError is what inspect raises for it."""


class UnsupportedSyntax(UnsupportedLanguageConstruct):
    pass


class GlobalNotConstant(CompilationError, NameError):
    pass


class UndefinedName(CompilationError, NameError):
    pass


class TypeMismatch(CompilationError, TypeError):
    pass


class InvalidShape(CompilationError, ValueError):
    pass


class UnsupportedType(CompilationError, TypeError):
    pass


class NotConstexpr(CompilationError, ValueError):
    pass


class StaticAssertFailed(CompileTimeAssertionFailure):
    pass


class CompileLimit(CompilationError):
    pass


class InvalidArgument(TilewrightError, TypeError, ValueError):
    """An argument of a launch or of a call inside a kernel."""


class InvalidDevice(TilewrightError, RuntimeError):
    pass


class InvalidGrid(TilewrightError, TypeError, ValueError):
    pass


class InvalidOption(TilewrightError, KeyError, ValueError):
    """An option of a launch or of the tuner; KeyError because Triton raises that."""


class OffsetOverflow(TilewrightError, OverflowError):
    pass


class ForkedProcess(TilewrightError, RuntimeError):
    pass


class CaptureActive(TilewrightError, RuntimeError):
    pass


class InvalidDescriptor(TilewrightError, ValueError):
    pass


class OutOfResources(TilewrightError):
    """The kernel is legal but does not fit this GPU."""

    def __init__(self, required=0, limit=0, name="shared memory"):
        self.required, self.limit, self.name = required, limit, name
        self.message = self._sentence()
        self.help = "reduce the block sizes or num_stages"
        super().__init__(f"{self.message}\n  help: {self.help}")

    def _sentence(self):
        """What programs look for in the text."""
        return f"out of resource: {self.name}, Required: {self.required}, Hardware limit: {self.limit}"

    def __reduce__(self):
        if self.code:
            return super().__reduce__()
        return (type(self), (self.required, self.limit, self.name))


class OutOfMemory(TilewrightError, RuntimeError):
    pass


class AssemblerError(_WithErrorMessage, RuntimeError):
    _prefix = "PTXAS error: "


PTXASError = AssemblerError


class CompileTimeout(TilewrightError, RuntimeError):
    pass


class UnsupportedTarget(TilewrightError, RuntimeError):
    pass


class DeviceFault(TilewrightError, RuntimeError):
    pass


class ContextLost(TilewrightError, RuntimeError):
    pass


class DeviceAssert(TilewrightError, RuntimeError):
    pass


class NoDevice(TilewrightError, RuntimeError):
    pass


class DriverTooOld(TilewrightError, RuntimeError):
    pass


class KernelHang(TilewrightError, RuntimeError):
    pass


class InterpreterError(_WithErrorMessage):
    """Something that the interpreter found while it ran the kernel."""


class OutOfBounds(InterpreterError, IndexError):
    pass


class DataRace(InterpreterError, RuntimeError):
    pass


class Deadlock(InterpreterError, RuntimeError):
    pass


class WrappedAddress(InterpreterError, OverflowError):
    pass


class FalseHint(InterpreterError, ValueError):
    pass


class UnwrittenRead(InterpreterError, ValueError):
    pass


class InvalidBlock(InterpreterError, ValueError):
    pass


class NotFinite(InterpreterError, ArithmeticError):
    pass


class ValueOverflow(InterpreterError, OverflowError):
    pass


class DivisionByZero(InterpreterError, ZeroDivisionError):
    pass


class UndefinedLanes(InterpreterError, ValueError):
    pass


class NotPortable(InterpreterError, ValueError):
    pass


class ResultMismatch(InterpreterError, RuntimeError):
    """A compiled kernel and the interpreter do not agree."""


class AutotunerError(_WithErrorMessage):
    _prefix = "Autotuner error: "


class NoValidConfig(AutotunerError, RuntimeError):
    pass


class NothingFits(NoValidConfig, OutOfResources):
    """No configuration ran, each for want of resources; `required` and `limit` are those of the first."""

    def __init__(self, first, notes):
        made = make("E0601", n=len(notes), notes=notes)
        self.code, self.message, self.help, self.notes = made.code, made.message, made.help, made.notes
        self.args = made.args
        self.required, self.limit, self.name = first.required, first.limit, first.name
        self.__cause__ = first

    def __reduce__(self):
        return (type(self), (OutOfResources(self.required, self.limit, self.name), list(self.notes)))


class TuneMismatch(AutotunerError, RuntimeError):
    pass


class ConfigError(TilewrightError, ValueError):
    pass


class InvalidPackage(TilewrightError, ValueError):
    pass


class InstallError(TilewrightError, ImportError):
    pass


class IRParseError(TilewrightError, ValueError):
    pass


class IRVerifyError(TilewrightError, ValueError):
    pass


class InternalError(TilewrightError, RuntimeError):
    """A defect of Tilewright itself, never of the kernel."""


class LanguageWarning(UserWarning):
    pass


class CacheWarning(UserWarning):
    pass


class TuneWarning(UserWarning):
    pass


class ConfigWarning(UserWarning):
    pass


def _variant(base, *more):
    """A class that prints as `base` and is also caught by the classes in `more`."""
    return type(base.__name__, (base, *more), {"__module__": base.__module__, "__doc__": base.__doc__})


# Codes whose Triton counterpart raises another built-in class, or whose class is one of launches here and of compilation there.
_by_code = {
    "E0117": _variant(InvalidArgument, CompilationError),
    "E0119": _variant(InvalidArgument, CompilationError),
    "E0122": _variant(InvalidArgument, CompilationError),
    # Programs probe for names, and an unknown option is a KeyError of Triton.
    "E0125": _variant(UnsupportedSyntax, AttributeError, KeyError),
    "E0209": _variant(InvalidOption, AssertionError),
    "E0211": _variant(InvalidArgument, OverflowError),
    "E0605": _variant(InvalidOption, AutotunerError),
    # A dtype that cannot be an argument is not a fault in the kernel's text.
    "E0206": type("UnsupportedType", (TilewrightError, TypeError), {"__module__": __name__}),
}


def class_of(code: str, class_name: str):
    """The exception class of a code; the class of the catalogue where none is special."""
    found = _by_code.get(code) or globals().get(class_name)
    return found if isinstance(found, type) else InternalError


def from_native(code, class_name, message, help="", frames=(), notes=(), text=None, sentence=""):
    """Builds the exception object of a native error (called from C++)."""
    cls = class_of(code, class_name)
    if text is None:
        text = f"[{code}] {message}" + "".join(f"\n  note: {n}" for n in notes) + (f"\n  help: {help}" if help else "")
    error = cls.__new__(cls)
    error.args = (text,)
    error.code, error.message, error.help = code, message, help
    error.frames = tuple(f if isinstance(f, Frame) else Frame(*f) for f in frames)
    error.notes = tuple(notes)
    if sentence:
        # Functions of Triton's language raise it, and its compiler's error has that as its cause.
        error.sentence, error.__cause__ = sentence, ValueError(sentence)
    if isinstance(error, OutOfResources):
        # Triton's attributes, read back from the two numbers of the first line.
        numbers = [int(n.replace(",", "")) for n in re.findall(r"(?<![\w])\d[\d,]*", message)]
        error.required, error.limit = (numbers[0], numbers[-1]) if numbers else (0, 0)
        error.name = {"E0301": "shared memory", "E0308": "threads"}.get(code, "registers")
        if error._sentence() not in text:
            error.notes += (error._sentence(),)
            error.args = (f"{text}\n  note: {error._sentence()}",)
    return error


def rendered(error):
    """The error with its text made anew from its parts: places, carets, notes, help."""
    rows = [(f.file, f.function, f.line, f.column, f.end_line, f.end_column, f.source_line) for f in error.frames]
    error.args = (_core.render_error(error.code, error.message, error.help or "", rows, list(error.notes), error.sentence),)
    return error


@functools.cache
def _class_in_interpreter(cls):
    return cls if issubclass(cls, InterpreterError) else _variant(cls, InterpreterError)


def found_by_interpreter(error):
    """An error of the language that a running kernel met: Triton's interpreter raises InterpreterError for all."""
    try:
        error.__class__ = _class_in_interpreter(type(error))
    except TypeError:
        pass  # a class of the user's own that cannot be derived from


def add_launch_site(error, frame):
    """Names the line of the launch in an error of it that has no place yet (called from C++).

    Faults of the device name a launch in their first line, and may be those of an earlier one.
    """
    if isinstance(error, TilewrightError) and not error.frames and not error.code.startswith("E04"):
        error.frames = (Frame(*frame),)
        rendered(error)


def make(code, /, *, frames=(), notes=(), cause=None, help=None, sentence="", **arguments):
    """The error of `code` with the catalogue's patterns filled in, to be raised."""
    class_name, pattern, help_pattern = _core.error_catalogue()[code]
    message = pattern.format(**arguments)
    if help is None:
        help = help_pattern.format(**arguments)
    frames = [f if isinstance(f, Frame) else Frame(*f) for f in frames]
    text = f"[{code}] {message}"
    for position, f in enumerate(frames):
        text += f"\n  {'called from' if position else 'at'} {f.file}:{f.line}:{max(f.column, 1)} in kernel '{f.function}'"
        if f.source_line.strip():
            text += f"\n      {f.source_line.strip()}"
    text += "".join(f"\n  note: {n}" for n in notes) + (f"\n  help: {help}" if help else "")
    error = from_native(code, class_name, message, help, frames, notes, text, sentence)
    if cause is not None:
        error.__cause__ = cause
    return error


_warned = set()


def warn(code, **arguments):
    """Issues a W code once per process and text."""
    error_class, pattern, help_pattern = _core.error_catalogue()[code]
    text = f"[{code}] {pattern.format(**arguments)}"
    if text in _warned:
        return
    _warned.add(text)
    warnings.warn(f"{text}\n  help: {help_pattern.format(**arguments)}", globals()[error_class], stacklevel=3)
