# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to the runtime exceptions."""

from ..errors import AutotunerError, InterpreterError, OutOfResources, PTXASError, TilewrightError, TritonError

__all__ = ["AutotunerError", "InterpreterError", "OutOfResources", "PTXASError", "TilewrightError", "TritonError"]
