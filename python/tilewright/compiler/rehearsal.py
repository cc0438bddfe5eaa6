# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The front end once in a forked child, to see whether this process would survive it.

The front end walks Python objects, which no other process has, so that it cannot run in a worker
as the passes do. A forked child has them. What the child makes is thrown away, and so is what it
prints: the front end runs here again when the child has survived, and then warns, prints and
raises as it does without the rehearsal.

Not handled: memory without end, since a limit would count what the program had mapped before
the fork.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import sys
import time
import warnings

from ..child_process import ending

_DONE = b"."


def can_rehearse() -> bool:
    """Not without a GIL, where other threads may hold any lock while this one forks, nor under a debugger."""
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    return has_gil and hasattr(os, "fork") and sys.gettrace() is None


def _run_and_exit(action, channel):
    """The child's side. Nothing of it may be seen, nor run the parent's handlers at exit."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        faulthandler.disable()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.stdout = sys.stderr = open(os.devnull, "w")
        try:
            action()
        except BaseException:  # an error of the kernel: the parent meets it again
            pass
        os.write(channel, _DONE)
    finally:
        os._exit(0)


def rehearse(action, seconds) -> str | None:
    """How a child ended that called `action()`, in words; None where it came to the end of it, or to an exception.

    `seconds` may be None, for ever. Raises TimeoutError.
    """
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        # CPython warns of locks that other threads hold; the front end takes none that they could.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _run_and_exit(action, theirs)
    os.close(theirs)
    status = None
    try:
        deadline = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(ours, select.POLLIN)
        if not poll.poll(None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        done = os.read(ours, 1) == _DONE
        _, status = os.waitpid(child, 0)
        return None if done else ending(os.waitstatus_to_exitcode(status))
    finally:
        os.close(ours)
        if status is None:
            os.kill(child, 9)
            os.waitpid(child, 0)
