# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Estimates for tuners of matrix products, under the path where old programs import them."""

from . import matmul_perf_model

__all__ = ["matmul_perf_model"]
