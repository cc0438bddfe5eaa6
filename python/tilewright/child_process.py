# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A child process in Python that does work which may crash: the tuner's trials, compilations.

Both sides write frames: JSON and bytes, each with its length before it. The child's own
standard output is the channel; whatever it prints goes to its error stream.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import subprocess
import sys
import time


def frame(message: dict, blob: bytes = b"") -> bytes:
    text = json.dumps(message).encode()
    return struct.pack("<QQ", len(text), len(blob)) + text + blob


def read_frame(read):
    """(message, blob) from a function that reads exactly so many bytes."""
    sizes = struct.unpack("<QQ", read(16))
    return json.loads(read(sizes[0])), read(sizes[1])


def ending(code: int) -> str:
    """How a process ended, in words, from its exit code; negative ones are signals."""
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


class Child:
    """`python -m module arguments...`, as the parent sees it."""

    def __init__(self, module, *arguments, stderr=None):
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.usage = None

    def send(self, message: dict, blob: bytes = b""):
        """BrokenPipeError where the child is gone."""
        self.process.stdin.write(frame(message, blob))
        self.process.stdin.flush()

    def answer(self, seconds):
        """(message, blob), the child's next; TimeoutError, or EOFError when it is gone. None waits for ever."""
        deadline = None if seconds is None else time.monotonic() + seconds
        stream = self.process.stdout.fileno()
        poll = select.poll()  # select() knows file descriptors below 1024 only
        poll.register(stream, select.POLLIN)

        def read(size):
            content = b""
            while len(content) < size:
                left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
                if not poll.poll(left):
                    raise TimeoutError
                piece = os.read(stream, min(size - len(content), 1 << 20))
                if not piece:
                    raise EOFError
                content += piece
            return content

        return read_frame(read)

    def wait(self) -> str:
        """How the child ended, in words; after EOFError. Its peak of memory is in `usage` then."""
        _, status, self.usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return ending(self.process.returncode)

    def close(self):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:  # what was not flushed
                pass


def serve(handle, hello=None):
    """The child's side: answers each frame by what `handle(message, blob, answer)` does, until the parent is gone."""
    source = sys.stdin.buffer
    # Nothing else may write into the channel, not even a kernel's print.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def read(size):
        content = source.read(size)
        if len(content) < size:
            raise EOFError
        return content

    def answer(message, blob=b""):
        channel.write(frame(message, blob))
        channel.flush()

    answer(hello or {"status": "ready"})
    while True:
        try:
            message, blob = read_frame(read)
        except EOFError:
            return
        handle(message, blob, answer)
