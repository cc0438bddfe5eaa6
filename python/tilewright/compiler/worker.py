# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The child of isolated.py: compiles the tile IR that it is sent, and says before each step which one it is.

Nothing of the user's program runs here: tile IR, options and switches come in, texts and machine code go out.
"""

from __future__ import annotations

import os
import resource
import sys

from .. import _core, errors, knobs
from ..child_process import serve


def _limit_memory(megabytes):
    """Beyond it allocations fail, which ends the process; 0 sets no limit. A crash leaves no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if megabytes:
        size = megabytes << 20
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


def _take_switches(switches):
    """The parent's environment may have changed since this process began."""
    for variable in knobs.switches():
        del os.environ[variable]
    os.environ.update(switches)


def _error(error) -> dict:
    frames = [(f.file, f.function, f.line, f.column, f.end_line, f.end_column, f.source_line) for f in error.frames]
    return {
        "status": "error",
        "error": {
            "code": error.code,
            "class_name": type(error).__name__,
            "message": error.message,
            "help": error.help or "",
            "frames": frames,
            "notes": list(error.notes),
            "text": str(error),
            "sentence": error.sentence,
        },
    }


def _handle(message, blob, answer):
    _take_switches(message["switches"])
    text, options, target = blob.decode(), message["options"], message["target"]

    def tell(step, place):
        answer({"status": "step", "step": step, "place": place})

    try:
        if message["what"] == "reproducer":
            path, problem = _core.write_reproducer(
                text, options, target, message["step"], message["place"], message["message"], True
            )
            answer({"status": "done", "path": path, "problem": problem})
            return
        result = _core.compile_ir(text, "ttir", options, target, tell)
        cubin = result.pop("cubin") or b""
        sys.stderr.flush()
        answer({"status": "done", "result": result}, cubin)
    except errors.TilewrightError as error:
        answer(_error(error))


def main() -> int:
    _limit_memory(int(sys.argv[1]))
    _core.find_wheel_folders(sys.path)
    serve(_handle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
