# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of a kernel that runs as Python, told in terms of the language: its places, its scalars."""

from __future__ import annotations

import ast
import sys
import weakref

from .. import _core, errors, language
from ..language import basics, elsewhere
from ..language import core as tl_core
from . import checks, kernel_rewriter

__all__ = [
    "explained",
    "kernel_of_code",
    "remember_code",
    "running_frames",
    "running_place",
    "with_frames",
    "with_running_frames",
]

#: code object -> weak reference to its kernel, for the places of errors.
_kernels = weakref.WeakKeyDictionary()


def remember_code(code, jit_function):
    """From now on a place in this code is one in the kernel."""
    _kernels[code] = weakref.ref(jit_function)


def kernel_of_code(code):
    """The kernel that natively running code is the function of; None for other code."""
    reference = _kernels.get(code)
    return reference() if reference is not None else None


def _positions(code, instruction, line):
    """(line, end line, column, end column) of one instruction; columns count bytes from 0."""
    if sys.version_info >= (3, 11):
        for index, position in enumerate(code.co_positions()):
            if index == instruction // 2:
                return position
    return line, line, None, None


def _frame_at(code, instruction, line):
    """The place of an instruction in a kernel; None in other code."""
    jit_function = kernel_of_code(code)
    if jit_function is None:
        return None
    start_line, end_line, start, end = _positions(code, instruction, line)
    line, end_line = start_line or line, end_line or start_line or line
    text = jit_function.source_line(line)

    def column(of, offset):
        return 0 if offset is None else len(of.encode()[:offset].decode(errors="replace")) + 1

    end_text = text if end_line == line else jit_function.source_line(end_line)
    return errors.Frame(
        jit_function.file, jit_function.__name__, line, column(text, start), end_line, column(end_text, end), text
    )


def running_place():
    """(code, instruction) of the innermost kernel through which this call was reached."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code in _kernels:
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


def running_frames():
    """The places in kernels through which this call was reached, innermost first."""
    frames, frame = [], sys._getframe()
    while frame is not None:
        if (place := _frame_at(frame.f_code, frame.f_lasti, frame.f_lineno)) is not None:
            frames.append(place)
        frame = frame.f_back
    return frames


def with_running_frames(error):
    """What a check found, with the places and the scalars of the kernel that goes on, as with_frames adds them."""
    if not error.frames:
        error.frames = tuple(running_frames())
    frame = sys._getframe()
    while frame is not None and frame.f_code not in _kernels:
        frame = frame.f_back
    return _with_scalars(error, frame)


def _kernel_frames(error):
    """The places in kernels that the error passed, innermost first."""
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        frame = _frame_at(traceback.tb_frame.f_code, traceback.tb_lasti, traceback.tb_lineno)
        if frame is not None:
            frames.append(frame)
        traceback = traceback.tb_next
    return frames[::-1]


def _nodes_of(jit_function):
    """The syntax tree's nodes; none of a function without a source."""
    try:
        return ast.walk(jit_function.parse())
    except errors.SourceUnavailable:
        return ()


def _with_scalars(error, frame):
    """With a note of the scalars of a kernel's function, whose Python frame this is; None: there is none."""
    if frame is not None and (text := checks.scalars_in_scope(frame)):
        error.notes = (*error.notes, text)
    return error


def _innermost_kernel_frame(error):
    """The Python frame of the kernel's function that was running; None where the error passed none."""
    traceback, innermost = error.__traceback__, None
    while traceback is not None:
        innermost = traceback.tb_frame if kernel_of_code(traceback.tb_frame.f_code) is not None else innermost
        traceback = traceback.tb_next
    return innermost


def _returns_a_value(node):
    return isinstance(node, ast.Return) and node.value is not None


def with_frames(error, jit_function):
    """An error of ours with the places in kernels that it passed, rendered again."""
    frames = _kernel_frames(error)
    if error.code in checks.CODES:
        _with_scalars(error, _innermost_kernel_frame(error))
        if error.frames:
            frames = []  # the check knows a better place than where it came to light
    if not frames and not error.frames:
        # Found when the kernel was over: it returned a value.
        returns = filter(_returns_a_value, _nodes_of(jit_function))
        frames = [kernel_rewriter.frame_of_node(jit_function, node) for node in returns][:1]
    if error.frames or not frames:
        # Found while rewriting: the place is the one in the source; callers follow.
        frames = [*error.frames, *frames]
    if frames:
        error.frames = tuple(frames)
        errors.rendered(error)
    return error


def _attribute_text(jit_function, line, attribute):
    """The expression in this line that ends in `.attribute`."""
    for node in _nodes_of(jit_function):
        if isinstance(node, ast.Attribute) and node.attr == attribute and node.lineno <= line <= node.end_lineno:
            return ast.unparse(node)
    return attribute


def _explained_type_error(error, jit_function, frame):
    """The error that a call of something that is no function, or with wrong arguments, is; or None."""
    if not str(error).endswith("object is not callable"):
        return tl_core.explain_type_error(str(error))
    for node in _nodes_of(jit_function):
        if isinstance(node, ast.Call):
            place = kernel_rewriter.frame_of_node(jit_function, node)
            if place.line == frame.line and frame.column in (0, place.column):
                text = ast.unparse(node.func)
                is_dtype = str(error).startswith("'dtype' object")
                return errors.make("E0123", n=text, help=elsewhere.instead_of_calling_dtype(text) if is_dtype else None)
    return None


def explained(error):
    """The error of the language that an exception of Python stands for; None where it is the user's own."""
    frames = _kernel_frames(error)
    traceback = error.__traceback__
    # A name that the language's module lacks is raised by a function of that module.
    while (
        traceback.tb_next is not None
        and traceback.tb_next.tb_frame.f_code is not language.__getattr__.__code__
        and not basics.is_of_call(traceback.tb_next)
    ):
        traceback = traceback.tb_next
    if not frames or kernel_of_code(traceback.tb_frame.f_code) is None:
        return None  # raised below the kernel, not by it
    jit_function = kernel_of_code(traceback.tb_frame.f_code)
    if not isinstance(error, (NameError, AttributeError)):
        better = (
            _explained_type_error(error, jit_function, frames[0]) if isinstance(error, TypeError) else None
        ) or errors.make(
            "E0117",
            message=str(error) or type(error).__name__,
            help=f"{type(error).__name__} was raised by Python code that runs at compile time",
        )
        better.frames = tuple(frames)
        return errors.rendered(better)
    if isinstance(error, AttributeError):
        name = _attribute_text(jit_function, frames[0].line, error.name or "")
        candidates = dir(error.obj) if hasattr(error, "obj") else ()
        near = _core.nearest_name(error.name or "", list(candidates))
        instead = elsewhere.advice(getattr(error, "obj", None), error.name or "")
        help = instead or (None if near else "see the list of names in the language reference")
    else:
        name = getattr(error, "name", None) or str(error).split("'")[1]
        local = traceback.tb_frame.f_locals
        near = _core.nearest_name(name, [*local, *traceback.tb_frame.f_globals])
        help = None if near else "assign it before use, or pass it as an argument"
    return errors.rendered(errors.make("E0104", n=name, near=near, help=help, frames=frames))
