# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's backend for AMD's GPUs, which programs ask whether it is the active one: it never is."""
