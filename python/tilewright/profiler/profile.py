# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Beginning and ending sessions."""

from __future__ import annotations

import functools

from .. import knobs
from .flags import flags
from .hooks import Hook, HookManager, LaunchHook
from .hooks.launch import recorder
from .session import Session, chosen, sessions

DEFAULT_PROFILE_NAME = "proton"

_rules = {"context": ("shadow", "python"), "data": ("tree", "trace"), "backend": (None, "cupti")}


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Begins a session and returns its number; None where TRITON_PROTON_DISABLE is set.

    `name` is the path of the file to be, without suffix. `context` orders kernels by
    scopes ("shadow") or by the Python functions that launch them ("python"); `data` is a
    "tree" or a "trace" over time. hook="triton" evaluates `launch_metadata` of kernels
    and adds its numbers; a Hook of the caller's is called around launches.
    """
    for option, value in (("context", context), ("data", data), ("backend", backend)):
        if value not in _rules[option]:
            raise ValueError(f"{option}={value!r}: expected one of {', '.join(map(repr, _rules[option]))}")
    if not isinstance(hook, Hook) and hook not in (None, "triton"):
        raise ValueError(f"hook={hook!r}: expected 'triton', a Hook, or None")
    if knobs.proton.disable:
        return None
    session = Session(DEFAULT_PROFILE_NAME if name is None else name, context, data, hook == "triton")
    sessions[session.number] = session
    flags.profiling_on = True
    HookManager.register(recorder, session.number)
    if hook is not None:
        HookManager.register(LaunchHook() if hook == "triton" else hook, session.number)
    return session.number


def activate(session=None):
    """Records again, in one session or in all."""
    for each in chosen(session):
        each.is_active = True
    HookManager.activate(session)


def deactivate(session=None, flushing=False):
    """Records nothing more until `activate`; what was recorded stays."""
    for each in chosen(session):
        each.is_active = False
        if flushing:
            each.settle()
    HookManager.deactivate(session)


def finalize(session=None, output_format=""):
    """Writes the file of one session, or of all, and ends it; one whose file cannot be written stays."""
    for each in chosen(session):
        each.write(output_format)
        HookManager.unregister(each.number)
        del sessions[each.number]
    flags.profiling_on = bool(sessions)


def profile(func=None, *, name=None, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Decorator: calls of the function are a session, which `finalize` writes."""

    def decorate(function):

        @functools.wraps(function)
        def profiled(*args, **kwargs):
            session = start(name, context=context, data=data, backend=backend, mode=mode, hook=hook)
            try:
                return function(*args, **kwargs)
            finally:
                if session is not None:
                    deactivate(session)

        return profiled

    return decorate if func is None else decorate(func)
