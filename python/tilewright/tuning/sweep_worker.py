# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A worker of a sweep: runs one problem with its share of the configurations.

Only the name of `run_share` and JSON text cross between processes, both ways; the executor
may encode these as it likes. The JSON of a task (sweeping.py) names the
function by module or file, and describes its arguments; that of an answer holds tables.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import socket
import sys
import threading
import time

from .shares import AnotherBoard, NothingToLaunch, Share

# A worker of another board rests before it hands a task back, so that others get it.
_REST_SECONDS = 0.5

_one_at_a_time = threading.Lock()  # two problems at once on one GPU would disturb each other's times


def run_share(task: str) -> str:
    """In a worker: one turn at a share of a sweep; what is known after it, as JSON."""
    asked = json.loads(task)
    share = Share(**asked["share"])
    answer = {"error": "", "apart": "", "where": f"{socket.gethostname()}, process {os.getpid()}"}
    with _one_at_a_time, share:
        start = time.monotonic()
        try:
            _load(asked["target"])(**asked["problem"])
        except NothingToLaunch:
            pass
        except AnotherBoard as error:
            answer["apart"] = str(error)
            time.sleep(_REST_SECONDS)
        except Exception as error:  # noqa: BLE001 - one problem's failure is a line of the result
            answer["error"] = f"{type(error).__name__}: {error}"
        answer["seconds"] = time.monotonic() - start
    return json.dumps({**answer, "tables": share.tables(), "left": share.left(), "measured": share.measured})


_loading = threading.Lock()
_stamps: dict = {}  # of files that were loaded: a worker may outlive an edit


def _load(target):
    """The function of "package.module:name" or "file.py:name"."""
    place, _, name = target.rpartition(":")
    if not place.endswith(".py"):
        return getattr(importlib.import_module(place), name)
    place = os.path.abspath(place)
    module_name = os.path.splitext(os.path.basename(place))[0]
    with _loading:  # workers may be threads: none may see a module that is half there
        status = os.stat(place)
        stamp = (place, status.st_mtime_ns, status.st_size)
        if _stamps.get(module_name) != stamp:
            spec = importlib.util.spec_from_file_location(module_name, place)
            module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            _stamps[module_name] = stamp
        return getattr(sys.modules[module_name], name)
