# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tracebacks without the frames of this package, so that they show the user's code alone."""

from __future__ import annotations

import os
import types

from .. import errors

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_frames(error, traceback):
    """The traceback of an error without our own frames, but for errors that tell of a defect in them."""
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    kept = [frame for frame in frames if not frame.tb_frame.f_code.co_filename.startswith(_PACKAGE)]
    ends_in_user = bool(kept) and kept[-1] is frames[-1]
    if not ends_in_user and not isinstance(error, errors.TilewrightError):
        return frames[0] if frames else None
    result = None
    for frame in reversed(kept):
        result = types.TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result
